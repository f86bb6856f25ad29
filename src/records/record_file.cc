#include "records/record_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/parallel.h"
#include "base/write_place.h"
#include "records/memory.h"
#include "records/plan_line.h"
#include "records/record_line.h"

namespace whet {
namespace {

/// Lines that one thread parses at a time: they stay in its cache.
constexpr std::size_t kBlock = 128;

Error file_error(const std::string& path, const std::string& what) {
  return Error{path + ": " + what + ": " + std::strerror(errno)};
}

/// Holds the advisory lock of a file while it lives.
class Lock {
 public:
  explicit Lock(int fd) : fd_(fd) {
    while ((held_ = flock(fd, LOCK_EX) == 0), !held_ && errno == EINTR) {
    }
  }
  ~Lock() {
    if (held_) flock(fd_, LOCK_UN);
  }
  Lock(const Lock&) = delete;
  bool held() const { return held_; }

 private:
  int fd_;
  bool held_ = false;
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

/// The bytes of a file.
struct FileText {
  std::unique_ptr<char, FreeMemory> bytes;
  std::size_t size = 0;
  std::string_view view() const { return {bytes.get(), size}; }
};

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

Result<FileText> read_all(int fd, const std::string& path) {
  struct stat info{};
  if (fstat(fd, &info) != 0) return file_error(path, "cannot read");
  if (S_ISCHR(info.st_mode)) return FileText();  // /dev/null has nothing to say, and /dev/full no end
  FileText text;
  // One byte more, so that the end shows without growing.
  for (std::size_t room = static_cast<std::size_t>(info.st_size) + 1;; room *= 2) {
    auto bytes = allocate_memory(room);
    std::copy_n(text.bytes.get(), text.size, bytes.get());
    text.bytes = std::move(bytes);
    while (text.size < room) {
      const ssize_t n = ::pread(fd, text.bytes.get() + text.size, room - text.size, static_cast<off_t>(text.size));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return file_error(path, "cannot read");
      if (n == 0) return text;
      text.size += static_cast<std::size_t>(n);
    }
  }
}

/// Sorts lines into records, newer lines and bad ones, and says in notes what was left out.
class Collector {
 public:
  Collector(RecordsRead& out, const std::string& path) : out_(out), path_(path) {}

