#include "lower/generate/generator.h"

#include <algorithm>

#include "lower/cases.h"
#include "lower/generate/accesses.h"
#include "lower/generate/prefetches.h"
#include "lower/rename.h"
#include "schedule/online.h"

namespace whet {
namespace {

/// Nests appear more than once.
bool repeats_nests(const LoopTree& tree) {
  return !tree.pipelines.empty() || std::any_of(tree.places.begin(), tree.places.end(),
                                                [](const Placement& place) { return place.rolled.valid(); });
}

/// `value` where all conditions hold, else zero: one choice, as a copy can make it.
Expr zero_outside(const Expr& value, const std::vector<Expr>& conditions) {
  if (conditions.empty()) return value;
  Expr inside = conditions.front();
  for (std::size_t k = 1; k < conditions.size(); ++k) inside = inside && conditions[k];
  const Expr zero = is_float(value->dtype) ? float_const(0, value->dtype) : int_const(0, value->dtype);
  const Select* chosen = std::get_if<Select>(&value->kind);
  if (chosen && same(chosen->if_false, zero)) return select(inside && chosen->condition, chosen->if_true, zero);
  return select(inside, value, zero);
}

}  // namespace

Lowered Generator::run() {
  Program& program = storage_.lowered.program;
  program.body = phases();
  if (repeats_nests(tree_)) program = rename_apart(std::move(program));
  return std::move(storage_.lowered);
}

Stmt Generator::phases() {
  std::vector<Stmt> phases;
  bool alone = true;  // worker 0 has run everything so far, and waits for nobody
  for (const Item& root : tree_.roots) {
    const bool shared = root.loop.valid() && tree_.loop(root.loop).kind == LoopKind::parallel;
    if (!phases.empty() && (shared || !alone)) phases.push_back(make_stmt(Barrier{}));
    append_item(root, phases);
    alone = !shared;
  }
  return block(std::move(phases));
}

void Generator::append_item(const Item& item, std::vector<Stmt>& out) {
  is_windowed(item) ? append_window(item, out) : append_whole(item, out);
}

void Generator::append_whole(const Item& item, std::vector<Stmt>& out) {
  const OpId op = op_of(tree_, item);
  const LoopId parent = item.loop.valid() ? tree_.loop(item.loop).parent : loop_of_leaf(tree_, op);
  std::vector<Stmt> made;
  const bool reduction = item.loop.valid() && is_outermost_reduce(tree_, item.loop) && !storage_.caches.count(op);
  const auto partial = storage_.partials.find(op);
  const bool lanes = partial != storage_.partials.end();
  if (reduction) made.push_back(lanes ? clear_partials(op, partial->second) : init_nest(op, item.loop));
  made.push_back(item.leaf.valid() ? leaf(op) : loop(item.loop));
  if (reduction && lanes) made.push_back(combine_partials(op, partial->second));
  out.push_back(when_finished(op, parent, block(std::move(made))));
}

/// What is computed of a reduction's elements under its loops runs in the last iteration of the reduce loops around.
Stmt Generator::when_finished(OpId op, LoopId parent, Stmt stmt) {
  const Placement& place = tree_.place(op);
  if (place.kind != PlaceKind::reverse_at || parent != place.at) return stmt;
  Expr last = bool_const(true);
  for (DigitId digit : reduce_digits_around(tree_, tree_.loop(parent).op, parent))
    last = last && (digit_var(tree_, digit) >= iterations_of(tree_, digit) - 1);
  return is_const(last, 1) ? stmt : make_stmt(If{last, stmt, Stmt()});
}

Stmt Generator::loop(LoopId id) {
  std::vector<Stmt> body;
  const Stmt filling = append_ahead(id, body);
  for (const PrefetchedRead& prefetched : tree_.prefetches)
    if (prefetched.loop == id && extent_of(tree_, id) > 1) append_prefetches(tree_, storage_, prefetched, body);
  append_children(id, body);
  const Stmt inside = guarded(window_guards(id), block(std::move(body)));
  const Stmt nest = loop_around(id, inside, [](DigitId digit) { return VarId(digit.value); });
  Loop made = std::get<Loop>(nest->kind);
  for (const TensorTile& tile : tree_.tiles)
    if (tile.loop == id) made.intrinsic = tile.intrinsic;
  made.min_blocks = tree_.loop(id).min_blocks;
  const OnlineSum* online = online_at(tree_, id);
  return block({online != nullptr ? begin_online(*online) : Stmt(), filling, make_stmt(std::move(made))});
}

void Generator::append_children(LoopId id, std::vector<Stmt>& out) {
  for (const Item& child : tree_.loop(id).children) {
    if (is_made_ahead(child, id)) continue;
    const auto cache = std::find_if(storage_.caches.rbegin(), storage_.caches.rend(), [&](const auto& held) {
      return held.second.loop == id && holds_leaf(tree_, child, held.first);
    });
    const bool cached = cache != storage_.caches.rend();
    if (cached) out.push_back(cache_begin(cache->first, cache->second));
    append_item(child, out);
    if (!cached) continue;
    const OnlineSum* online = online_of(tree_, cache->first);
    out.push_back(online != nullptr ? end_step(*online, cache->first, cache->second.stored)
                                    : cache_end(cache->first, cache->second));
  }
}

const Stored& Generator::target_of(OpId op) const {
  const auto cache = storage_.caches.find(op);
  if (cache != storage_.caches.end()) return cache->second.stored;
  const auto partial = storage_.partials.find(op);
  return partial != storage_.partials.end() ? partial->second.stored : storage_.of(op);
}

Stmt Generator::leaf(OpId op) {
  const Element& element = tree_.dag.op(op).element();
  // Warps compute whole tiles, of zeros behind the end of an axis.
  std::vector<Expr> conditions = has_warp_tiles(tree_, op) ? std::vector<Expr>() : guards(op, true), padding;
  const bool of_step = is_of_online_step(tree_, op), beyond = of_step && reads_beyond_rows(op);
  if (beyond && element.reducer)
    for (Expr& end : ends_of(tree_, op)) conditions.push_back(std::move(end));
  const Expr body = element.reducer ? take_padding(tree_.dag, element, padding) : element.body;
  for (const Expr& condition : padding) {
    const Expr over = simplified(tree_, body_over_digits(tree_, storage_, op, condition));
    if (!is_const(over, 1)) conditions.push_back(over);
  }
  Expr value = body_over_digits(tree_, storage_, op, body);
  const Stored& target = target_of(op);
  const auto partial = storage_.partials.find(op);
  const std::vector<Expr> index = partial != storage_.partials.end()
                                      ? partial_index(op, partial->second, {}, digit_var(tree_, partial->second.lane))
                                      : place_in(tree_, target, own_index(tree_, op));
  if (element.reducer)
    value = combine(*element.reducer, load(value->dtype, SourceId(target.buffer.value), index), value);
  if (feeds_warp_tiles(tree_, op) || (beyond && !element.reducer)) value = zero_outside(value, ends_of(tree_, op));
  Store store{target.buffer, index, value, Expr()};
  // A copy that fills up with zeros is one asynchronous copy.
  const bool copied = storage_.lowered.program.buffer(target.buffer).scope == Scope::block;
  return guarded(conditions, copied || of_step ? make_stmt(std::move(store)) : store_by_cases(store));
}

}  // namespace whet
