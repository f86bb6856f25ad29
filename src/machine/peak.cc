#include "machine/peak.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "base/parallel.h"
#include "machine/cores.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace whet {
namespace {

// Each burst runs `rounds` of twelve independent accumulations, in assembly, so that no compiler can put them into
// memory or leave them out: more chains than latency times throughput of any processor known (2 x 5 cycles). Registers
// 12 and 13 hold ones; without fused multiply-adds half of the chains add and half multiply.
constexpr int kChains = 12;

#if defined(__x86_64__)
#define WHET_TWELVE(even, odd) \
  even("0") odd("1") even("2") odd("3") even("4") odd("5") even("6") odd("7") even("8") odd("9") even("10") odd("11")
#define WHET_BURST(prologue, clear, even, odd)                                                                      \
  __asm__ volatile(prologue WHET_TWELVE(clear, clear) "1:\n" WHET_TWELVE(even, odd) "dec %0\n jnz 1b\n"             \
                   : "+r"(rounds)                                                                                   \
                   : "m"(kOnes)                                                                                     \
                   : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
                     "xmm11", "xmm12", "xmm13")
#define WHET_CLEAR(n) "vxorps %%xmm" n ", %%xmm" n ", %%xmm" n "\n"
#define WHET_CLEAR128(n) "xorps %%xmm" n ", %%xmm" n "\n"
#define WHET_FMA512(n) "vfmadd231ps %%zmm12, %%zmm13, %%zmm" n "\n"
#define WHET_FMA256(n) "vfmadd231ps %%ymm12, %%ymm13, %%ymm" n "\n"
#define WHET_ADD256(n) "vaddps %%ymm12, %%ymm" n ", %%ymm" n "\n"
#define WHET_MUL256(n) "vmulps %%ymm12, %%ymm" n ", %%ymm" n "\n"
#define WHET_ADD128(n) "addps %%xmm12, %%xmm" n "\n"
#define WHET_MUL128(n) "mulps %%xmm12, %%xmm" n "\n"

constexpr float kOnes[4] = {1, 1, 1, 1};

__attribute__((target("avx512f"))) void burst_avx512(std::int64_t rounds) {
  WHET_BURST("vbroadcastss %1, %%zmm12\n vmovaps %%zmm12, %%zmm13\n", WHET_CLEAR, WHET_FMA512, WHET_FMA512);
}
__attribute__((target("avx2,fma"))) void burst_fma(std::int64_t rounds) {
  WHET_BURST("vbroadcastss %1, %%ymm12\n vmovaps %%ymm12, %%ymm13\n", WHET_CLEAR, WHET_FMA256, WHET_FMA256);
}
__attribute__((target("avx"))) void burst_avx(std::int64_t rounds) {
  WHET_BURST("vbroadcastss %1, %%ymm12\n", WHET_CLEAR, WHET_ADD256, WHET_MUL256);
}
void burst_sse(std::int64_t rounds) { WHET_BURST("movups %1, %%xmm12\n", WHET_CLEAR128, WHET_ADD128, WHET_MUL128); }

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

using Burst = void (*)(std::int64_t rounds);
using Reader = void (*)(const float* data, std::int64_t floats);

struct Bursts {
  Burst run = nullptr;
  double flops_per_round = 0;
  Reader read = nullptr;
};

Bursts bursts_of(const Target& target) {
#if defined(__x86_64__)
  const double flops = (target.cpu().fma ? 2.0 : 1.0) * kChains * target.cpu().lanes(4);
  if (target.cpu().vector_bytes >= 64) return {burst_avx512, flops, read_avx512};
  if (target.cpu().vector_bytes >= 32) return {target.cpu().fma ? burst_fma : burst_avx, flops, read_avx};
  return {burst_sse, flops, read_sse};
#else
  (void)target;
  return {};
#endif
}

void nothing(std::size_t) {}

/// Runs `work(thread)` on every cpu at once, `times` times with a common start, and before each time `prepare(thread)`,
/// which is not timed; the shortest wall time of one round [s].
double best_of(const std::vector<int>& cpus, int times, const std::function<void(std::size_t)>& work,
               const std::function<void(std::size_t)>& prepare = nothing) {
  const int count = static_cast<int>(cpus.size());
  std::atomic<int> arrived{0};
  // Between cores that are less than a scheduler's tick apart: waiting threads spin.
  const auto meet = [&](int round) {
    arrived.fetch_add(1);
    while (arrived.load() < count * round) std::this_thread::yield();
  };
  double best = 1e30;
  const auto body = [&](std::size_t k) {
    const ScopedPin pin(cpus[k]);
    for (int i = 0; i < times; ++i) {
      prepare(k);
      meet(2 * i + 1);
      const double start = seconds_now();
      work(k);
      meet(2 * i + 2);
      if (k == 0) best = std::min(best, seconds_now() - start);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t k = 1; k < cpus.size(); ++k) threads.emplace_back(body, k);
  body(0);
  for (std::thread& thread : threads) thread.join();
  return best;
}

/// Memory of a benchmark: whole pages, touched, huge where the system grants them.
class Pages {
 public:
  explicit Pages(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    madvise(memory, bytes_, MADV_HUGEPAGE);
    data_ = static_cast<float*>(memory);
    std::fill(data_, data_ + bytes_ / sizeof(float), 1.0f);
  }
  ~Pages() {
    if (data_) munmap(data_, bytes_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  const float* data() const { return data_; }

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

Bandwidth bandwidth_at(const char* level, std::int64_t bytes, From from, Reader read, const std::vector<int>& cpus) {
  bytes = std::max<std::int64_t>(4096, bytes / 4096 * 4096);
  std::vector<std::unique_ptr<Pages>> buffers;
  for (std::size_t k = 0; k < cpus.size(); ++k) buffers.push_back(std::make_unique<Pages>(bytes));
  for (const auto& buffer : buffers)
    if (!buffer->data()) return {level, bytes, 0};
  const std::int64_t passes = std::max<std::int64_t>(1, (32 << 20) / bytes);
  const auto work = [&](std::size_t k) {
    for (std::int64_t i = 0; i < passes; ++i) read(buffers[k]->data(), bytes / 4);
  };
  const auto evict = [&](std::size_t k) { flush(buffers[k]->data(), bytes); };
  const double seconds = from == From::memory ? best_of(cpus, 3, work, evict) : best_of(cpus, 5, work);
  const double total = static_cast<double>(bytes) * static_cast<double>(passes) * static_cast<double>(cpus.size());
  return {level, bytes, total / seconds / 1e9};
}

}  // namespace

double measure_peak_gflops(const Target& target, const std::vector<int>& cpus) {
  const Bursts bursts = bursts_of(target);
  if (!bursts.run) return 0;
  constexpr std::int64_t kRounds = 100000;  // 1.2 million operations a thread: a fraction of a millisecond
  const double seconds = best_of(cpus, 20, [&](std::size_t) { bursts.run(kRounds); });
  return bursts.flops_per_round * kRounds * static_cast<double>(cpus.size()) / seconds / 1e9;
}

std::vector<Bandwidth> measure_bandwidth(const Target& target, const std::vector<int>& cpus) {
  const Reader read = bursts_of(target).read;
  if (!read) return {};
  const std::int64_t sharers = static_cast<std::int64_t>(cpus.size());
  constexpr std::int64_t kFlushed = 32 << 20;
  const std::int64_t l3 = std::min(target.cpu().l3_bytes / 2 / sharers, 8 * target.cpu().l2_bytes);
  return {bandwidth_at("L1", target.cpu().l1_bytes / 2, From::cache, read, cpus),
          bandwidth_at("L2", target.cpu().l2_bytes / 2, From::cache, read, cpus),
          bandwidth_at("L3", l3, From::cache, read, cpus), bandwidth_at("memory", kFlushed, From::memory, read, cpus)};
}

}  // namespace whet
