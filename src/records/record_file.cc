#include "records/record_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/counted.h"
#include "base/new_file.h"
#include "base/parallel.h"
#include "base/write_place.h"
#include "records/error_line.h"
#include "records/line_blocks.h"
#include "records/plan_line.h"
#include "records/ranged_line.h"
#include "records/record_line.h"

namespace whet {
namespace {

Error file_error(const std::string& path, const std::string& what) {
  return Error{path + ": " + what + ": " + std::strerror(errno)};
}

/// How often in a row another process may have replaced a file while its lock was waited for. Beyond this it is the file system
/// that names no file twice.
constexpr int kMostReplaced = 10000;
Error always_replaced(const std::string& path) {
  return {path + ": each time that it is opened its name leads to another file; give a file on another file system",
          ErrorKind::io};
}

/// Whether `path` leads to this open file.
bool is_named(int fd, const std::string& path) {
  struct stat open{}, named{};
  return fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

/// Waits for the advisory lock of a file, which ends when it is closed. False with errno set: there is none.
bool lock(int fd) {
  while (flock(fd, LOCK_EX) != 0)
    if (errno != EINTR) return false;
  return true;
}

/// Holds the advisory lock of a file while it lives.
class Lock {
 public:
  explicit Lock(int fd) : fd_(fd), held_(lock(fd)) {}
  ~Lock() {
    if (held_) flock(fd_, LOCK_UN);
  }
  Lock(const Lock&) = delete;
  bool held() const { return held_; }

 private:
  int fd_;
  bool held_;
};

/// Writes everything or gives false with errno set.
bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

/// Before a file is opened: to open a pipe would wait for whoever writes into it.
Status check_kind(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return ok_status();  // who opens it has the reason
  const char* const what = S_ISDIR(info.st_mode)    ? "a folder"
                           : S_ISFIFO(info.st_mode) ? "a pipe"
                           : S_ISSOCK(info.st_mode) ? "a socket"
                                                    : nullptr;
  return what == nullptr ? ok_status() : Status(Error{path + ": is " + what + "; a record file was expected"});
}

/// A device with bytes of its own, such as /dev/zero or a terminal; /dev/null is an empty file.
bool is_device(int fd) {
  struct stat info{};
  char byte = 0;
  return fstat(fd, &info) == 0 && S_ISCHR(info.st_mode) && ::read(fd, &byte, 1) != 0;
}

/// The bytes of a file that one thread reads and parses at a time: they stay in its cache.
constexpr std::size_t kBlock = 64 << 10;

/// /dev/null has nothing to say, and /dev/full no end.
Result<std::size_t> size_of_file(int fd, const std::string& path) {
  struct stat info{};
  if (fstat(fd, &info) != 0) return file_error(path, "cannot read");
  return S_ISCHR(info.st_mode) ? 0 : static_cast<std::size_t>(info.st_size);
}

/// Whether a file of that size is empty or has an end behind its last line.
bool ends_a_line(int fd, std::size_t size) {
  char last = '\n';
  return size == 0 || ::pread(fd, &last, 1, static_cast<off_t>(size - 1)) != 1 || last == '\n';
}

/// Reads until the end or an error, which `failed` gets.
std::string_view read_at(int fd, std::size_t begin, std::size_t end, std::vector<char>& room,
                         std::atomic<int>& failed) {
  if (room.size() < end - begin) room.resize(end - begin);
  std::size_t size = 0;
  while (size < end - begin) {
    const ssize_t n = ::pread(fd, room.data() + size, end - begin - size, static_cast<off_t>(begin + size));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) failed = errno;
    if (n <= 0) break;
    size += static_cast<std::size_t>(n);
  }
  return {room.data(), size};
}

/// Of a line that may be cut or damaged. Events begin as records do (docs/formats/events.md).
bool looks_like_record(std::string_view line) {
  return line.starts_with(std::string_view("{\"v\":").substr(0, line.size())) && line.find("\"event\":") == line.npos;
}

/// Sorts lines into records, newer lines and bad ones, and says in notes what was left out.
class Collector {
 public:
  Collector(RecordsRead& out, const std::string& path) : out_(out), path_(path) {}

