#pragma once

#include "schedule/steps.h"
#include "space/gpu/limits.h"
#include "space/space.h"

namespace whet {

/// The template of depthwise convolutions and pools: a thread computes a patch of outputs of a few channels, all in registers. The
/// elements of a padded input are copied to registers first, so that each is tested and loaded once.
///   rows, columns  of the patch
///   vector         channels
///   threads        of a block
///   min_blocks     that an SM is to hold at once; 0: as many as fit
/// Empty where the DAG is no reduction over a small window that moves with rows or columns, or its result has no
/// neighbouring channels.
std::optional<Sketch> window_sketch(const ComputeDag&, const Target&);

/// An axis of the result along which a patch is cut: its number, and the step and taps of the window along it.
struct PatchAxis {
  std::size_t axis = 0;
  std::int64_t extent = 1, step = 1, taps = 1;
  /// Elements of the input that `outputs` elements of the result read.
  std::int64_t reads(std::int64_t outputs) const { return (outputs - 1) * step + taps; }
};

struct GpuWindow {
  OpId sum;
  std::optional<OpId> output;  ///< computed of it element by element
  std::optional<OpId> staged;  ///< the padded input
  std::optional<PatchAxis> rows, columns;
  std::size_t channels = 0;  ///< the last axis
  std::int64_t taps = 1;
  bool weighted = false;
  OpId target() const { return output.value_or(sum); }
};
/// Nothing where the sum has another form.
std::optional<GpuWindow> window_of(const ComputeDag&, OpId sum, std::optional<OpId> output);
/// rows, columns, vector, threads, min_blocks.
std::vector<Decision> window_decisions(const GpuWindow&, std::int64_t channels);
std::vector<Constraint> window_constraints(const GpuWindow&, const GpuLimits&);
/// The choices among which a default is chosen.
std::vector<Choices> window_starts(const std::vector<Decision>&);
/// Writes the schedule, after all other ops are inlined.
void build_window(Scheduler&, const GpuWindow&, const Choices&);

}  // namespace whet
