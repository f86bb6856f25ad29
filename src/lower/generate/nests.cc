#include <algorithm>

#include "lower/generate/accesses.h"
#include "lower/generate/generator.h"
#include "schedule/check.h"

namespace whet {
namespace {

/// Elements of a row that are begun in one step where the op itself takes them one by one, and the row length from
/// which on that pays.
constexpr std::int64_t kFilledAtOnce = 64, kWorthFilling = 32;

Stmt of_kind(Loop loop, LoopKind kind) {
  loop.kind = kind;
  return make_stmt(std::move(loop));
}

}  // namespace

Stmt Generator::mirrored(const std::vector<LoopId>& loops, const LeafAt& leaf) {
  Values values;
  for (LoopId loop : loops)
    for (DigitId digit : tree_.loop(loop).digits)
      values[VarId(digit.value)] = var(storage_.lowered.program.fresh_var(), name_of(tree_, digit));
  Stmt body = leaf(values);
  for (std::size_t i = loops.size(); i-- > 0;) {
    body =
        loop_around(loops[i], body, [&](DigitId digit) { return std::get<Var>(values[VarId(digit.value)]->kind).id; });
    // An intrinsic's whole tile is begun and stored as vectors.
    if (i + 1 == loops.size() && is_in_tile(tree_, loops[i]))
      body = of_kind(std::get<Loop>(body->kind), LoopKind::vectorized);
  }
  return body;
}

Stmt Generator::loop_around(LoopId id, Stmt body, const std::function<VarId(DigitId)>& var_of) {
  const TreeLoop& loop = tree_.loop(id);
  const Expr extent = iterations_of(tree_, id);
  if (loop.digits.size() == 1)
    return make_stmt(Loop{var_of(loop.digits[0]), name_of(tree_, id), int_const(0), extent, loop.kind, body});
  const VarId fused = storage_.lowered.program.fresh_var();
  Expr inner = int_const(1);
  for (std::size_t i = loop.digits.size(); i-- > 0;) {
    const DigitId digit = loop.digits[i];
    Expr value = floordiv(var(fused, name_of(tree_, id)), inner);
    if (i > 0) value = floormod(value, iterations_of(tree_, digit));
    body = make_stmt(Let{var_of(digit), name_of(tree_, digit), value, body});
    inner = inner * iterations_of(tree_, digit);
  }
  return make_stmt(Loop{fused, name_of(tree_, id), int_const(0), extent, loop.kind, body});
}

std::vector<Expr> Generator::spatial_guards(OpId op, const Values& values) const {
  return at_values(guards(op, false), values);
}

Stmt Generator::element_store(OpId op, const Stored& target, const Expr& value, const Values& values) const {
  const std::vector<Expr> index = at_values(place_in(tree_, target, own_index(tree_, op)), values);
  const Stmt store = make_stmt(Store{target.buffer, index, value, Expr()});
  const bool whole =
      has_warp_tiles(tree_, op) && storage_.lowered.program.buffer(target.buffer).scope == Scope::registers;
  return whole ? store : guarded(spatial_guards(op, values), store);
}

Stmt Generator::tile_nest(OpId op, LoopId outer, const Stored& target,
                          const std::function<Expr(const Values&)>& value) {
  return mirrored(spatial_loops_inside(tree_, op, outer),
                  [&](const Values& values) { return element_store(op, target, value(values), values); });
}

Expr Generator::load_of(OpId op, const Stored& stored, const Values& values) const {
  const std::vector<Expr> index = place_in(tree_, stored, own_index(tree_, op));
  return at_values(load(tree_.dag.op(op).dtype, SourceId(stored.buffer.value), index), values);
}

Expr Generator::identity(OpId op) const {
  return identity_of(*tree_.dag.op(op).element().reducer, tree_.dag.op(op).dtype);
}

Stmt Generator::init_nest(OpId op, LoopId outermost_reduce) {
  const Stored& stored = storage_.of(op);
  std::vector<LoopId> loops = spatial_loops_inside(tree_, op, outermost_reduce);
  const auto fill = [&](const Values& values) { return element_store(op, stored, identity(op), values); };
  if (!follows_no_memory(loops, stored)) return mirrored(loops, fill);
  std::stable_sort(loops.begin(), loops.end(),
                   [&](LoopId a, LoopId b) { return place_in_memory(a) < place_in_memory(b); });
  const DigitId last = tree_.loop(loops.back()).digits.front();
  const DigitId along = tree_.place(op).axes[tree_.dag.op(op).shape.size() - 1];
  if (leaves_of(tree_, along).back() != last || tree_.digit(last).extent < kWorthFilling ||
      is_sized(tree_, loops.back()))
    return mirrored(loops, fill);
  loops.pop_back();
  return mirrored(loops, [&](const Values& values) { return filled(last, values, fill); });
}

/// The order of the op's loops has no vectors, so the order of memory suits better what every element begins with.
bool Generator::follows_no_memory(const std::vector<LoopId>& loops, const Stored& stored) const {
  const auto serial = [&](LoopId loop) {
    return tree_.loop(loop).kind == LoopKind::serial && tree_.loop(loop).digits.size() == 1;
  };
  return !loops.empty() && std::all_of(loops.begin(), loops.end(), serial) &&
         storage_.lowered.program.buffer(stored.buffer).scope != Scope::registers;
}

/// Axis and digit that the loop runs over, outermost in memory first.
std::pair<AxisId, std::size_t> Generator::place_in_memory(LoopId loop) const {
  const DigitId digit = tree_.loop(loop).digits.front();
  const Digit& known = tree_.digit(digit);
  const std::vector<DigitId> leaves = leaves_of(tree_, tree_.place(known.op).axes[known.axis.index()]);
  return {known.axis, static_cast<std::size_t>(std::find(leaves.begin(), leaves.end(), digit) - leaves.begin())};
}

/// `fill` for all values of `digit`, a few vectors at a time.
Stmt Generator::filled(DigitId digit, const Values& outer, const LeafAt& fill) {
  Program& program = storage_.lowered.program;
  const std::string name = name_of(tree_, digit);
  const auto vectors = [&](const Expr& from, std::int64_t lanes) {
    const VarId lane = program.fresh_var();
    Values values = outer;
    values[VarId(digit.value)] = from + var(lane, name);
    return make_stmt(Loop{lane, name, int_const(0), int_const(lanes), LoopKind::vectorized, fill(values)});
  };
  const std::int64_t extent = tree_.digit(digit).extent, steps = extent / kFilledAtOnce;
  std::vector<Stmt> parts;
  if (steps > 0) {
    const VarId step = program.fresh_var();
    parts.push_back(make_stmt(Loop{step, name, int_const(0), int_const(steps), LoopKind::serial,
                                   vectors(var(step, name) * kFilledAtOnce, kFilledAtOnce)}));
  }
  if (extent % kFilledAtOnce > 0) parts.push_back(vectors(int_const(steps * kFilledAtOnce), extent % kFilledAtOnce));
  return block(std::move(parts));
}

/// The identity in the first iteration of the reduce loops around the cache, the sums so far in the others.
Stmt Generator::cache_begin(OpId op, const Cached& cache) {
  const Stmt clear = tile_nest(op, cache.loop, cache.stored, [&](const Values&) { return identity(op); });
  Expr first = bool_const(true);
  for (DigitId digit : reduce_digits_around(tree_, op, cache.loop))
    first = first && (digit_var(tree_, digit) <= int_const(0));
  if (is_const(first, 1)) return clear;
  const Stmt fetch = tile_nest(op, cache.loop, cache.stored,
                               [&](const Values& values) { return load_of(op, storage_.of(op), values); });
  return make_stmt(If{first, clear, fetch});
}

Stmt Generator::cache_end(OpId op, const Cached& cache) {
  return tile_nest(op, cache.loop, storage_.of(op),
                   [&](const Values& values) { return load_of(op, cache.stored, values); });
}

}  // namespace whet