  /// Moves what `parsed` holds to where it belongs.
  void line(std::string_view text, ParsedLine& parsed, bool last_and_cut) {
    ++number_;
    const std::size_t first = text.find_first_not_of(" \t\r");
    if (first == text.npos) return;
    if (out_.lines++ == 0) is_ours_ = looks_like_record(text.substr(first));
    if (auto* record = std::get_if<Record>(&parsed)) {
      out_.records.add(std::move(*record));
    } else if (auto* plan = std::get_if<Plan>(&parsed)) {
      out_.records.add(std::move(*plan));
    } else if (auto* ranged = std::get_if<RangedRecord>(&parsed)) {
      out_.records.add(std::move(*ranged));
    } else if (auto* network = std::get_if<NetworkAtSizes>(&parsed)) {
      out_.records.add(std::move(*network));
    } else if (auto* error = std::get_if<LayerError>(&parsed)) {
      out_.records.add(std::move(*error));
      out_.error_lines.emplace_back(text);
    } else if (auto* ranges = std::get_if<RangesOnSamples>(&parsed)) {
      out_.records.add(std::move(*ranges));
      out_.error_lines.emplace_back(text);
    } else if (std::holds_alternative<BaseLine>(parsed)) {
      out_.base_lines.emplace_back(text);
    } else if (std::holds_alternative<NewerRecord>(parsed)) {
      out_.newer_lines.emplace_back(text);
    } else if (last_and_cut) {
      out_.notes.push_back(path_ + ": the last line (" + std::to_string(number_) +
                           ") was cut short, as by a kill; it is skipped");
    } else {
      if (out_.bad_lines++ == 0) first_bad_ = "line " + std::to_string(number_) + ": " + std::get<BadLine>(parsed).why;
    }
  }
  /// Someone gave the model's name instead of the record file's, say: such a file must not be appended to.
  bool is_of_another_kind() const {
    const Records& records = out_.records;
    const bool nothing = records.size() == 0 && records.plans().empty() && records.ranged().empty() &&
                         records.networks().empty() && out_.error_lines.empty() && out_.newer_lines.empty() &&
                         out_.base_lines.empty();
    return nothing && out_.lines > 0 && !is_ours_;
  }
  void finish() {
    const auto count = [](std::int64_t n) { return counted(n, "line"); };
    if (out_.bad_lines > 0)
      out_.notes.push_back(path_ + ": " + count(out_.bad_lines) + " skipped that " +
                           std::string(for_count(out_.bad_lines, "holds", "hold")) + " no record (" + first_bad_ + ")");
    if (!out_.newer_lines.empty())
      out_.notes.push_back(path_ + ": " + count(static_cast<std::int64_t>(out_.newer_lines.size())) +
                           " of a newer whet kept in the file but not used (this one reads versions up to " +
                           std::to_string(kRecordVersion) + ")");
  }

