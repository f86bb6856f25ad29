#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "records/records.h"

namespace whet {

/// The contents of a record file.
struct RecordsRead {
  Records records;
  std::vector<std::string> notes;        ///< for the user: a sentence for each thing that was skipped
  std::vector<std::string> newer_lines;  ///< lines of newer versions, unchanged
  std::vector<std::string> base_lines;   ///< of record bases, unchanged
  std::vector<std::string>
      error_lines;  ///< of errors of layers and ranges on samples, which `records` has too, unchanged
  std::int64_t bad_lines = 0;
  std::int64_t lines = 0;  ///< all that are not empty
};

/// Reads a file of records and changes nothing. Errors: the file cannot be read; it is no file of records.
Result<RecordsRead> read_records(const std::string& path);
/// Reads records from the bytes of a file, which notes call `path`.
Result<RecordsRead> parse_records(std::string_view text, const std::string& path);
/// A record file that is written anew. Whoever appends to it waits while this lives, and appends to the new one then, so that no
/// line is lost. What `write_place` calls in place (a device, a pipe) is written to, and holds nothing.
class RecordRewrite {
 public:
  /// Waits for the file's lock and reads it; there may be none yet. Errors: it cannot be written; it is no file of records.
  static Result<RecordRewrite> open(const std::string& path);

  RecordRewrite(RecordRewrite&&) noexcept;
  RecordRewrite& operator=(RecordRewrite&&) = delete;
  ~RecordRewrite();

  /// What it holds, which stays so.
  RecordsRead& there() { return there_; }
  /// Whether `path` leads to this file.
  bool is(const std::string& path) const;
  /// Replaces the file by these records, or leaves it unchanged; only once. The value: how many of its lines are left out.
  Result<std::int64_t> replace(const std::vector<Record>&, const std::vector<Plan>& plans = {},
                               const std::vector<std::string>& other_lines = {});

 private:
  explicit RecordRewrite(std::string path) : path_(std::move(path)) {}

  std::string path_;
  int fd_ = -1;        ///< locked; -1: written in place
  bool made_ = false;  ///< there was no file
  RecordsRead there_;
};

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

  /// See Records::count_inputs.
  void count_inputs(InputHashes hashes) { read_.records.count_inputs(std::move(hashes)); }

  /// Appends a record. When it returns, the record survives a kill; a second later (or after `sync`) it survives a
  /// power cut. On an error (a full disk) the file and `records()` are unchanged.
  Status append(const Record&);
  Status append_plan(const Plan&);
  Status append(const RangedRecord&);
  Status append(const NetworkAtSizes&);
  Status append_error(const LayerError&);
  Status append(const RangesOnSamples&);
  /// Waits until all appended lines are on the disk.
  Status sync();

  /// The records found on opening and those that this object appended since.
  const Records& records() const { return read_.records; }
  const std::vector<std::string>& notes() const { return read_.notes; }
  const std::string& path() const { return path_; }

 private:
  RecordFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Status load();
  /// Calls it while this process has the lock of the file that the name leads to.
  Status while_locked(const std::function<Status()>&);
  Status load_locked();
  /// Writes the line and a newline.
  Status append_line(std::string line);
  Status append_locked(std::string line);
  /// After an append: at most a second passes without a sync.
  Status sync_soon();
  /// Opens the file again when its name now belongs to another file (`RecordRewrite`) or to none: a line in a file without
  /// a name would be lost.
  Status follow_name();

  std::string path_;
  int fd_ = -1;
  RecordsRead read_;
  bool unsynced_ = false;
  std::chrono::steady_clock::time_point last_sync_{};
};

}  // namespace whet
