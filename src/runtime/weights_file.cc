#include "runtime/weights_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace whet {
namespace {

constexpr const char* kInMemory = "the weights in memory";

int check_owner(const whet_weights_header& header, const WeightsOf& of, const char* path, whet_error* error) {
  if (header.key == of.key && header.weights_bytes == of.bytes) return 0;
  return whet_fail(error,
                   "%s: belongs to another compile of %s (%016llx, not %016llx); whet compile --weights-only "
                   "--like LIBRARY writes one for this",
                   path, of.model, static_cast<unsigned long long>(header.key),
                   static_cast<unsigned long long>(of.key));
}

int check_header(const whet_weights_header& header, std::uint64_t file_bytes, const WeightsOf& of, const char* path,
                 whet_error* error) {
  if (whet_check_weights_header(&header, file_bytes, path, error) != 0) return -1;
  return check_owner(header, of, path, error);
}

int check_sum(const whet_weights_header& header, std::uint64_t sum, const char* path, whet_error* error) {
  if (sum == header.checksum) return 0;
  return whet_fail(error,
                   "%s: the weights do not have the checksum that was written with them; expected a file as "
                   "whet compile wrote it (was it changed or damaged?)",
                   path);
}

int cannot_read(const char* path, whet_error* error) {
  return whet_fail(error, "%s: cannot be read to its end: it was cut, or changed, meanwhile", path);
}

/// The bytes of a file; of what has none (a pipe), 0.
std::uint64_t bytes_of(int file) {
  const off_t end = lseek(file, 0, SEEK_END);
  return end > 0 ? static_cast<std::uint64_t>(end) : 0;
}

int no_memory(std::uint64_t bytes, whet_error* error) {
  return whet_fail(error, "no memory for %llu bytes of weights", static_cast<unsigned long long>(bytes));
}

/// A copy is the file from its first byte: weights begin at a page of it.
void use_copy(Pages copy, OwnWeights* out) {
  out->copy = copy;
  out->data = static_cast<const char*>(copy.data) + WHET_WEIGHTS_BEGIN;
}

std::uint64_t sum_behind_header(const void* file, std::uint64_t bytes) {
  return whet_checksum(static_cast<const char*>(file) + sizeof(whet_weights_header),
                       bytes - sizeof(whet_weights_header));
}

int read_file(int file, const whet_weights_header& header, const char* path, bool sums, OwnWeights* out,
              whet_error* error) {
  Pages copy = allocate_pages(header.file_bytes);
  if (!copy.ok()) return no_memory(header.file_bytes, error);
  int result = 0;
  if (whet_read_at(file, copy.data, header.file_bytes, 0) != 0)
    result = cannot_read(path, error);
  else if (sums)
    result = check_sum(header, sum_behind_header(copy.data, header.file_bytes), path, error);
  if (result != 0)
    free_pages(&copy);
  else
    use_copy(copy, out);
  return result;
}

/// Reads, and does not look at the mapping: of a file that is cut meanwhile that would end the process.
int sum_file(int file, const whet_weights_header& header, const char* path, whet_error* error) {
  constexpr std::uint64_t kPiece = 1 << 15;
  void* const buffer = malloc(kPiece);  // the caller's stack may be small
  if (buffer == nullptr) return no_memory(kPiece, error);
  whet_checksum_state state;
  whet_checksum_begin(&state);
  int result = 0;
  for (std::uint64_t at = sizeof header; result == 0 && at < header.file_bytes;) {
    const std::uint64_t left = header.file_bytes - at, take = left < kPiece ? left : kPiece;
    if (whet_read_at(file, buffer, take, at) != 0)
      result = cannot_read(path, error);
    else
      whet_checksum_add(&state, buffer, take);
    at += take;
  }
  free(buffer);
  return result != 0 ? -1 : check_sum(header, whet_checksum_end(&state), path, error);
}

/// Takes the open file where it succeeds.
int map_file(int file, const whet_weights_header& header, const char* path, bool sums, OwnWeights* out,
             whet_error* error) {
  struct stat before = {};  // what is written from now on is a change
  if (fstat(file, &before) != 0) return whet_fail(error, "%s: %s", path, strerror(errno));
  if (sums && sum_file(file, header, path, error) != 0) return -1;
  void* const mapped = mmap(nullptr, header.file_bytes, PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) return whet_fail(error, "%s: cannot map it: %s", path, strerror(errno));
  out->watched = watch_pages(mapped, header.file_bytes);
  if (out->watched == nullptr) {
    munmap(mapped, header.file_bytes);
    return no_memory(header.file_bytes, error);
  }
  out->written = before.st_mtim;
  out->mapped = mapped;
  out->mapped_bytes = header.file_bytes;
  out->file_and_one = file + 1;
  out->data = static_cast<const char*>(mapped) + WHET_WEIGHTS_BEGIN;
  return 0;
}

int open_file(const WeightsOf& of, const whet_open_source& source, bool map, OwnWeights* out, whet_error* error) {
  const char* const path = source.weights_path;
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe is refused, not waited for
  if (file < 0) return whet_fail(error, "%s: %s; expected the path of a weights file", path, strerror(errno));
  whet_weights_header header;
  memset(&header, 0, sizeof header);
  const std::uint64_t bytes = bytes_of(file);
  const bool sums = (source.flags & WHET_SKIP_CHECKSUM) == 0;
  int result = -1;
  if (bytes >= sizeof header && whet_read_at(file, &header, sizeof header, 0) != 0)
    whet_fail(error, "%s: cannot be read; expected a weights file", path);
  else if (check_header(header, bytes, of, path, error) == 0)
    result = map ? map_file(file, header, path, sums, out, error) : read_file(file, header, path, sums, out, error);
  if (result != 0 || !map) close(file);
  return result;
}

int open_memory(const WeightsOf& of, const whet_open_source& source, bool map, OwnWeights* out, whet_error* error) {
  whet_weights_header header;
  memset(&header, 0, sizeof header);
  if (source.weights_bytes >= sizeof header) memcpy(&header, source.weights, sizeof header);
  if (check_header(header, source.weights_bytes, of, kInMemory, error) != 0) return -1;
  if ((source.flags & WHET_SKIP_CHECKSUM) == 0 &&
      check_sum(header, sum_behind_header(source.weights, header.file_bytes), kInMemory, error) != 0)
    return -1;
  if (map && reinterpret_cast<std::uintptr_t>(source.weights) % 64 == 0) {
    out->data = static_cast<const char*>(source.weights) + WHET_WEIGHTS_BEGIN;
    return 0;
  }
  const Pages copy = allocate_pages(header.file_bytes);
  if (!copy.ok()) return no_memory(header.file_bytes, error);
  memcpy(copy.data, source.weights, header.file_bytes);
  use_copy(copy, out);
  return 0;
}

}  // namespace

