#include "schedule/regions.h"

#include <algorithm>

namespace whet {
namespace {

/// The digits whose loops are inside `at`, and for memory of a block those of its threads.
std::vector<bool> relaxed_digits(const LoopTree& tree, LoopId at, StoredIn stored_in = StoredIn::memory) {
  std::vector<bool> relaxed(tree.digits.size(), !at.valid());
  if (!at.valid()) return relaxed;
  for (std::size_t i = 0; i < tree.loops.size(); ++i) {
    const LoopId loop(static_cast<std::int64_t>(i));
    if (!tree.loop(loop).alive || loop == at || !encloses(tree, at, loop)) continue;
    for (DigitId digit : tree.loop(loop).digits) relaxed[digit.index()] = true;
  }
  if (stored_in != StoredIn::block) return relaxed;
  for (LoopId loop : path_to(tree, at))
    if (is_of_threads(tree.loop(loop).kind))
      for (DigitId digit : tree.loop(loop).digits) relaxed[digit.index()] = true;
  return relaxed;
}

struct SpanFinder {
  const LoopTree& tree;
  const std::vector<bool> relaxed;

  bool fixed(const Expr& e) const {
    bool still = true;
    for_each(e, [&](const Expr& part) {
      if (std::holds_alternative<Load>(part->kind)) still = false;  // an index that is data has no box
      const Var* v = std::get_if<Var>(&part->kind);
      if (v && v->id.valid()) still = still && !relaxed[v->id.index()];  // a size is fixed
    });
    return still;
  }

  std::optional<Span> find(const Expr& e) const {
    if (fixed(e)) return Span{e, 1};
    const Affine affine = to_affine(e);
    Expr base = int_const(affine.constant);
    std::int64_t extent = 1;
    for (const auto& [atom, factor] : affine.terms) {
      std::optional<Span> span = find_atom(atom);
      if (!span) return std::nullopt;
      base = base + (factor >= 0 ? span->base : span->base + (span->extent - 1)) * factor;
      extent += (span->extent - 1) * std::abs(factor);
    }
    return Span{base, extent};
  }