 private:
  RecordsRead& out_;
  const std::string& path_;
  std::int64_t number_ = 0;
  std::string first_bad_;
  bool is_ours_ = false;  ///< the first line that is not empty looks like it
};

/// Lines and what they hold.
struct ParsedBlock {
  LineBlock text;
  LineRoom room;
  std::vector<ParsedLine> lines;
};

/// By blocks, side by side: a file of 100,000 records is to be read within a second. Whoever has the next block in the file's
/// order hands it on, with those behind it that are ready.
Result<RecordsRead> parse_lines(std::size_t size, const ReadText& read, const std::string& path) {
  RecordsRead out;
  Collector collector(out, path);
  std::mutex mutex;
  std::map<std::size_t, std::unique_ptr<ParsedBlock>> ready;  // by their first byte
  std::vector<std::unique_ptr<ParsedBlock>> spare;            // whose memory the next blocks take
  std::size_t next = 0;
  const auto take_spare = [&] {
    const std::lock_guard lock(mutex);
    if (spare.empty()) return std::make_unique<ParsedBlock>();
    std::unique_ptr<ParsedBlock> taken = std::move(spare.back());
    spare.pop_back();
    return taken;
  };
  parallel_for(static_cast<int>((size + kBlock - 1) / kBlock), 0, [&](int number) {
    const std::size_t begin = static_cast<std::size_t>(number) * kBlock;
    use_huge_pages();
    std::unique_ptr<ParsedBlock> block = take_spare();
    const std::vector<std::string_view>& lines = block->text.lines;
    read_lines(begin, std::min(begin + kBlock, size), size, read, block->text);
    if (block->lines.size() < lines.size()) block->lines.resize(lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) block->lines[i] = parse_line(lines[i], block->room);
    const std::lock_guard lock(mutex);
    ready.emplace(begin, std::move(block));
    for (auto at = ready.find(next); at != ready.end(); at = ready.find(next)) {
      ParsedBlock& done = *at->second;
      for (std::size_t i = 0; i < done.text.lines.size(); ++i)
        collector.line(done.text.lines[i], done.lines[i], done.text.cut && i + 1 == done.text.lines.size());
      spare.push_back(std::move(at->second));
      ready.erase(at);
      next += kBlock;
    }
  });
  if (collector.is_of_another_kind())
    return Error{path +
                 ": is no record file: its first line is no record; give the name of a new or an existing .jsonl file"};
  collector.finish();
  return out;
}

/// How many of the file's lines are among these; each counts once.
std::int64_t lines_among(const RecordsRead& file, std::unordered_set<std::string> lines) {
  std::size_t found = 0;
  for (const Record& record : file.records.all()) found += lines.erase(to_line(record));
  for (const Plan& plan : file.records.plans()) found += lines.erase(to_line(plan));
  for (const RangedRecord& record : file.records.ranged()) found += lines.erase(to_line(record));
  for (const NetworkAtSizes& network : file.records.networks()) found += lines.erase(to_line(network));
  for (const std::string& line : file.newer_lines) found += lines.erase(line);
  for (const std::string& line : file.base_lines) found += lines.erase(line);
  for (const std::string& line : file.error_lines) found += lines.erase(line);
  return static_cast<std::int64_t>(found);
}

Result<RecordsRead> parse_file(int fd, const std::string& path) {
  WHET_TRY(const std::size_t size, size_of_file(fd, path));
  std::atomic<int> failed{0};
  const ReadText read = [&](std::size_t begin, std::size_t end, std::vector<char>& room) {
    return read_at(fd, begin, end, room, failed);
  };
  WHET_TRY(RecordsRead found, parse_lines(size, read, path));
  errno = failed;
  if (failed != 0) return file_error(path, "cannot read");
  return found;
}

}  // namespace

Result<RecordsRead> parse_records(std::string_view text, const std::string& path) {
  const ReadText read = [&](std::size_t begin, std::size_t end, std::vector<char>&) {
    return text.substr(begin, end - begin);
  };
  return parse_lines(text.size(), read, path);
}

Result<RecordsRead> read_records(const std::string& path) {
  WHET_RETURN_IF_ERROR(check_kind(path));
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return file_error(path, "cannot open the record file");
  const bool device = is_device(fd);
  Result<RecordsRead> read = device ? Error{path + ": is a device; a record file was expected"} : parse_file(fd, path);
  ::close(fd);
  return read;
}

namespace {

/// For reading and writing; -1 with errno set where that cannot be. `made`: there was no file.
int open_or_make(const std::string& path, bool& made) {
  for (;;) {
    int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd >= 0 || errno != ENOENT) return fd;
    fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    made = fd >= 0;
    if (fd >= 0 || errno != EEXIST) return fd;
  }
}

}  // namespace

Result<RecordRewrite> RecordRewrite::open(const std::string& path) {
  RecordRewrite rewrite(path);
  const WritePlace place = write_place(path);
  if (place.in_place) return rewrite;
  WHET_RETURN_IF_ERROR(check_kind(path));
  for (int tries = 0;; ++tries) {
    if (tries == kMostReplaced) return always_replaced(path);
    rewrite.made_ = false;
    rewrite.fd_ = open_or_make(place.path, rewrite.made_);
    if (rewrite.fd_ < 0) return file_error(path, "cannot write");
    if (!lock(rewrite.fd_)) return file_error(path, "cannot lock");
    // Whoever had the lock may have replaced the file.
    if (is_named(rewrite.fd_, path)) break;
    ::close(std::exchange(rewrite.fd_, -1));
  }
  WHET_TRY(rewrite.there_, parse_file(rewrite.fd_, path));
  return rewrite;
}

