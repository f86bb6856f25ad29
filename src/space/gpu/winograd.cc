#include "space/gpu/winograd.h"

#include <algorithm>
#include <map>

#include "compute/round.h"
#include "space/anatomy.h"
#include "space/gpu/levels.h"
#include "space/gpu/preferred.h"
#include "space/gpu/product_choices.h"

namespace whet {
namespace {

constexpr std::int64_t kTransformThreads = 128;

/// The convolution by tiles of `m` by `m` outputs.
struct GpuWinograd {
  std::int64_t m = 2;
  WinogradOps ops;  ///< as the step `winograd` numbers them
  OpId output;      ///< the task's, likewise
  ProductForm form;
};

std::optional<GpuWinograd> make_variant(const ComputeDag& dag, const Anatomy& anatomy, std::int64_t m) {
  Scheduler s(dag);
  GpuWinograd v{.m = m, .ops = s.winograd(anatomy.anchor, m)};
  if (!s.finish().ok()) return std::nullopt;
  const auto now = [&](OpId op) {
    return op < anatomy.anchor ? op : OpId(op.value + v.ops.conv.value - anatomy.anchor.value);
  };
  v.output = now(anatomy.output.value_or(anatomy.anchor));
  if (s.tree().dag.op(v.output).shape != s.tree().dag.op(v.ops.conv).shape) return std::nullopt;
  Anatomy product{.before = anatomy.before, .anchor = v.ops.products};
  for (OpId op : anatomy.after) product.after.push_back(now(op));
  if (anatomy.output) product.after.insert(product.after.begin(), v.ops.conv);
  std::optional<ProductForm> form = product_form(std::move(s), product);
  if (!form) return std::nullopt;
  v.form = std::move(*form);
  return v;
}

class GpuWinogradBuilder {
 public:
  GpuWinogradBuilder(Scheduler& s, const GpuWinograd& v, const Choices& choices)
      : s_(s), v_(v), tile_(tile_of(choices)), channels_(choices.at("channels")[0]) {}

  void run() {
    build_product(s_, v_.form, tile_);
    s_.pack(v_.ops.weights, v_.form.right);
    if (!s_.finish().ok()) return;
    launch_transform(s_, v_.ops.input, v_.ops.rows, {.m = v_.m, .channels = channels_});
    launch_transform(s_, behind(v_.output), behind(v_.ops.partial),
                     {.m = v_.m, .channels = channels_, .of_results = true});
  }

 private:
  /// An op behind the products now.
  OpId behind(OpId op) const { return OpId(op.value + v_.form.sum.value - v_.ops.products.value + (tile_.parts > 1)); }

  Scheduler& s_;
  const GpuWinograd& v_;
  const ProductTile tile_;
  const std::int64_t channels_;
};

/// A constraint that holds for tiles of one size.
Constraint of_variant(std::int64_t m, Constraint constraint) {
  constraint.over.emplace_back("tile");
  constraint.violated = [m, violated = std::move(constraint.violated)](const Choices& c) {
    return c.at("tile")[0] == m ? violated(c) : std::nullopt;
  };
  return constraint;
}

/// Channels that divide those of the input and of the result.
std::vector<std::int64_t> channels_of(const ProductForm& form) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t size : {1, 2, 4})
    if (form.depth % size == 0 && form.columns % size == 0) sizes.push_back(size);
  return sizes;
}

}  // namespace

void launch_transform(Scheduler& s, OpId op, OpId half, const TileTransform& t) {
  const std::vector<LoopId> loops = s.loops(op);
  std::vector<LoopId> outer, inside;
  if (t.of_results) {                       // n, oh, ow, oc
    const auto tiles = [&](LoopId along) {  // a picture may be smaller than a tile
      return s.split(along, std::min(t.m, extent_of(s.tree(), along)), Tail::guard);
    };
    const auto row = tiles(loops[1]), column = tiles(loops[2]);
    outer = {loops[0], row.outer, column.outer, loops[3]}, inside = {row.inner, column.inner};
  } else {  // x, y, n, th, tw, ic
    outer = {loops.begin() + 2, loops.end()}, inside = {loops[0], loops[1]};
  }
  const auto channels = s.split(outer.back(), t.channels, Tail::guard);
  outer.back() = channels.outer;
  inside.push_back(channels.inner);
  if (!s.finish().ok()) return;
  const LoopId threads = bind_levels(s, cut_levels(s, outer, kTransformThreads), inside);
  unroll_vectors(s, inside);
  unroll_vectors(s, s.compute_at(half, threads, StoredIn::registers));
}

std::optional<Sketch> gpu_winograd_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<Anatomy> anatomy = find_anatomy(dag);
  if (!anatomy || multiplies_halves(dag, DType::bf16)) return std::nullopt;
  const Result<WinogradDag> changed = winograd(dag, anatomy->anchor, 2);
  if (!changed.ok() || changed->dilation > 1) return std::nullopt;
  const auto variants = std::make_shared<std::map<std::int64_t, GpuWinograd>>();
  for (const std::int64_t m : {2, 4}) {
    std::optional<GpuWinograd> variant = make_variant(dag, *anatomy, m);
    if (!variant) return std::nullopt;
    variants->emplace(m, std::move(*variant));
  }
  const ProductForm& most = variants->at(2).form;  // it has the most tiles

  Sketch sketch;
  sketch.name = "winograd";
  sketch.decisions = {{"tile", "outputs of a tile along each axis: F(m x m, 3 x 3)", single({2, 4}), 0},
                      {"channels", "channels of a thread that transforms a tile", single(channels_of(most)), 0}};
  for (Decision& decision : product_decisions(most)) sketch.decisions.push_back(std::move(decision));
  std::vector<Choices> starts;
  for (const auto& [m, variant] : *variants) {
    for (Constraint& constraint : product_constraints(variant.form, target.gpu()))
      sketch.constraints.push_back(of_variant(m, std::move(constraint)));
    for (Choices& tile : product_tiles(variant.form, target.gpu().sms)) {
      tile["tile"] = {m}, tile["channels"] = {1};
      starts.push_back(std::move(tile));
    }
  }
  sketch.build = [variants](Scheduler& s, const Choices& c) {
    GpuWinogradBuilder(s, variants->at(c.at("tile")[0]), c).run();
  };
  sketch.preferred = preferred_choices(sketch, dag, target, starts, {"channels", "split", "depth", "stages", "pad"});
  if (sketch.preferred.empty()) return std::nullopt;
  return sketch;
}

}  // namespace whet
