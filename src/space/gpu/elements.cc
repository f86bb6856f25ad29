#include "space/gpu/elements.h"

#include <algorithm>

#include "space/gpu/levels.h"
#include "space/gpu/limits.h"
#include "space/gpu/preferred.h"
#include "space/gpu/safe.h"
#include "space/gpu/turned.h"

namespace whet {
namespace {

ElementShares shares_of(const Choices& c) { return {c.at("vector")[0], c.at("each")[0], c.at("threads")[0]}; }

void build(Scheduler& s, const ElementShares& shares) {
  inline_for_gpu(s);
  const auto count = static_cast<std::int64_t>(s.tree().dag.ops.size());
  for (std::int64_t k = 0; k < count; ++k)
    if (has_loops(s.tree(), OpId(k))) launch_elements(s, OpId(k), shares);
}

/// A turned tile has 256 threads with an element at once, whatever the other decisions say.
Choices turned_choices() { return {{"vector", {1}}, {"each", {1}}, {"threads", {256}}, {"across", {kTurnedTile}}}; }
Objection plain_where_turned(const Choices& c) {
  if (c.at("across")[0] == 0) return std::nullopt;
  for (const auto& [name, choice] : turned_choices())
    if (c.at(name) != choice) return "a turned tile has 256 threads, and one element at once";
  return std::nullopt;
}

}  // namespace

void launch_elements(Scheduler& s, OpId op, const ElementShares& shares) {
  std::vector<LoopId> loops = spatial_loops(s, op);
  if (loops.empty()) return;
  LoopId vector, each;
  if (const std::int64_t along = extent_of(s.tree(), loops.back()); shares.vector > 1 && along % shares.vector == 0) {
    const auto [outer, inner] = s.split(loops.back(), shares.vector, Tail::guard);
    loops.back() = outer, vector = inner;
  }
  LaunchLevels levels = cut_levels(s, loops, shares.threads);
  if (const std::int64_t many = extent_of(s.tree(), levels.blocks.back()); shares.each > 1 && many >= shares.each) {
    const auto [outer, inner] = s.split(levels.blocks.back(), shares.each, Tail::guard);
    levels.blocks.back() = outer, each = inner;
  }
  std::vector<LoopId> inside;
  if (each.valid()) inside.push_back(each);
  if (vector.valid()) inside.push_back(vector);
  bind_levels(s, levels, inside);
  if (each.valid()) s.annotate(each, LoopKind::unrolled);
  if (vector.valid()) s.annotate(vector, LoopKind::vectorized);
}

std::optional<Sketch> elements_sketch(const ComputeDag& dag, const Target& target) {
  for (const Op& op : dag.ops)
    if (!op.is_placeholder() && op.element().reducer) return std::nullopt;
  Sketch sketch;
  sketch.name = "elements";
  sketch.decisions = {
      {"vector", "elements that a thread reads and writes at once", single({1, 2, 4}), 0},
      {"each", "vectors of a thread", single({1, 2, 4, 8}), 0},
      {"threads", "threads of a block", single({64, 128, 256, 512}), 0},
  };
  const std::optional<TurnedRead> turned = find_turned_read(dag);
  sketch.decisions.push_back({"across", "elements of a tile that is turned in block memory; 0: none",
                              single(turned ? std::vector<std::int64_t>{0, kTurnedTile} : std::vector<std::int64_t>{0}),
                              0});
  if (turned) sketch.constraints = {{{"vector", "each", "threads", "across"}, plain_where_turned}};
  sketch.build = [turned](Scheduler& s, const Choices& choices) {
    choices.at("across")[0] > 0 ? build_turned(s, *turned) : build(s, shares_of(choices));
  };
  std::vector<Choices> starts = {{{"vector", {4}}, {"each", {1}}, {"threads", {256}}, {"across", {0}}}};
  if (turned) starts.push_back(turned_choices());
  sketch.preferred = preferred_choices(sketch, dag, target, starts, {"vector", "threads", "each"});
  if (sketch.preferred.empty()) return std::nullopt;
  return sketch;
}

}  // namespace whet