RecordRewrite::RecordRewrite(RecordRewrite&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      made_(std::exchange(other.made_, false)),
      there_(std::move(other.there_)) {}

RecordRewrite::~RecordRewrite() {
  struct stat info{};
  if (made_ && fstat(fd_, &info) == 0 && info.st_size == 0 && is_named(fd_, path_))
    ::unlink(write_place(path_).path.c_str());
  if (fd_ >= 0) ::close(fd_);
}

bool RecordRewrite::is(const std::string& path) const { return fd_ >= 0 && is_named(fd_, path); }

Result<std::int64_t> RecordRewrite::replace(const std::vector<Record>& records, const std::vector<Plan>& plans,
                                            const std::vector<std::string>& other_lines) {
  std::unordered_set<std::string> lines;
  WHET_TRY(NewFile file, NewFile::open(path_));
  std::string text;
  const auto add = [&](const std::string& line) {
    (text += line) += '\n';
    if (there_.lines > 0) lines.insert(line);
  };
  for (const Record& record : records) add(to_line(record));
  for (const Plan& plan : plans) add(to_line(plan));
  for (const std::string& line : other_lines) add(line);
  WHET_RETURN_IF_ERROR(file.write(text));
  WHET_RETURN_IF_ERROR(file.keep(true));
  made_ = false;
  return there_.lines - lines_among(there_, std::move(lines));
}

Result<RecordFile> RecordFile::open(const std::string& path, EmulatedRecords emulated, std::string device) {
  WHET_RETURN_IF_ERROR(check_kind(path));
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return file_error(path, "cannot open the record file");
  RecordFile file(path, fd);
  WHET_RETURN_IF_ERROR(file.load());
  file.read_.records.count(emulated);
  file.read_.records.prefer_device(std::move(device));
  return file;
}

Status RecordFile::while_locked(const std::function<Status()>& body) {
  for (int tries = 0; tries < kMostReplaced; ++tries) {
    WHET_RETURN_IF_ERROR(follow_name());
    const Lock held(fd_);
    if (!held.held()) return file_error(path_, "cannot lock");
    // Whoever had the lock may have replaced the file.
    if (is_named(fd_, path_)) return body();
  }
  return always_replaced(path_);
}

Status RecordFile::load() {
  return while_locked([this] { return load_locked(); });
}

Status RecordFile::load_locked() {
  WHET_TRY(read_, parse_file(fd_, path_));
  WHET_TRY(const std::size_t size, size_of_file(fd_, path_));
  if (!ends_a_line(fd_, size) && !write_all(fd_, "\n")) return file_error(path_, "cannot end its last line");
  return ok_status();
}

RecordFile::RecordFile(RecordFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      read_(std::move(other.read_)),
      unsynced_(other.unsynced_),
      last_sync_(other.last_sync_) {}

RecordFile& RecordFile::operator=(RecordFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(read_, other.read_);
  std::swap(unsynced_, other.unsynced_);
  std::swap(last_sync_, other.last_sync_);
  return *this;
}

RecordFile::~RecordFile() {
  if (fd_ < 0) return;
  (void)sync();
  ::close(fd_);
}

Status RecordFile::follow_name() {
  if (is_named(fd_, path_)) return ok_status();
  const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return file_error(path_, "was removed or replaced and cannot be opened again");
  ::close(std::exchange(fd_, fd));
  return ok_status();
}

Status RecordFile::append_line(std::string line) {
  line += '\n';
  return while_locked([&] { return append_locked(std::move(line)); });
}

Status RecordFile::append_locked(std::string line) {
  const off_t size = lseek(fd_, 0, SEEK_END);
  if (size < 0) return file_error(path_, "cannot append");
  // Another writer may have died in the middle of a line since we opened the file.
  if (!ends_a_line(fd_, static_cast<std::size_t>(size))) line.insert(line.begin(), '\n');
  if (!write_all(fd_, line)) {
    const Error failure = file_error(path_, "cannot append a record; those before it are intact");
    (void)!ftruncate(fd_, size);
    return failure;
  }
  return ok_status();
}

Status RecordFile::append(const Record& record) {
  WHET_RETURN_IF_ERROR(append_line(to_line(record)));
  read_.records.add(record);
  return sync_soon();
}

Status RecordFile::append_plan(const Plan& plan) {
  WHET_RETURN_IF_ERROR(append_line(to_line(plan)));
  read_.records.add(plan);
  return sync_soon();
}

Status RecordFile::append(const RangedRecord& record) {
  WHET_RETURN_IF_ERROR(append_line(to_line(record)));
  read_.records.add(record);
  return sync_soon();
}

Status RecordFile::append(const NetworkAtSizes& network) {
  WHET_RETURN_IF_ERROR(append_line(to_line(network)));
  read_.records.add(network);
  return sync_soon();
}

Status RecordFile::append_error(const LayerError& error) {
  WHET_RETURN_IF_ERROR(append_line(to_line(error)));
  read_.records.add(error);
  return sync_soon();
}

Status RecordFile::append(const RangesOnSamples& ranges) {
  WHET_RETURN_IF_ERROR(append_line(to_line(ranges)));
  read_.records.add(ranges);
  return sync_soon();
}

Status RecordFile::sync_soon() {
  unsynced_ = true;
  if (std::chrono::steady_clock::now() - last_sync_ < std::chrono::seconds(1)) return ok_status();
  return sync();
}

Status RecordFile::sync() {
  if (!unsynced_) return ok_status();
  // Not every kind of file can be synced (a pipe, /dev/null): that is no failure of ours.
  if (fdatasync(fd_) != 0 && errno != EINVAL && errno != EROFS) return file_error(path_, "cannot sync");
  unsynced_ = false;
  last_sync_ = std::chrono::steady_clock::now();
  return ok_status();
}

}  // namespace whet
