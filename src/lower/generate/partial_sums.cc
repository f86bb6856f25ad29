#include "lower/generate/accesses.h"
#include "lower/generate/generator.h"
#include "schedule/annotate.h"

namespace whet {
namespace {

/// The partial results of one element: `count` lanes behind `prefix`.
struct Lanes {
  BufferId buffer;
  std::vector<Expr> prefix;
  std::int64_t count;

  Expr at(DType dtype, const Expr& lane) const {
    std::vector<Expr> index = prefix;
    index.push_back(lane);
    return load(dtype, SourceId(buffer.value), index);
  }
};

/// Loops bound to threads are inside of no vector.
Stmt without_vectors(const Stmt& s) {
  return rewrite(
      s,
      [](const Stmt& part) -> Stmt {
        const Loop* loop = std::get_if<Loop>(&part->kind);
        if (!loop || loop->kind != LoopKind::vectorized) return {};
        Loop out = *loop;
        out.kind = *as_int(loop->extent) <= kMaxUnroll ? LoopKind::unrolled : LoopKind::serial;
        out.body = without_vectors(loop->body);
        return make_stmt(std::move(out));
      },
      nullptr);
}

}  // namespace

/// A loop of its own over `extent` lanes from `min` on, of the kind that the reduction's loop over lanes has.
Stmt Generator::lane_loop(const Partial& partial, std::int64_t min, std::int64_t extent,
                          const std::function<Stmt(const Expr&)>& body) {
  const LoopKind kind = tree_.loop(loop_of(tree_, partial.lane)).kind;
  const VarId lane = storage_.lowered.program.fresh_var();
  const std::string name = name_of(tree_, partial.lane);
  return make_stmt(Loop{lane, name, int_const(min), int_const(extent), kind, body(var(lane, name))});
}

std::vector<Expr> Generator::partial_index(OpId op, const Partial& partial, const Values& values,
                                           const Expr& lane) const {
  std::vector<Expr> index = at_values(place_in(tree_, partial.stored, own_index(tree_, op)), values);
  index.push_back(lane);
  return index;
}

Stmt Generator::clear_partials(OpId op, const Partial& partial) {
  const Stmt cleared = mirrored(spatial_loops_inside(tree_, op, partial.outermost), [&](const Values& values) {
    const auto clear = [&](const Expr& lane) {
      return make_stmt(Store{partial.stored.buffer, partial_index(op, partial, values, lane), identity(op), Expr()});
    };
    return guarded(spatial_guards(op, values), lane_loop(partial, 0, tree_.digit(partial.lane).extent, clear));
  });
  return partial.total.valid() ? without_vectors(cleared) : cleared;
}

Stmt Generator::combine_partials(OpId op, const Partial& partial) {
  const bool threads = partial.total.valid();
  const Stmt combined = mirrored(spatial_loops_inside(tree_, op, partial.outermost), [&](const Values& values) {
    std::vector<Stmt> steps = threads ? combine_threads(op, partial, values) : combine_lanes(op, partial, values);
    return guarded(spatial_guards(op, values), block(std::move(steps)));
  });
  return threads ? without_vectors(combined) : combined;
}

/// A loop bound to threads in which all of them add to one value: a sum across threads (lower/gpu/thread_sums.h).
std::vector<Stmt> Generator::combine_threads(OpId op, const Partial& partial, const Values& values) {
  const DType dtype = tree_.dag.op(op).dtype;
  const std::vector<Expr> index = at_values(place_in(tree_, partial.stored, own_index(tree_, op)), values);
  const Lanes lanes{partial.stored.buffer, index, tree_.digit(partial.lane).extent};
  const Expr total = load(dtype, SourceId(partial.total.value), {});
  const auto add = [&](const Expr& lane) {
    const Expr sum = combine(*tree_.dag.op(op).element().reducer, total, lanes.at(dtype, lane));
    return make_stmt(Store{partial.total, {}, sum, Expr()});
  };
  return {make_stmt(Store{partial.total, {}, identity(op), Expr()}), lane_loop(partial, 0, lanes.count, add),
          stored_result(op, total, values)};
}

Stmt Generator::stored_result(OpId op, const Expr& value, const Values& values) const {
  const Stored& target = storage_.of(op);
  return make_stmt(
      Store{target.buffer, at_values(place_in(tree_, target, own_index(tree_, op)), values), value, Expr()});
}

/// The partial results of an element as a tree: the upper half of the lanes onto the lower half until one is left.
std::vector<Stmt> Generator::combine_lanes(OpId op, const Partial& partial, const Values& values) {
  const Reducer reducer = *tree_.dag.op(op).element().reducer;
  const DType dtype = tree_.dag.op(op).dtype;
  const std::vector<Expr> index = at_values(place_in(tree_, partial.stored, own_index(tree_, op)), values);
  Lanes lanes{partial.stored.buffer, index, tree_.digit(partial.lane).extent};
  std::vector<Stmt> steps;
  for (BufferId half : partial.halves) {
    const std::int64_t kept = storage_.lowered.program.buffer(half).extents.back();
    steps.push_back(lane_loop(partial, 0, lanes.count - kept, [&](const Expr& lane) {
      return make_stmt(
          Store{half, {lane}, combine(reducer, lanes.at(dtype, lane), lanes.at(dtype, lane + kept)), Expr()});
    }));
    if (2 * kept > lanes.count)
      steps.push_back(lane_loop(partial, lanes.count - kept, 2 * kept - lanes.count, [&](const Expr& lane) {
        return make_stmt(Store{half, {lane}, lanes.at(dtype, lane), Expr()});
      }));
    lanes = {half, {}, kept};
  }
  const Expr first = lanes.at(dtype, int_const(0));
  const Expr all = lanes.count == 1 ? first : combine(reducer, first, lanes.at(dtype, int_const(1)));
  steps.push_back(stored_result(op, all, values));
  return steps;
}

}  // namespace whet
