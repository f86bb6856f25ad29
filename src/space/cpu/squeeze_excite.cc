#include "space/cpu/squeeze_excite.h"

#include <algorithm>
#include <array>
#include <string>

#include "space/anatomy.h"
#include "space/cpu/element_nest.h"

namespace whet {
namespace {

/// One reduction, and the last of the elementwise ops behind it.
struct Phase {
  OpId sum, end;
  std::vector<OpId> inlined;  ///< between the two
  std::int64_t channels = 1;
};

using Phases = std::array<Phase, 3>;
constexpr std::array<const char*, 3> kNames = {"mean", "squeeze", "excite"};

/// A chain of three reductions, the later ones products with constants; nothing for other DAGs.
std::optional<Phases> find_phases(const ComputeDag& dag) {
  if (dag.outputs.size() != 1) return std::nullopt;
  Phases phases;
  std::size_t count = 0;
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    const OpId op(static_cast<std::int64_t>(i));
    if (dag.op(op).is_placeholder()) continue;
    const Element& element = dag.op(op).element();
    if (element.reducer) {
      const bool product = element.family == OpFamily::conv || element.family == OpFamily::matmul;
      if (count == 3 || element.reducer != Reducer::sum || product != (count > 0) || dag.op(op).dtype != DType::f32)
        return std::nullopt;
      phases[count].channels = num_elements(dag.op(op).shape);
      const Shape& shape = dag.op(op).shape;
      if (shape.empty() || shape[last_axis(element.axes)] != phases[count].channels) return std::nullopt;
      phases[count++] = {op, op, {}, phases[count].channels};
    } else if (count == 0) {
      return std::nullopt;
    } else {
      Phase& phase = phases[count - 1];
      if (phase.end != phase.sum) phase.inlined.push_back(phase.end);
      phase.end = op;
    }
  }
  if (count != 3 || phases[2].end != dag.outputs.front()) return std::nullopt;
  return phases;
}

/// A nest of its own, by tiles of `width` channels.
void schedule(Scheduler& s, const Phase& phase, std::int64_t width) {
  for (std::size_t i = phase.inlined.size(); i-- > 0;) s.inline_op(phase.inlined[i]);
  const std::vector<Axis>& axes = s.tree().dag.op(phase.sum).element().axes;
  const std::size_t last = last_axis(axes), spatial = axes.size();
  const std::vector<LoopId> loops = s.loops(phase.sum);
  const Scheduler::Pair tile = s.split(loops[last], width, Tail::overlap);
  std::vector<LoopId> order = {tile.outer};
  order.insert(order.end(), loops.begin() + static_cast<std::ptrdiff_t>(spatial), loops.end());
  for (std::size_t k = 0; k < spatial; ++k)
    if (k != last) order.push_back(loops[k]);
  order.push_back(tile.inner);
  s.reorder(order);
  s.annotate(tile.inner, LoopKind::vectorized);
  for (OpId input : inputs_of(s.tree().dag, phase.sum))
    if (s.tree().dag.op(input).is_placeholder() && is_constant(s.tree().dag, input)) s.pack(input, phase.sum);
  if (phase.end == phase.sum) {
    s.cache_write(phase.sum, tile.outer);
  } else {
    const std::vector<LoopId> end = s.reverse_compute_at(phase.end, tile.outer, true);
    const std::size_t along = last_axis(s.tree().dag.op(phase.end).element().axes);
    if (along < end.size()) s.annotate(end[along], LoopKind::vectorized);
  }
  s.annotate(tile.outer, LoopKind::parallel);
}

/// Tiles: whole vectors, at most eight; or all of a few channels.
std::vector<std::int64_t> widths(std::int64_t channels, std::int64_t lanes) {
  std::vector<std::int64_t> options;
  for (std::int64_t vectors = 1; vectors <= 8 && vectors * lanes <= channels; ++vectors)
    options.push_back(vectors * lanes);
  if (options.empty()) options.push_back(channels);
  return options;
}

/// What keeps the busiest worker shortest.
std::int64_t best_width(const std::vector<std::int64_t>& options, std::int64_t channels, int threads) {
  const auto time = [&](std::int64_t width) {
    const std::int64_t tiles = (channels + width - 1) / width;
    return (tiles + threads - 1) / threads * width;
  };
  std::int64_t best = options.front();
  for (std::int64_t width : options)
    if (time(width) <= time(best)) best = width;
  return best;
}

/// Narrow rows of a picture are read faster whole by one worker than in pieces by several.
constexpr std::int64_t kNarrow = 6;  // vectors

}  // namespace

std::optional<Sketch> squeeze_excite_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<Phases> phases = find_phases(dag);
  if (!phases) return std::nullopt;
  Sketch sketch;
  sketch.name = "squeeze";
  for (std::size_t k = 0; k < phases->size(); ++k) {
    const std::int64_t channels = (*phases)[k].channels;
    const std::vector<std::int64_t> options = widths(channels, target.cpu().lanes(4));
    sketch.decisions.push_back({kNames[k],
                                std::string("channels in a tile of the ") + (k == 0   ? "mean"
                                                                             : k == 1 ? "first product"
                                                                                      : "second"),
                                single(options), channels});
    const bool whole = k == 0 && channels <= kNarrow * target.cpu().lanes(4);
    sketch.preferred[kNames[k]] = {whole ? options.back() : best_width(options, channels, target.threads)};
  }
  sketch.build = [phases = *phases](Scheduler& s, const Choices& choices) {
    for (std::size_t k = 0; k < phases.size(); ++k) schedule(s, phases[k], choices.at(kNames[k]).front());
  };
  Scheduler trial(dag);
  sketch.build(trial, sketch.preferred);
  if (!trial.finish().ok()) return std::nullopt;
  return sketch;
}

}  // namespace whet