int open_weights(const WeightsOf& of, const whet_open_source& source, bool map, OwnWeights* out, whet_error* error) {
  if (source.weights_path != nullptr && source.weights != nullptr)
    return whet_fail(error, "model %s: its weights are given twice, as a file and in memory", of.model);
  return source.weights_path != nullptr ? open_file(of, source, map, out, error)
                                        : open_memory(of, source, map, out, error);
}

void close_weights(OwnWeights* weights) {
  free_pages(&weights->copy);
  forget_pages(weights->watched);
  if (weights->mapped != nullptr) munmap(weights->mapped, weights->mapped_bytes);
  if (weights->file_and_one != 0) close(weights->file_and_one - 1);
  *weights = OwnWeights{};
}

int check_weights(const OwnWeights& weights, whet_error* error) {
  if (weights.file_and_one == 0) return 0;
  struct stat now = {};
  if (fstat(weights.file_and_one - 1, &now) != 0) return whet_fail(error, "the weights file: %s", strerror(errno));
  const std::uint64_t bytes = static_cast<std::uint64_t>(now.st_size);
  if (bytes < weights.mapped_bytes) {
    return whet_fail(error,
                     "the weights file was cut while it is mapped: it has %llu bytes, and had %llu; open the model "
                     "again with a whole one",
                     static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(weights.mapped_bytes));
  }
  // Not when its name changed: who replaces a file leaves the mapped one as it was.
  const bool is_same = now.st_mtim.tv_sec == weights.written.tv_sec && now.st_mtim.tv_nsec == weights.written.tv_nsec;
  if (is_same && !has_lost_pages(weights.watched)) return 0;
  return whet_fail(error,
                   "the weights file was written to while it is mapped, or a part of it cannot be read; open the model "
                   "again");
}

}  // namespace whet
