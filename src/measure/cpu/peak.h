#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "artifact/cpu/object_loader.h"
#include "base/result.h"
#include "program/program.h"
#include "target/target.h"
#include "tensor/tensor.h"

namespace whet {

/// A kernel that does nothing except multiply-adds in registers, with the vectors of a CPU: of f32, or of pairs of bf16 where
/// the target has `bf16_products`; with its unit of tiles, whose factors come from the first-level cache, where it has `bf16_tiles`.
/// Sums are f32.
class PeakBurst {
 public:
  /// For a target of kind cpu. Errors: of `compile_kernel` and of the loader.
  static Result<PeakBurst> compile(const Target&, DType factors = DType::f32);

  /// The highest rate that `cpus` reach together [GFLOPS]; a multiply-add is two operations. The best of a few bursts;
  /// about 20 ms. This machine must be able to run the target.
  double measure(const std::vector<int>& cpus) const;

 private:
  PeakBurst(LoadedKernel kernel, Tensor factors, std::int64_t sums, double flops)
      : kernel_(std::move(kernel)), factors_(std::move(factors)), sums_(sums), flops_(flops) {}

  LoadedKernel kernel_;
  Tensor factors_;
  std::int64_t sums_;  ///< of a thread
  double flops_;       ///< of one burst on one cpu
};

/// Compiles the burst and measures once; 0 where it does not compile.
double measure_peak_gflops(const Target&, const std::vector<int>& cpus, DType factors = DType::f32);

/// The burst: `rounds` steps of independent chains of multiply-adds. Without fused multiply-adds half of the chains add
/// and half multiply. Arguments: ones [lanes], of bf16 twice as many; chains [threads, chains, lanes], where each chain begins and ends. Several threads
/// run side by side.
/// Of tiles: ones [2, 16, 16, 2]; chains [threads, 4, 16, 16].
Program burst_program(const CpuTarget&, std::int64_t rounds, std::int64_t threads = 1, DType factors = DType::f32);
/// Operations of one thread in it; a multiply-add is two.
double burst_operations(const CpuTarget&, std::int64_t rounds, DType factors = DType::f32);
/// Enough for a time: a fraction of a millisecond.
inline constexpr std::int64_t kPeakRounds = 100000;

}  // namespace whet
