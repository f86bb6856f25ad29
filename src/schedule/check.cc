#include "schedule/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/pipeline.h"

namespace whet {
namespace {

bool holds(const LoopTree& tree, const Item& item, OpId op) {
  if (item.leaf.valid()) return item.leaf == op;
  return std::any_of(tree.loop(item.loop).children.begin(), tree.loop(item.loop).children.end(),
                     [&](const Item& child) { return holds(tree, child, op); });
}

}  // namespace

Error refuse(const LoopTree& tree, LoopId loop, std::string_view why) {
  return Error{fmt::format("loop {} (l{}) {}", name_of(tree, loop), loop.value, why)};
}

Error refuse(const LoopTree& tree, OpId op, std::string_view why) {
  return Error{fmt::format("op {} (o{}) {}", tree.dag.op(op).name, op.value, why)};
}

Status check_loop(const LoopTree& tree, LoopId loop) {
  if (!loop.valid() || loop.index() >= tree.loops.size() || !tree.loop(loop).alive)
    return Error{fmt::format("there is no loop l{}; the schedule has l0..l{} less those already split or fused",
                             loop.value, tree.loops.size() - 1)};
  return ok_status();
}

Status check_plain(const LoopTree& tree, LoopId loop) {
  WHET_RETURN_IF_ERROR(check_loop(tree, loop));
  if (tree.loop(loop).kind != LoopKind::serial)
    return refuse(tree, loop, "is already parallel, vectorized, unrolled or bound");
  if (is_in_tile(tree, loop)) return refuse(tree, loop, "belongs to the tile of an intrinsic");
  return ok_status();
}

Status check_any_order(const LoopTree& tree, LoopId loop) {
  if (stages_of(tree, loop) > 1 || is_rolled_through(tree, loop))
    return refuse(tree, loop, "moves a pipeline or a window, whose iterations follow one another");
  return ok_status();
}

bool runs_in_order(const LoopTree& tree, LoopId loop) {
  const LoopKind kind = tree.loop(loop).kind;
  return kind == LoopKind::serial || kind == LoopKind::unrolled;
}

Status check_changeable(const LoopTree& tree, LoopId loop) {
  WHET_RETURN_IF_ERROR(check_loop(tree, loop));
  if (tree.loop(loop).kind != LoopKind::serial)
    return refuse(tree, loop, "is already parallel, vectorized, unrolled or bound; annotate last");
  if (is_frozen(tree, loop))
    return refuse(tree, loop, "is frozen, because something is computed under it; attach last");
  return ok_status();
}

Status check_holds_ops(const LoopTree& tree, LoopId loop) {
  WHET_RETURN_IF_ERROR(check_loop(tree, loop));
  for (LoopId at : path_to(tree, loop))
    if (tree.loop(at).kind == LoopKind::vectorized)
      return refuse(tree, at, "is vectorized, so that each lane would need what is computed there for itself");
  if (is_in_tile(tree, loop)) return refuse(tree, loop, "belongs to the tile of an intrinsic");
  for (const Pipelined& pipelined : tree.pipelines)
    if (encloses(tree, pipelined.loop, loop))
      return refuse(tree, pipelined.loop, "is a pipeline, which moves what is computed there; place ops before");
  return ok_status();
}

Status check_op(const LoopTree& tree, OpId op) {
  if (!op.valid() || op.index() >= tree.dag.ops.size())
    return Error{fmt::format("there is no op o{}; the DAG has o0..o{}", op.value, tree.dag.ops.size() - 1)};
  if (tree.place(op).kind == PlaceKind::placeholder) return refuse(tree, op, "is an input, which computes nothing");
  if (tree.place(op).kind == PlaceKind::inlined) return refuse(tree, op, "is inlined and has no loops");
  if (tree.place(op).kind == PlaceKind::ahead) return refuse(tree, op, "is computed ahead of time and has no loops");
  return ok_status();
}

Status check_fixed(const LoopTree& tree, LoopId loop) {
  WHET_RETURN_IF_ERROR(check_loop(tree, loop));
  if (!is_sized(tree, loop)) return ok_status();
  return refuse(
      tree, loop,
      fmt::format("runs over {} when the model runs; split it first", sizes_in(tree, iterations_of(tree, loop))));
}

Status check_of_one_size(const LoopTree& tree, OpId op, std::string_view what) {
  if (!is_sized(tree.dag)) return ok_status();
  std::string sizes;
  for (const SizeRange& size : tree.dag.sizes)
    sizes += fmt::format("{}{} {}", sizes.empty() ? "" : ", ", size.name, to_text(size));
  return refuse(tree, op, fmt::format("has sizes ({}); {} of one size", sizes, what));
}

std::string sizes_in(const LoopTree& tree, const Expr& e) {
  std::vector<std::string> names, ranges;
  for (const std::size_t k : sizes_of(e))
    names.push_back(tree.dag.sizes[k].name), ranges.push_back(to_text(tree.dag.sizes[k]));
  return fmt::format("{}, which {} {}", fmt::join(names, " and "), names.size() == 1 ? "is" : "are",
                     fmt::join(ranges, " and "));
}

Status check_unscheduled(const LoopTree& tree, OpId op, std::string_view what) {
  if (hash(tree) == hash(make_loop_tree(tree.dag))) return ok_status();
  return refuse(tree, op, fmt::format("is scheduled already; {} before everything else", what));
}

std::vector<DigitId> leaves_of(const LoopTree& tree, DigitId root) {
  const Digit& digit = tree.digit(root);
  if (digit.leaf()) return {root};
  std::vector<DigitId> leaves = leaves_of(tree, digit.outer);
  for (DigitId inner : leaves_of(tree, digit.inner)) leaves.push_back(inner);
  return leaves;
}

Status check_overlaps(const LoopTree& tree, OpId op, const std::vector<LoopId>& order) {
  const auto starts = [&](LoopId loop) { return is_reduce(tree, loop) || is_cached_at(tree, loop); };
  const auto started = std::find_if(order.begin(), order.end(), starts);
  for (const Digit& digit : tree.digits) {
    if (digit.op != op || digit.leaf() || digit.divides() || digit.tail != Tail::overlap) continue;
    for (DigitId leaf : leaves_of(tree, digit.outer)) {
      const auto tiles = std::find(order.begin(), order.end(), loop_of(tree, leaf));
      if (tiles != order.end() && started < tiles) return refuse_overlap(tree, *tiles, *started);
    }
  }
  return ok_status();
}

bool is_rolled_through(const LoopTree& tree, LoopId loop) {
  return std::any_of(tree.places.begin(), tree.places.end(), [&](const Placement& place) {
    return place.rolled.valid() && encloses(tree, place.rolled, loop) && encloses(tree, loop, place.at);
  });
}

bool is_cached_at(const LoopTree& tree, LoopId loop) {
  return std::any_of(tree.caches.begin(), tree.caches.end(),
                     [&](const RegisterCache& cache) { return cache.loop == loop; });
}

Error refuse_overlap(const LoopTree& tree, LoopId tiles, LoopId started) {
  return refuse(tree, tiles,
                fmt::format("is inside {} {}, where overlapping tiles would be added up twice; use guard",
                            is_cached_at(tree, started) ? "the register cache of loop" : "the reduce loop",
                            name_of(tree, started)));
}

Status check_stored_at(const LoopTree& tree, OpId op, LoopId at) {
  for (const RegisterCache& cache : tree.caches)
    if (cache.op == op && cache.loop != at && encloses(tree, cache.loop, at))
      return refuse(tree, at,
                    fmt::format("is inside loop {}, at whose end {} is stored from its register cache",
                                name_of(tree, cache.loop), tree.dag.op(op).name));
  for (const Rfactored& factored : tree.rfactors)
    if (factored.op == op)
      for (LoopId loop : path_to(tree, at))
        if (tree.loop(loop).op == op && is_reduce(tree, loop))
          return refuse(tree, at,
                        fmt::format("is inside the reduce loop {}, after which the partial results of {} are combined",
                                    name_of(tree, loop), tree.dag.op(op).name));
  return ok_status();
}

Status check_stored(const LoopTree& tree, OpId op) {
  for (const Placement& place : tree.places)
    if (place.kind == PlaceKind::reverse_at && tree.loop(place.at).op == op)
      WHET_RETURN_IF_ERROR(check_stored_at(tree, op, place.at));
  return ok_status();
}

void replace_loop(LoopTree& tree, LoopId old, LoopId first, LoopId last) {
  for (Item& item : items_of(tree, tree.loop(old).parent))
    if (item.loop == old) item.loop = first;
  for (const Item& child : tree.loop(last).children)
    if (child.loop.valid()) tree.loop(child.loop).parent = last;
  tree.loop(old).alive = false;
}

void remove_nest(LoopTree& tree, OpId op) {
  const std::vector<LoopId> loops = own_loops(tree, op);
  LoopId parent = loops.empty() ? loop_of_leaf(tree, op) : tree.loop(loops.front()).parent;
  const Item nest = loops.empty() ? Item{.leaf = op} : Item{.loop = loops.front()};
  std::vector<Item>& items = items_of(tree, parent);
  items.erase(std::find(items.begin(), items.end(), nest));
  for (LoopId loop : loops) tree.loop(loop).alive = false;
}

void insert_nest(LoopTree& tree, OpId op, const std::vector<Axis>& axes, LoopId parent, std::size_t position) {
  Placement& place = tree.places[op.index()];
  place.axes.clear();
  Item item{.leaf = op};
  for (std::size_t a = axes.size(); a-- > 0;) {
    const std::int64_t digit = static_cast<std::int64_t>(tree.digits.size() + a),
                       loop = static_cast<std::int64_t>(tree.loops.size() + a);
    place.axes.insert(place.axes.begin(), DigitId(digit));
    item = Item{.loop = LoopId(loop)};
  }
  const std::size_t first_loop = tree.loops.size();
  for (std::size_t a = 0; a < axes.size(); ++a) {
    tree.digits.push_back(
        {.op = op, .axis = AxisId(static_cast<std::int64_t>(a)), .extent = axes[a].extent, .size = axes[a].size});
    const Item child =
        a + 1 < axes.size() ? Item{.loop = LoopId(static_cast<std::int64_t>(first_loop + a + 1))} : Item{.leaf = op};
    const LoopId above = a == 0 ? parent : LoopId(static_cast<std::int64_t>(first_loop + a - 1));
    tree.loops.push_back({.op = op, .digits = {place.axes[a]}, .parent = above, .children = {child}});
  }
  std::vector<Item>& items = items_of(tree, parent);
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(position), item);
}

std::vector<Axis> all_axes(const Element& element) {
  std::vector<Axis> axes = element.axes;
  axes.insert(axes.end(), element.reduce_axes.begin(), element.reduce_axes.end());
  return axes;
}

std::size_t position_of(const LoopTree& tree, LoopId parent, OpId op) {
  const std::vector<Item>& items = parent.valid() ? tree.loop(parent).children : tree.roots;
  return static_cast<std::size_t>(
      std::find_if(items.begin(), items.end(), [&](const Item& item) { return holds(tree, item, op); }) -
      items.begin());
}

}  // namespace whet