  std::optional<Span> find_atom(const Expr& atom) const {
    if (fixed(atom)) return Span{atom, 1};
    if (const Var* v = std::get_if<Var>(&atom->kind)) return Span{int_const(0), tree.digits[v->id.index()].extent};
    const Binary* binary = std::get_if<Binary>(&atom->kind);
    const std::int64_t* right = binary ? as_int(binary->b) : nullptr;
    if (!right) return std::nullopt;
    std::optional<Span> left = find(binary->a);
    if (!left) return std::nullopt;
    const std::int64_t* base = as_int(left->base);
    switch (binary->op) {
      case BinaryOp::min:
        if (base)
          return Span{int_const(std::min(*base, *right)),
                      std::min(*base + left->extent - 1, *right) - std::min(*base, *right) + 1};
        return Span{min(left->base, binary->b), left->extent};
      case BinaryOp::max:
        if (base)
          return Span{int_const(std::max(*base, *right)),
                      std::max(*base + left->extent - 1, *right) - std::max(*base, *right) + 1};
        return Span{max(left->base, binary->b), left->extent};
      case BinaryOp::floordiv:
        return Span{floordiv(left->base, *right),
                    (left->extent - 1 + (base && *base % *right == 0 ? 0 : *right - 1)) / *right + 1};
      case BinaryOp::floormod:
        if (base && *base % *right == 0 && left->extent <= *right) return Span{int_const(0), left->extent};
        return Span{int_const(0), *right};
      default:
        return std::nullopt;
    }
  }
};

/// All of dimension `k` of what `op` computes.
Span whole_axis(const Op& op, std::size_t k) {
  return {int_const(0), op.shape[k], op.sizes.empty() ? Expr() : op.sizes[k]};
}

/// A span that starts at a known place ends at the axis' end at the latest; a span as long as the axis is the axis.
Span clipped(Span span, const Span& axis) {
  if (const std::int64_t* base = as_int(span.base)) {
    const std::int64_t begin = std::max<std::int64_t>(*base, 0), end = std::min(*base + span.extent, axis.extent);
    if (end > begin) span = Span{int_const(begin), end - begin};
  }
  return span.extent >= axis.extent ? axis : span;
}

/// The smallest box around two spans, where their distance is a constant.
std::optional<Span> united(const LoopTree& tree, const Span& a, const Span& b) {
  const Expr distance = simplify(b.base - a.base, [&](VarId v) { return digit_range(tree, v); });
  const std::int64_t* d = as_int(distance);
  if (!d) return std::nullopt;
  const std::int64_t low = std::min<std::int64_t>(0, *d);
  return Span{*d < 0 ? b.base : a.base, std::max(a.extent, *d + b.extent) - low};
}

/// The span is the one tile that an axis has at all sizes, and not the axis, which ends before the tile does at some.
bool is_the_tile(const LoopTree& tree, const Span& span) {
  bool found = false;
  for_each(span.base, [&](const Expr& part) {
    const Var* v = std::get_if<Var>(&part->kind);
    found = found || (v && v->id.valid() && tree.digits[v->id.index()].counts_tiles);
  });
  return found;
}

bool leaf_inside(const LoopTree& tree, OpId op, LoopId at) {
  const LoopId loop = loop_of_leaf(tree, op);
  return !at.valid() || (loop.valid() && encloses(tree, at, loop));
}

}  // namespace

Expr digit_var(const LoopTree& tree, DigitId id) {
  const Digit& digit = tree.digit(id);
  return digit.extent == 1 && !digit.counts_tiles ? int_const(0) : var(VarId(id.value), name_of(tree, id));
}

Interval digit_range(const LoopTree& tree, VarId id) {
  if (id.valid()) return {0, tree.digits[id.index()].extent - 1};
  const SizeRange& size = tree.dag.sizes[size_number(id)];
  return {size.min, size.max};
}

Expr digit_value(const LoopTree& tree, DigitId id) {
  const Digit& digit = tree.digit(id);
  if (digit.leaf()) return digit_var(tree, id);
  Expr start = digit_value(tree, digit.outer) * digit.factor;
  if (digit.tail == Tail::overlap && !digit.divides()) start = min(start, iterations_of(tree, id) - digit.factor);
  return start + digit_value(tree, digit.inner);
}

Expr axis_value(const LoopTree& tree, OpId op, AxisId axis) {
  const Placement& place = tree.place(op);
  return place.base[axis.index()] + digit_value(tree, place.axes[axis.index()]);
}

std::optional<Span> span_of(const LoopTree& tree, const Expr& index, LoopId at) {
  return SpanFinder{tree, relaxed_digits(tree, at)}.find(index);
}

Region computed_region(const LoopTree& tree, OpId op, LoopId at) {
  const SpanFinder finder{tree, relaxed_digits(tree, at)};
  Region region;
  const Element& element = tree.dag.op(op).element();
  const bool whole_tiles = has_warp_tiles(tree, op) || feeds_warp_tiles(tree, op);
  for (std::size_t k = 0; k < element.axes.size(); ++k) {
    const Span axis = whole_axis(tree.dag.op(op), k);
    const std::optional<Span> span = finder.find(axis_value(tree, op, AxisId(static_cast<std::int64_t>(k))));
    const bool as_it_is = span && (whole_tiles || (span->extent == axis.extent && is_the_tile(tree, *span)));
    region.push_back(!span ? axis : as_it_is ? *span : clipped(*span, axis));
  }
  return region;
}

Region required_region(const LoopTree& tree, OpId producer, LoopId at, StoredIn stored_in) {
  const SpanFinder finder{tree, relaxed_digits(tree, at, stored_in)};
  const Shape& shape = tree.dag.op(producer).shape;
  std::vector<std::optional<Span>> region(shape.size());
  std::vector<bool> whole(shape.size(), false);
  bool whole_tiles = false;
  // A transform reads dozens of elements by the same few indices: each index is looked at once.
  std::vector<std::vector<Expr>> seen(shape.size());
  const auto add = [&](std::size_t k, const Expr& index) {
    std::optional<Span> span = finder.find(simplify(index, [&](VarId v) { return digit_range(tree, v); }));
    if (span && region[k]) span = united(tree, *region[k], *span);
    if (span)
      region[k] = span;
    else
      whole[k] = true;
  };
  for (std::size_t i = 0; i < tree.dag.ops.size(); ++i) {
    const OpId consumer(static_cast<std::int64_t>(i));
    if (!has_loops(tree, consumer) || !leaf_inside(tree, consumer, at)) continue;
    std::vector<Expr> axes;
    for (std::size_t k = 0; k < tree.place(consumer).axes.size(); ++k)
      axes.push_back(axis_value(tree, consumer, AxisId(static_cast<std::int64_t>(k))));
    for (std::vector<Expr>& indices : seen) indices.clear();
    for_each(tree.dag.op(consumer).element().body, [&](const Expr& part) {
      const Load* read = std::get_if<Load>(&part->kind);
      if (!read || read->source.value != producer.value) return;
      whole_tiles = whole_tiles || (stored_in == StoredIn::block && has_warp_tiles(tree, consumer));
      for (std::size_t k = 0; k < shape.size(); ++k) {
        const auto is_same = [&](const Expr& other) { return same(other, read->index[k]); };
        if (std::any_of(seen[k].begin(), seen[k].end(), is_same)) continue;
        seen[k].push_back(read->index[k]);
        add(k, substitute(read->index[k], [&](VarId v) { return v.valid() ? axes[v.index()] : Expr(); }));
      }
    });
  }
  Region result;
  for (std::size_t k = 0; k < shape.size(); ++k)
    result.push_back(!region[k] || whole[k] ? whole_axis(tree.dag.op(producer), k)
                     : whole_tiles          ? *region[k]
                                            : clipped(*region[k], whole_axis(tree.dag.op(producer), k)));
  return result;
}

LoopId storage_loop(const LoopTree& tree, OpId op) {
  if (std::find(tree.dag.outputs.begin(), tree.dag.outputs.end(), op) != tree.dag.outputs.end()) return LoopId();
  if (tree.place(op).rolled.valid()) return tree.loop(tree.place(op).rolled).parent;
  LoopId at = loop_of_leaf(tree, op);
  auto all_consumers_inside = [&](LoopId loop) {
    for (OpId consumer : consumers_of(tree.dag, op))
      if (has_loops(tree, consumer) && !leaf_inside(tree, consumer, loop)) return false;
    return true;
  };
  while (at.valid() && !all_consumers_inside(at)) at = tree.loop(at).parent;
  LoopId outside = at;  // outside of every reduce loop of `op` around it
  for (LoopId loop = at; loop.valid(); loop = tree.loop(loop).parent)
    if (tree.loop(loop).op == op && is_reduce(tree, loop)) outside = tree.loop(loop).parent;
  return outside;
}

}  // namespace whet