  void line(std::string_view text, ParsedLine parsed, bool last_and_cut) {
    ++number_;
    if (text.find_first_not_of(" \t\r") == text.npos) return;
    if (auto* record = std::get_if<Record>(&parsed)) {
      out_.records.add(std::move(*record));
    } else if (auto* plan = std::get_if<Plan>(&parsed)) {
      out_.records.add(std::move(*plan));
    } else if (std::holds_alternative<NewerRecord>(parsed)) {
      out_.newer_lines.emplace_back(text);
    } else if (last_and_cut) {
      out_.notes.push_back(path_ + ": the last line (" + std::to_string(number_) +
                           ") was cut short, as by a kill; it is skipped");
    } else {
      if (out_.bad_lines++ == 0) first_bad_ = "line " + std::to_string(number_) + ": " + std::get<BadLine>(parsed).why;
    }
  }
  void finish() {
    const auto count = [](std::int64_t n) { return std::to_string(n) + (n == 1 ? " line" : " lines"); };
    if (out_.bad_lines > 0)
      out_.notes.push_back(path_ + ": " + count(out_.bad_lines) + " skipped that " +
                           (out_.bad_lines == 1 ? "holds" : "hold") + " no record (" + first_bad_ + ")");
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
};

}  // namespace

Result<RecordsRead> parse_records(std::string_view text, const std::string& path) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size(); at += lines.back().size() + 1)
    lines.push_back(text.substr(at, text.find('\n', at) - at));
  const bool cut = !text.empty() && text.back() != '\n';
  RecordsRead out;
  Collector collector(out, path);
  // By blocks, side by side: a file of 100,000 records is to be read within a second. Whoever has the next block in the
  // file's order hands it on, with those behind it that are ready.
  std::mutex mutex;
  std::map<std::size_t, std::vector<ParsedLine>> ready;  // by their first line
  std::vector<std::vector<ParsedLine>> spare;            // whose memory the next blocks take
  std::size_t next = 0;
  parallel_for(static_cast<int>((lines.size() + kBlock - 1) / kBlock), 0, [&](int block) {
    const std::size_t begin = static_cast<std::size_t>(block) * kBlock, end = std::min(begin + kBlock, lines.size());
    std::vector<ParsedLine> parsed;
    {
      const std::lock_guard lock(mutex);
      if (!spare.empty()) parsed = std::move(spare.back()), spare.pop_back();
    }
    parsed.resize(end - begin);
    for (std::size_t i = begin; i < end; ++i) parsed[i - begin] = parse_line(lines[i]);
    const std::lock_guard lock(mutex);
    ready.emplace(begin, std::move(parsed));
    for (auto at = ready.find(next); at != ready.end(); at = ready.find(next)) {
      for (ParsedLine& line : at->second) {
        collector.line(lines[next], std::move(line), cut && next + 1 == lines.size());
        ++next;
      }
      spare.push_back(std::move(at->second));
      ready.erase(at);
    }
  });
  // Someone gave the model's name instead of the record file's, say: such a file must not be appended to.
  const bool nothing = out.records.size() == 0 && out.records.plans().empty() && out.newer_lines.empty();
  if (nothing && text.find_first_not_of(" \t\r\n") != text.npos && text[text.find_first_not_of(" \t\r\n")] != '{')
    return Error{
        path +
        ": is no record file: its first line is no JSON object; give the name of a new or an existing .jsonl file"};
  collector.finish();
  return out;
}

Result<RecordsRead> read_records(const std::string& path) {
  WHET_RETURN_IF_ERROR(check_kind(path));
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return file_error(path, "cannot open the record file");
  const bool device = is_device(fd);
  Result<FileText> text = device ? Error{path + ": is a device; a record file was expected"} : read_all(fd, path);
  ::close(fd);
  if (!text.ok()) return text.error();
  return parse_records(text->view(), path);
}

Status write_records(const std::string& path, const std::vector<Record>& records, const std::vector<Plan>& plans,
                     const std::vector<std::string>& newer_lines) {
  std::string text;
  for (const Record& record : records) (text += to_line(record)) += '\n';
  for (const Plan& plan : plans) (text += to_line(plan)) += '\n';
  for (const std::string& line : newer_lines) (text += line) += '\n';
  const auto [whole, in_place] = write_place(path);
  const std::string beside = in_place ? path : whole + ".whet.tmp";
  const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return file_error(path, "cannot write");
  const bool written = write_all(fd, text) && (in_place || fdatasync(fd) == 0);
  const int error = errno;
  ::close(fd);
  errno = error;
  if (!written || (!in_place && std::rename(beside.c_str(), whole.c_str()) != 0)) {
    const Error failure = file_error(path, "cannot write");
    if (!in_place) ::unlink(beside.c_str());
    return failure;
  }
  return ok_status();
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

Status RecordFile::load() {
  Lock lock(fd_);
  if (!lock.held()) return file_error(path_, "cannot lock");
  WHET_TRY(const FileText file, read_all(fd_, path_));
  const std::string_view text = file.view();
  WHET_TRY(read_, parse_records(text, path_));
  if (!text.empty() && text.back() != '\n' && !write_all(fd_, "\n"))
    return file_error(path_, "cannot end its last line");
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
  struct stat ours{}, named{};
  const bool there = ::stat(path_.c_str(), &named) == 0;
  if (fstat(fd_, &ours) == 0 && there && ours.st_dev == named.st_dev && ours.st_ino == named.st_ino) return ok_status();
  const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return file_error(path_, "was removed or replaced and cannot be opened again");
  ::close(std::exchange(fd_, fd));
  return ok_status();
}

Status RecordFile::append_line(std::string line) {
  line += '\n';
  WHET_RETURN_IF_ERROR(follow_name());
  Lock lock(fd_);
  if (!lock.held()) return file_error(path_, "cannot lock");
  const off_t size = lseek(fd_, 0, SEEK_END);
  if (size < 0) return file_error(path_, "cannot append");
  // Another writer may have died in the middle of a line since we opened the file.
  char last = '\n';
  if (size > 0 && ::pread(fd_, &last, 1, size - 1) == 1 && last != '\n') line.insert(line.begin(), '\n');
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
