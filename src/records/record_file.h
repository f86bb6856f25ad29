#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "records/records.h"

namespace whet {

/// The contents of a record file.
struct RecordsRead {
  Records records;
  std::vector<std::string> notes;        ///< for the user: a sentence for each thing that was skipped
  std::vector<std::string> newer_lines;  ///< lines of newer versions, unchanged
  std::int64_t bad_lines = 0;
};

/// Reads a file of records and changes nothing. Errors: the file cannot be read; it is no file of records.
Result<RecordsRead> read_records(const std::string& path);
/// Reads records from the bytes of a file, which notes call `path`.
Result<RecordsRead> parse_records(std::string_view text, const std::string& path);
/// Replaces `path` by these records, or leaves it unchanged: the file is written beside it, then renamed.
Status write_records(const std::string& path, const std::vector<Record>&, const std::vector<Plan>& plans = {},
                     const std::vector<std::string>& newer_lines = {});

/// A record file that is open for appending. To open it is to resume. Several processes may append to one file: each
/// append is one write() of a whole line under an advisory lock, so that kill -9 loses at most the line being written.
class RecordFile {
 public:
  /// Creates the file if there is none. A last line cut short by a kill is ended, skipped and noted.
  /// `emulated`: which records of the emulated device count; `device`: see Records::prefer_device.
  static Result<RecordFile> open(const std::string& path, EmulatedRecords emulated = EmulatedRecords::left_out,
                                 std::string device = "");

  RecordFile(RecordFile&&) noexcept;
  RecordFile& operator=(RecordFile&&) noexcept;
  RecordFile(const RecordFile&) = delete;
  ~RecordFile();  ///< syncs

  /// Appends a record. When it returns, the record survives a kill; a second later (or after `sync`) it survives a
  /// power cut. On an error (a full disk) the file and `records()` are unchanged.
  Status append(const Record&);
  Status append_plan(const Plan&);
  /// Waits until all appended lines are on the disk.
  Status sync();

  /// The records found on opening and those that this object appended since.
  const Records& records() const { return read_.records; }
  const std::vector<std::string>& notes() const { return read_.notes; }
  const std::string& path() const { return path_; }

 private:
  RecordFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Status load();
  /// Writes the line and a newline.
  Status append_line(std::string line);
  /// After an append: at most a second passes without a sync.
  Status sync_soon();
  /// Opens the file again when its name now belongs to another file (`whet records distill F -o F`) or to none: a line
  /// in a file without a name would be lost.
  Status follow_name();

  std::string path_;
  int fd_ = -1;
  RecordsRead read_;
  bool unsynced_ = false;
  std::chrono::steady_clock::time_point last_sync_{};
};

}  // namespace whet
