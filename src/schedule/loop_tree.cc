#include "schedule/loop_tree.h"

#include <algorithm>
#include <functional>

#include "base/hash.h"
#include "compute/affine.h"

namespace whet {

namespace {

LoopId add_loop(LoopTree& tree, OpId op, DigitId digit, LoopId parent) {
  const LoopId id(static_cast<std::int64_t>(tree.loops.size()));
  tree.loops.push_back({.op = op, .digits = {digit}, .parent = parent});
  items_of(tree, parent).push_back({.loop = id});
  return id;
}

/// The DAG with the largest numbers that its sizes allow.
ComputeDag with_largest_numbers(ComputeDag dag) {
  if (!is_sized(dag)) return dag;
  const RangeOf ranges = size_ranges(dag.sizes);
  const auto grow = [&](std::int64_t& number, const Expr& size) {
    if (size.defined()) number = bounds(size, ranges).max.value_or(number);
  };
  for (std::size_t k = 0; k < dag.sizes.size(); ++k) dag.at[k] = dag.sizes[k].max;
  for (Op& op : dag.ops) {
    for (std::size_t d = 0; d < op.sizes.size(); ++d) grow(op.shape[d], op.sizes[d]);
    if (auto* placeholder = std::get_if<Placeholder>(&op.def)) {
      grow(placeholder->index_bound, placeholder->size);
      continue;
    }
    for (Axis& axis : op.element().axes) grow(axis.extent, axis.size);
    for (Axis& axis : op.element().reduce_axes) grow(axis.extent, axis.size);
  }
  return dag;
}

}  // namespace

LoopTree make_loop_tree(ComputeDag dag) {
  LoopTree tree;
  tree.dag = with_largest_numbers(std::move(dag));
  tree.places.resize(tree.dag.ops.size());
  for (std::size_t i = 0; i < tree.dag.ops.size(); ++i) {
    const OpId op(static_cast<std::int64_t>(i));
    if (tree.dag.op(op).is_placeholder()) {
      tree.places[i].kind = PlaceKind::placeholder;
      continue;
    }
    const Element& element = tree.dag.op(op).element();
    LoopId parent;
    for (std::size_t a = 0; a < element.axes.size() + element.reduce_axes.size(); ++a) {
      const AxisId axis(static_cast<std::int64_t>(a));
      const DigitId digit(static_cast<std::int64_t>(tree.digits.size()));
      const Axis& of = axis_of(element, axis);
      tree.digits.push_back({.op = op, .axis = axis, .extent = of.extent, .size = of.size});
      tree.places[i].axes.push_back(digit);
      tree.places[i].base.push_back(int_const(0));
      parent = add_loop(tree, op, digit, parent);
    }
    items_of(tree, parent).push_back({.leaf = op});
  }
  return tree;
}

std::int64_t extent_of(const LoopTree& tree, LoopId id) {
  std::int64_t extent = 1;
  for (DigitId digit : tree.loop(id).digits) extent *= tree.digit(digit).extent;
  return extent;
}

Expr iterations_of(const LoopTree& tree, LoopId id) {
  Expr iterations = int_const(1);
  const std::vector<DigitId>& digits = tree.loop(id).digits;
  for (std::size_t k = digits.size(); k-- > 0;) iterations = iterations * iterations_of(tree, digits[k]);
  return iterations;
}

Expr iterations_of(const LoopTree& tree, DigitId id) { return iterations_of(tree.digit(id)); }

Expr iterations_of(const Digit& digit) { return digit.size.defined() ? digit.size : int_const(digit.extent); }

Expr iterations_of(const Axis& axis) { return is_sized(axis) ? axis.size : int_const(axis.extent); }

bool is_sized(const LoopTree& tree, LoopId id) {
  const std::vector<DigitId>& digits = tree.loop(id).digits;
  return std::any_of(digits.begin(), digits.end(), [&](DigitId digit) { return tree.digit(digit).size.defined(); });
}

bool is_reduce(const LoopTree& tree, DigitId id) {
  const Digit& digit = tree.digit(id);
  return digit.axis.index() >= tree.dag.op(digit.op).element().axes.size();
}

bool is_reduce(const LoopTree& tree, LoopId id) { return is_reduce(tree, tree.loop(id).digits.front()); }

bool encloses(const LoopTree& tree, LoopId outer, LoopId inner) {
  for (LoopId at = inner; at.valid(); at = tree.loop(at).parent)
    if (at == outer) return true;
  return false;
}

bool has_loops(const LoopTree& tree, OpId op) {
  const PlaceKind kind = tree.place(op).kind;
  return kind == PlaceKind::root || kind == PlaceKind::at || kind == PlaceKind::reverse_at;
}

LoopId loop_of_leaf(const LoopTree& tree, OpId op) {
  for (std::size_t i = 0; i < tree.loops.size(); ++i)
    if (tree.loops[i].alive)
      for (const Item& item : tree.loops[i].children)
        if (item.leaf == op) return LoopId(static_cast<std::int64_t>(i));
  return LoopId();
}

std::vector<LoopId> own_loops(const LoopTree& tree, OpId op) {
  std::vector<LoopId> loops;
  for (LoopId at = loop_of_leaf(tree, op); at.valid() && tree.loop(at).op == op; at = tree.loop(at).parent)
    loops.push_back(at);
  std::reverse(loops.begin(), loops.end());
  return loops;
}

std::vector<LoopId> path_to(const LoopTree& tree, LoopId inner) {
  std::vector<LoopId> path;
  for (LoopId at = inner; at.valid(); at = tree.loop(at).parent) path.push_back(at);
  std::reverse(path.begin(), path.end());
  return path;
}

LoopId loop_of(const LoopTree& tree, DigitId digit) {
  for (std::size_t i = 0; i < tree.loops.size(); ++i) {
    const TreeLoop& loop = tree.loops[i];
    if (loop.alive && std::find(loop.digits.begin(), loop.digits.end(), digit) != loop.digits.end())
      return LoopId(static_cast<std::int64_t>(i));
  }
  return LoopId();
}

std::vector<Item>& items_of(LoopTree& tree, LoopId parent) {
  return parent.valid() ? tree.loop(parent).children : tree.roots;
}

bool is_rfactored(const LoopTree& tree, LoopId loop) {
  return std::any_of(tree.rfactors.begin(), tree.rfactors.end(), [&](const Rfactored& r) { return r.loop == loop; });
}

bool is_in_tile(const LoopTree& tree, LoopId loop) {
  return std::any_of(tree.tiles.begin(), tree.tiles.end(),
                     [&](const TensorTile& tile) { return encloses(tree, tile.loop, loop); });
}

bool has_warp_tiles(const LoopTree& tree, OpId op) {
  return std::any_of(tree.tiles.begin(), tree.tiles.end(), [&](const TensorTile& tile) {
    return is_warp_wide(tile.intrinsic) && tree.loop(tile.loop).op == op;
  });
}

bool feeds_warp_tiles(const LoopTree& tree, OpId op) {
  return tree.place(op).stored_in == StoredIn::block &&
         std::any_of(tree.tiles.begin(), tree.tiles.end(), [&](const TensorTile& tile) {
           const std::vector<OpId> inputs = inputs_of(tree.dag, tree.loop(tile.loop).op);
           return is_warp_wide(tile.intrinsic) && std::find(inputs.begin(), inputs.end(), op) != inputs.end();
         });
}

bool is_frozen(const LoopTree& tree, LoopId loop) {
  for (const Placement& place : tree.places)
    if ((place.kind == PlaceKind::at || place.kind == PlaceKind::reverse_at) && encloses(tree, loop, place.at))
      return true;
  for (const RegisterCache& cache : tree.caches)
    if (encloses(tree, loop, cache.loop)) return true;
  for (const PrefetchedRead& prefetched : tree.prefetches)
    if (prefetched.loop == loop) return true;
  if (is_in_tile(tree, loop)) return true;
  return is_rfactored(tree, loop);
}

std::uint64_t hash(const LoopTree& tree) { return hash_bytes(to_text(tree), hash_bytes(to_text(tree.dag))); }

}  // namespace whet
