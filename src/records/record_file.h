#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "records/records.h"

namespace whet {

/// What a record file held.
struct RecordsRead {
  Records records;
  std::vector<std::string> notes;        ///< a sentence for each thing that was skipped; for the user to see
  std::vector<std::string> newer_lines;  ///< lines of newer versions, as they stand in the file
  std::int64_t bad_lines = 0;
};

/// Reads a file of records and changes nothing. Errors: it cannot be read; it holds something else altogether.
Result<RecordsRead> read_records(const std::string& path);
/// The same for the bytes of a file, called `path` in notes.
Result<RecordsRead> parse_records(std::string_view text, const std::string& path);
/// Replaces `path` by these records, or leaves it as it was (written beside, then renamed).
Status write_records(const std::string& path, const std::vector<Record>&,
                     const std::vector<std::string>& newer_lines = {});

/// A record file open for appending: to open it is to resume. Several processes may append to one file; each append is
/// one write() of a whole line under an advisory lock, so that kill -9 loses at most the line being written.
class RecordFile {
 public:
  /// Creates the file if there is none. A last line cut short by a kill is ended, skipped and noted.
  static Result<RecordFile> open(const std::string& path);

  RecordFile(RecordFile&&) noexcept;
  RecordFile& operator=(RecordFile&&) noexcept;
  RecordFile(const RecordFile&) = delete;
  ~RecordFile();  ///< syncs

  /// Durable against a kill when it returns, against a power cut a second later (or after `sync`). On an error (a full
  /// disk) the file is as it was before, and so are `records()`.
  Status append(const Record&);
  /// Waits until all appended lines are on the disk.
  Status sync();

  /// Those found on opening and those appended by this object since.
  const Records& records() const { return read_.records; }
  const std::vector<std::string>& notes() const { return read_.notes; }
  const std::string& path() const { return path_; }

 private:
  RecordFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Status load();
  /// Opens the file again when another has its name now (`whet records distill F -o F`) or none has: a line that no name
  /// leads to would be lost.
  Status follow_name();

  std::string path_;
  int fd_ = -1;
  RecordsRead read_;
  bool unsynced_ = false;
  std::chrono::steady_clock::time_point last_sync_{};
};

}  // namespace whet
