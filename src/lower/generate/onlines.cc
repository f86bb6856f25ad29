// Sums that are computed online (schedule/online.h): what stands around a step of terms.

#include <algorithm>
#include <limits>

#include "lower/generate/accesses.h"
#include "lower/generate/generator.h"
#include "schedule/online.h"

namespace whet {

bool Generator::reads_beyond_rows(OpId op) const {
  const std::vector<OpId> inputs = inputs_of(tree_.dag, op);
  return std::any_of(inputs.begin(), inputs.end(), [&](OpId input) {
    const bool held = tree_.place(input).stored_in == StoredIn::registers && has_warp_tiles(tree_, input);
    return !held && !is_of_online_step(tree_, input);
  });
}

Expr Generator::scale_at(const OnlineSum& online, const std::vector<Expr>& row, const Values& values) const {
  const std::vector<Expr> index = at_values(place_in(tree_, storage_.of(online.top), row), values);
  return load(DType::f32, SourceId(storage_.scales.at(online.mix).value), index);
}

Stmt Generator::begin_online(const OnlineSum& online) {
  std::vector<Stmt> begun;
  for (OpId op : {online.top, online.sum})
    begun.push_back(tile_nest(op, online.loop, storage_.of(op), [&](const Values&) { return identity(op); }));
  return block(std::move(begun));
}

Stmt Generator::end_step(const OnlineSum& online, OpId op, const Stored& of_step) {
  const Stored& so_far = storage_.of(op);
  if (op == online.sum)
    return tile_nest(op, online.loop, so_far, [&](const Values& values) {
      return load_of(op, so_far, values) * scale_at(online, own_index(tree_, op), values) +
             load_of(op, of_step, values);
    });
  const auto larger = [&](const Values& values) {
    return max(load_of(op, so_far, values), load_of(op, of_step, values));
  };
  const Stmt scale = mirrored(spatial_loops_inside(tree_, op, online.loop), [&](const Values& values) {
    const Expr finite = max(larger(values), float_const(std::numeric_limits<float>::lowest()));
    const Expr factor = call(MathFn::exp, {load_of(op, so_far, values) - finite});
    return make_stmt(Store{storage_.scales.at(online.mix),
                           at_values(place_in(tree_, so_far, own_index(tree_, op)), values), factor, Expr()});
  });
  const Stmt top = tile_nest(op, online.loop, so_far, larger);
  const Stored& mix = target_of(online.mix);
  const std::vector<Expr> element = own_index(tree_, online.mix);
  std::vector<Expr> row;
  for (std::int64_t k : online.row) row.push_back(element[static_cast<std::size_t>(k)]);
  const Stmt scaled = tile_nest(online.mix, online.loop, mix, [&](const Values& values) {
    return load_of(online.mix, mix, values) * scale_at(online, row, values);
  });
  return block({scale, top, scaled});
}

}  // namespace whet
