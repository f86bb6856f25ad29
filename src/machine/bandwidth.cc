#include "machine/bandwidth.h"

#include <sys/mman.h>

#include <algorithm>
#include <memory>

#include "machine/together.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace whet {
namespace {

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void read_avx512(const float* data, std::int64_t floats) {
  __m512 a = _mm512_setzero_ps(), b = a, c = a, d = a;
  for (std::int64_t i = 0; i < floats; i += 64) {
    a = _mm512_add_ps(a, _mm512_loadu_ps(data + i));
    b = _mm512_add_ps(b, _mm512_loadu_ps(data + i + 16));
    c = _mm512_add_ps(c, _mm512_loadu_ps(data + i + 32));
    d = _mm512_add_ps(d, _mm512_loadu_ps(data + i + 48));
  }
  a = _mm512_add_ps(_mm512_add_ps(a, b), _mm512_add_ps(c, d));
  __asm__ volatile("" : "+v"(a));
}

__attribute__((target("avx"))) void read_avx(const float* data, std::int64_t floats) {
  __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
  for (std::int64_t i = 0; i < floats; i += 32) {
    a = _mm256_add_ps(a, _mm256_loadu_ps(data + i));
    b = _mm256_add_ps(b, _mm256_loadu_ps(data + i + 8));
    c = _mm256_add_ps(c, _mm256_loadu_ps(data + i + 16));
    d = _mm256_add_ps(d, _mm256_loadu_ps(data + i + 24));
  }
  a = _mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d));
  __asm__ volatile("" : "+x"(a));
}

void read_sse(const float* data, std::int64_t floats) {
  __m128 a = _mm_setzero_ps(), b = a, c = a, d = a;
  for (std::int64_t i = 0; i < floats; i += 16) {
    a = _mm_add_ps(a, _mm_loadu_ps(data + i));
    b = _mm_add_ps(b, _mm_loadu_ps(data + i + 4));
    c = _mm_add_ps(c, _mm_loadu_ps(data + i + 8));
    d = _mm_add_ps(d, _mm_loadu_ps(data + i + 12));
  }
  a = _mm_add_ps(_mm_add_ps(a, b), _mm_add_ps(c, d));
  __asm__ volatile("" : "+x"(a));
}
#endif

using Reader = void (*)(const float* data, std::int64_t floats);

Reader reader_of(const Target& target) {
#if defined(__x86_64__)
  if (target.cpu().vector_bytes >= 64) return read_avx512;
  if (target.cpu().vector_bytes >= 32) return read_avx;
  return read_sse;
#else
  (void)target;
  return nullptr;
#endif
}

/// Memory of a benchmark: whole pages, huge where the system grants them.
class Pages {
 public:
  explicit Pages(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    madvise(memory, bytes_, MADV_HUGEPAGE);
    data_ = static_cast<float*>(memory);
  }
  ~Pages() {
    if (data_) munmap(data_, bytes_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  const float* data() const { return data_; }
  /// The thread that reads them comes first: the memory is near its processor.
  void touch() { std::fill(data_, data_ + bytes_ / sizeof(float), 1.0f); }

 private:
  float* data_ = nullptr;
  std::size_t bytes_;
};

/// Takes the lines out of every cache, so that the next read comes from memory: a buffer so large that no cache holds it
/// would be hundreds of megabytes today.
void flush(const float* data, std::int64_t bytes) {
#if defined(__x86_64__)
  for (std::int64_t at = 0; at < bytes; at += 64) _mm_clflush(reinterpret_cast<const char*>(data) + at);
  _mm_mfence();
#else
  (void)data, (void)bytes;
#endif
}

enum class From : std::uint8_t { cache, memory };

/// A buffer of each thread.
using Buffers = std::vector<std::unique_ptr<Pages>>;

/// The memory of all levels; none where there is not as much.
Buffers touched_buffers(std::int64_t bytes, const std::vector<int>& cpus) {
  Buffers buffers;
  for (std::size_t k = 0; k < cpus.size(); ++k) {
    buffers.push_back(std::make_unique<Pages>(bytes));
    if (!buffers.back()->data()) return {};
  }
  best_seconds_together(cpus, 1, [&](std::size_t k) { buffers[k]->touch(); });
  return buffers;
}

/// A level is a name, and the bytes that each thread reads of its buffer.
Bandwidth bandwidth_of(Bandwidth level, const Buffers& buffers, From from, Reader read, const std::vector<int>& cpus) {
  if (buffers.empty()) return level;
  // What was flushed comes from memory once.
  const std::int64_t passes = from == From::memory ? 1 : std::max<std::int64_t>(1, (16 << 20) / level.bytes);
  const auto work = [&](std::size_t k) {
    for (std::int64_t i = 0; i < passes; ++i) read(buffers[k]->data(), level.bytes / 4);
  };
  std::function<void(std::size_t)> evict;
  if (from == From::memory) evict = [&](std::size_t k) { flush(buffers[k]->data(), level.bytes); };
  const double seconds = best_seconds_together(cpus, from == From::memory ? 3 : 5, work, evict);
  const double total =
      static_cast<double>(level.bytes) * static_cast<double>(passes) * static_cast<double>(cpus.size());
  level.gb_per_second = total / seconds / 1e9;
  return level;
}

std::int64_t whole_pages(std::int64_t bytes) { return std::max<std::int64_t>(4096, bytes / 4096 * 4096); }

}  // namespace

std::vector<Bandwidth> measure_bandwidth(const Target& target, const std::vector<int>& cpus) {
  const Reader read = reader_of(target);
  if (!read) return {};
  const std::int64_t sharers = static_cast<std::int64_t>(cpus.size());
  constexpr std::int64_t kFlushed = 8 << 20;
  const std::int64_t l3 = std::min(target.cpu().l3_bytes / 2 / sharers, 8 * target.cpu().l2_bytes);
  std::vector<Bandwidth> levels = {{"L1", whole_pages(target.cpu().l1_bytes / 2)},
                                   {"L2", whole_pages(target.cpu().l2_bytes / 2)},
                                   {"L3", whole_pages(l3)},
                                   {"memory", kFlushed}};
  std::int64_t largest = 0;
  for (const Bandwidth& level : levels) largest = std::max(largest, level.bytes);
  const Buffers buffers = touched_buffers(largest, cpus);
  for (Bandwidth& level : levels)
    level = bandwidth_of(level, buffers, level.level == "memory" ? From::memory : From::cache, read, cpus);
  return levels;
}

}  // namespace whet
