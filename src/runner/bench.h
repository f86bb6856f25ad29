#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runner/messages.h"

namespace whet {

/// Runs kernels of one code format in this process and times them. A kernel that misbehaves ends the process: see
/// `run_runner`. Inputs, threads and constants are kept from one request to the next. For one thread at a time.
class KernelBench {
 public:
  virtual ~KernelBench() = default;

  virtual MeasureReply measure(const MeasureRequest&) = 0;
  virtual CheckReply check(const CheckRequest&) = 0;

  /// Whether nothing more can run on its device in this process, which then ends behind the answer.
  virtual bool is_lost() const { return false; }

  /// Where `address` lies in the buffers of the kernel that runs now; async-signal-safe (see GuardedBuffer::describe).
  virtual std::size_t describe(std::uintptr_t address, char* text, std::size_t capacity) const = 0;
};

/// What runs the kernels of a code format.
struct BenchOfFormat {
  CodeFormat format;
  std::unique_ptr<KernelBench> (*make)();
};
/// The formats that this build can run (bench_table.cc).
std::span<const BenchOfFormat> kernel_benches();

/// The benches of a runner, each made when the first kernel of its format comes.
class Benches {
 public:
  explicit Benches(std::span<const BenchOfFormat> table = kernel_benches());

  /// Where no bench runs the kernel's format, the reply says so.
  MeasureReply measure(const MeasureRequest&);
  CheckReply check(const CheckRequest&);
  /// Whether a bench is.
  bool is_lost() const;
  /// Asks every bench. Async-signal-safe.
  std::size_t describe(std::uintptr_t address, char* text, std::size_t capacity) const;

 private:
  KernelBench* find(CodeFormat);
  std::string no_bench(CodeFormat) const;

  std::span<const BenchOfFormat> table_;
  std::vector<std::unique_ptr<KernelBench>> benches_;  ///< one a row of the table; null until it is needed
};

}  // namespace whet
