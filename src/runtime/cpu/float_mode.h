#pragma once

#include <cstdint>

namespace whet {

enum class Subnormals : std::uint8_t { kept, zero };

/// While a FloatMode exists, its thread computes in the mode of kernels, whatever its caller has set: rounding to nearest, no
/// trapping exceptions, subnormal numbers kept. Its destructor restores the thread's own mode and exception flags. Runner and
/// runtime both use it, so that the code that is measured computes the same.
class FloatMode {
 public:
  /// `zero`: subnormal numbers count as 0, as on GPUs; for measurements and tests.
  explicit FloatMode(Subnormals subnormals = Subnormals::kept) : saved_(read()) {
    write({subnormals == Subnormals::zero ? kDefault | kFlush : kDefault, kNothingNoted});
  }
  ~FloatMode() { write(saved_); }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
#if defined(__x86_64__)
  // Kernels do not use the x87 unit, which has a mode of its own.
  static constexpr std::uint32_t kDefault = 0x1f80, kFlush = 0x8040;  // FTZ and DAZ
  static constexpr std::uint32_t kNothingNoted = 0;
  struct Mode {
    std::uint32_t control, noted;  // one register has both
  };
  static Mode read() { return {__builtin_ia32_stmxcsr(), 0}; }
  static void write(Mode mode) { __builtin_ia32_ldmxcsr(mode.control); }
#elif defined(__aarch64__)
  static constexpr std::uint64_t kDefault = 0, kFlush = std::uint64_t{1} << 24;  // FZ
  static constexpr std::uint64_t kNothingNoted = 0;
  struct Mode {
    std::uint64_t control, noted;
  };
  static Mode read() {
    Mode mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode.control));
    __asm__ volatile("mrs %0, fpsr" : "=r"(mode.noted));
    return mode;
  }
  static void write(Mode mode) {
    __asm__ volatile("msr fpcr, %0" : : "r"(mode.control));
    __asm__ volatile("msr fpsr, %0" : : "r"(mode.noted));
  }
#else
  static constexpr std::uint32_t kDefault = 0, kFlush = 0, kNothingNoted = 0;
  struct Mode {
    std::uint32_t control, noted;
  };
  static Mode read() { return {}; }
  static void write(Mode) {}
#endif
  Mode saved_;
};

}  // namespace whet
