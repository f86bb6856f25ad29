#pragma once

#include <cstdint>

namespace whet {

/// While a FlushDenormals exists, denormal numbers count as zero (they cost a hundred cycles each). Its destructor
/// restores the thread's own mode. Runner and runtime use it alike, so that they measure and compute the same.
class FlushDenormals {
 public:
  FlushDenormals() : saved_(read()) { write(saved_ | kFlush); }
  ~FlushDenormals() { write(saved_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  using Word = std::uint32_t;
  static constexpr Word kFlush = 0x8040;  // FTZ and DAZ
  static Word read() { return __builtin_ia32_stmxcsr(); }
  static void write(Word word) { __builtin_ia32_ldmxcsr(word); }
#elif defined(__aarch64__)
  using Word = std::uint64_t;
  static constexpr Word kFlush = std::uint64_t{1} << 24;  // FZ
  static Word read() {
    Word word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return word;
  }
  static void write(Word word) { __asm__ volatile("msr fpcr, %0" : : "r"(word)); }
#else
  using Word = std::uint32_t;
  static constexpr Word kFlush = 0;
  static Word read() { return 0; }
  static void write(Word) {}
#endif
  Word saved_;
};

}  // namespace whet
