#include "space/cpu/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/arithmetic.h"
#include "compute/affine.h"
#include "program/intrinsic.h"
#include "space/attention_form.h"
#include "space/cpu/element_nest.h"
#include "space/cpu/register_tile.h"
#include "space/cpu/row_nest.h"

namespace whet {
namespace {

/// A factor that is unfolded in pairs of terms, and the product that reads it.
struct PairedFactor {
  OpId factor, product;
};
/// Where scores are sums of pairs: the keys, in the task's DAG; and where the result is as well, the values in the DAG that this leaves.
struct PairedAttention {
  PairedFactor keys;
  std::optional<PairedFactor> values = {};
};

struct AttentionProblem {
  AttentionForm attention;  ///< of the DAG that unfolding leaves, where products are sums of pairs
  std::optional<PairedAttention> by_pairs = {};
  Tiling scores, mix;  ///< oc: along keys, along a head's dimensions; ow: queries
  std::int64_t lanes = 16;
  Target target;
};

/// Pairs along both sides of a tile of Intrinsic::transpose16_pairs, and in a row of Intrinsic::interleave16.
constexpr std::int64_t kPairTile = 16;

void unfold_pairs(Scheduler& s, const PairedAttention& pairs) {
  s.unfold(pairs.keys.factor, pairs.keys.product, UnfoldOrder::pairs);
  if (pairs.values) s.unfold(pairs.values->factor, pairs.values->product, UnfoldOrder::pairs);
}

/// Writes the schedule of one choice.
class AttentionBuilder {
 public:
  AttentionBuilder(const AttentionProblem& p, Scheduler& s, const Choices& choices)
      : p_(p), a_(p.attention), s_(s), choices_(choices) {}

  void run() {
    if (p_.by_pairs) unfold_pairs(s_, *p_.by_pairs);
    for (std::size_t i = a_.inlined.size(); i-- > 0;) s_.inline_op(a_.inlined[i]);
    const bool copies = a_.values && (a_.copy_values || chosen("values") == 1);
    if (a_.values && !copies) s_.inline_op(*a_.values);
    mix();
    softmax();
    scores();
    if (a_.queries) rows_of(*a_.queries);
    if (a_.keys) p_.by_pairs ? paired_operand(*a_.keys) : operand(*a_.keys);
    if (copies) mixes_pairs() ? paired_values(*a_.values) : operand(*a_.values);
    align();
    s_.annotate(shared_, LoopKind::parallel);
  }

 private:
  std::int64_t chosen(const char* name) const { return choices_.at(name).front(); }
  bool mixes_pairs() const { return p_.by_pairs && p_.by_pairs->values; }
  LoopId loop(const std::vector<LoopId>& loops, std::int64_t axis) const {
    return loops[static_cast<std::size_t>(axis)];
  }

  /// The output's loops: heads, blocks of queries, register tiles of the product in them.
  void mix() {
    const std::vector<LoopId> loops = s_.loops(a_.output);
    const std::size_t rank = s_.tree().dag.op(a_.output).shape.size();
    std::vector<LoopId> heads;
    for (std::size_t k = 0; k < rank; ++k)
      if (static_cast<std::int64_t>(k) != a_.row && static_cast<std::int64_t>(k) != a_.column)
        heads.push_back(loops[k]);
    const Scheduler::Pair block = s_.split(loop(loops, a_.row), chosen("rows"), Tail::overlap),
                          row = s_.split(block.inner, chosen("row2"), Tail::overlap),
                          column = s_.split(loop(loops, a_.column), chosen("width"), Tail::overlap);
    std::vector<LoopId> order = heads;
    order.insert(order.end(), {block.outer, column.outer, row.outer});
    const bool plain = a_.output == a_.mix;
    PairLoops pairs;
    if (plain && mixes_pairs()) {
      pairs = cut_pairs(column.inner, loops[rank]);
      for (LoopId loop : pairs.inside_of(row.inner)) order.push_back(loop);
    } else {
      if (plain) order.push_back(loops[rank]);
      order.insert(order.end(), {row.inner, column.inner});
    }
    s_.reorder(order);
    std::vector<LoopId> fused = heads;
    if (chosen("heads") == 0) fused.push_back(block.outer);
    shared_ = fused.empty() ? block.outer : fused.size() > 1 ? s_.fuse(fused) : fused[0];
    block_ = chosen("heads") == 0 ? shared_ : block.outer;
    if (plain) {
      s_.cache_write(a_.mix, row.outer);
      if (mixes_pairs()) return mark_pairs(pairs, row.inner);
    } else {
      const std::vector<LoopId> inner = s_.compute_at(a_.mix, row.outer, StoredIn::registers);
      if (inner.size() < 3) return;  // refused
      sums(inner[inner.size() - 3], inner[inner.size() - 2], inner.back(), mixes_pairs());
    }
    s_.annotate(row.inner, LoopKind::unrolled);
    s_.annotate(column.inner, LoopKind::vectorized);
  }

  /// The reduction outside, the tile inside of it.
  void sums(LoopId row, LoopId column, LoopId reduced, bool by_pairs) {
    if (by_pairs) {
      const PairLoops pairs = cut_pairs(column, reduced);
      s_.reorder(pairs.inside_of(row));
      return mark_pairs(pairs, row);
    }
    s_.reorder({reduced, row, column});
    s_.annotate(row, LoopKind::unrolled);
    s_.annotate(column, LoopKind::vectorized);
  }

  /// The loops of sums of pairs along a column: a step of the reduction, the vectors of a tile, what one instruction computes.
  struct PairLoops {
    LoopId step, vectors, lanes, pair;
    std::vector<LoopId> inside_of(LoopId row) const {
      std::vector<LoopId> order = {step, row};
      if (vectors.valid()) order.push_back(vectors);
      order.insert(order.end(), {lanes, pair});
      return order;
    }
  };
  PairLoops cut_pairs(LoopId column, LoopId reduced) {
    PairLoops loops;
    loops.lanes = column;
    if (extent_of(s_.tree(), column) > p_.lanes) {
      const Scheduler::Pair vectors = s_.split(column, p_.lanes, Tail::guard);
      loops.vectors = vectors.outer, loops.lanes = vectors.inner;
    }
    const Scheduler::Pair pairs = s_.split(reduced, 2, Tail::guard);
    loops.step = pairs.outer, loops.pair = pairs.inner;
    return loops;
  }
  void mark_pairs(const PairLoops& loops, LoopId row) {
    s_.annotate(row, LoopKind::unrolled);
    if (loops.vectors.valid()) s_.annotate(loops.vectors, LoopKind::unrolled);
    s_.tensorize(loops.lanes, Intrinsic::dot2);
  }

  void softmax() {
    for (OpId op : {a_.weights, a_.sum, a_.exp, a_.top}) rows_of(op);
  }

  /// Row by row, in vectors; the sums of a few rows do not wait for one another.
  void rows_of(OpId op) {
    const std::vector<LoopId> loops = s_.compute_at(op, block_, StoredIn::memory);
    if (loops.empty()) return;  // refused
    const std::size_t rank = s_.tree().dag.op(op).shape.size(), scores = s_.tree().dag.op(a_.masked).shape.size();
    const LoopId row = loops[rank < scores ? rank - 1 : rank - 2];
    // More groups than rows in one: the loop over them is told from the one inside by its extent.
    const std::int64_t together = chosen("together"), groups = (extent_of(s_.tree(), row) + together - 1) / together;
    const bool grouped = together > 1 && groups > together;
    if (grouped) s_.split(row, together, Tail::overlap);
    vectorize_rows(s_, op, chosen("vectors") * p_.lanes, grouped ? together : 1);
  }

  void scores() {
    const std::vector<LoopId> loops = s_.compute_at(a_.masked, block_, StoredIn::memory);
    if (loops.empty()) return;
    const bool plain = a_.masked == a_.scores;
    const std::size_t rank = s_.tree().dag.op(a_.masked).shape.size();
    const Scheduler::Pair row = s_.split(loops[rank - 2], chosen("row1"), Tail::overlap),
                          key = s_.split(loops[rank - 1], chosen("keys"), Tail::overlap);
    std::vector<LoopId> order = {key.outer, row.outer};
    if (plain && p_.by_pairs) {
      const PairLoops pairs = cut_pairs(key.inner, loops[rank]);
      for (LoopId loop : pairs.inside_of(row.inner)) order.push_back(loop);
      s_.reorder(order);
      s_.cache_write(a_.scores, row.outer);
      return mark_pairs(pairs, row.inner);
    }
    if (plain) order.push_back(loops[rank]);
    order.push_back(row.inner);
    order.push_back(key.inner);
    s_.reorder(order);
    if (plain) {
      s_.cache_write(a_.scores, row.outer);
    } else {
      const std::vector<LoopId> inner = s_.compute_at(a_.scores, row.outer, StoredIn::registers);
      if (inner.size() < 3) return;
      sums(inner[inner.size() - 3], inner[inner.size() - 2], inner.back(), p_.by_pairs.has_value());
    }
    s_.annotate(row.inner, LoopKind::unrolled);
    s_.annotate(key.inner, LoopKind::vectorized);
  }

  /// Rows of whole vectors: none of them crosses a cache line.
  void align() {
    const std::int64_t over = a_.keys_count % p_.lanes;
    if (over == 0) return;
    for (OpId op : {a_.masked, a_.exp, a_.weights}) s_.pad_storage(op, p_.lanes - over);
    if (a_.keys && !p_.by_pairs) s_.pad_storage(*a_.keys, p_.lanes - over);
  }

  /// A copy of an operand in the order in which tiles read it.
  void operand(OpId op) {
    const bool own_nest = chosen("heads") == 0;
    if (own_nest)
      element_nest(s_, op, {.vectors = 2, .pixels = 4, .across = 16, .target = p_.target});
    else
      head_copy(op);
  }

  /// A copy of the keys in pairs of terms, [terms/2, keys, 2]: tiles of pairs are turned in registers.
  void paired_operand(OpId op) {
    const bool own_nest = chosen("heads") == 0;
    const std::vector<LoopId> loops = own_nest ? s_.loops(op) : s_.compute_at(op, shared_, StoredIn::memory);
    if (loops.size() < 3) return;
    const std::size_t terms = loops.size() - 3;
    const Scheduler::Pair stored = s_.split(loops[terms], kPairTile, Tail::overlap),
                          read = s_.split(loops[terms + 1], kPairTile, Tail::overlap);
    std::vector<LoopId> outer(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(terms));
    outer.push_back(stored.outer);
    std::vector<LoopId> order = outer;
    order.insert(order.end(), {read.outer, stored.inner, read.inner, loops.back()});
    s_.reorder(order);
    s_.tensorize(stored.inner, Intrinsic::transpose16_pairs);
    if (own_nest) s_.annotate(s_.fuse(outer), LoopKind::parallel);
  }

  /// A copy of the values in pairs of terms, [keys/2, width, 2]: neighbours of two rows.
  void paired_values(OpId op) {
    const bool own_nest = chosen("heads") == 0;
    const std::vector<LoopId> loops = own_nest ? s_.loops(op) : s_.compute_at(op, shared_, StoredIn::memory);
    if (loops.size() < 3) return;
    const std::size_t columns = loops.size() - 2;
    const Scheduler::Pair column = s_.split(loops[columns], kPairTile, Tail::overlap);
    std::vector<LoopId> outer(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(columns));
    std::vector<LoopId> order = outer;
    order.insert(order.end(), {column.outer, column.inner, loops.back()});
    s_.reorder(order);
    s_.tensorize(column.inner, Intrinsic::interleave16);
    if (own_nest) s_.annotate(s_.fuse(outer), LoopKind::parallel);
  }

  void head_copy(OpId op) {
    const std::vector<LoopId> loops = s_.compute_at(op, shared_, StoredIn::memory);
    if (loops.size() < 2) return;
    const bool turned = is_transpose(s_.tree().dag, op);
    const LoopId across = loops[loops.size() - 2], along = loops.back();
    const std::int64_t n = turned ? turned_tile(s_.tree().dag, op) : 0;
    if (n > 0 && extent_of(s_.tree(), across) >= n && extent_of(s_.tree(), along) >= n) {
      Scheduler trial = s_;
      const Scheduler::Pair read = trial.split(across, n, Tail::overlap), stored = trial.split(along, n, Tail::overlap);
      trial.reorder({read.outer, stored.outer, read.inner, stored.inner});
      trial.tensorize(read.inner, n == 16 ? Intrinsic::transpose16 : Intrinsic::transpose8);
      if (trial.finish().ok()) {
        s_ = std::move(trial);
        return;
      }
    }
    vectorize_rows(s_, op, chosen("vectors") * p_.lanes, 1);
  }

  const AttentionProblem& p_;
  const AttentionForm& a_;
  Scheduler& s_;
  const Choices& choices_;
  LoopId shared_, block_;  ///< shared out; over blocks of queries, perhaps the same one
};

Tiling tiling_of(std::int64_t rows, std::int64_t columns, const Target& target, bool by_pairs = false) {
  return {.oc = columns,
          .oh = 1,
          .ow = rows,
          .lanes = target.cpu().lanes(4),
          .registers = target.cpu().vector_registers,
          .cache_ways = target.cpu().l1_ways(),
          .pipes = target.cpu().pipes,
          .whole_vectors = by_pairs};
}

std::vector<std::int64_t> block_options(std::int64_t rows) {
  std::vector<std::int64_t> options;
  for (std::int64_t n : {6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 96, 128, 196, 256})
    if (n < rows) options.push_back(n);
  if (rows <= 1024) options.push_back(rows);
  return options;
}

/// The tiles of a block of `rows` queries, and what they cost.
struct Cut {
  std::int64_t rows = 1;
  Tile scores, mix;
  double cost = INFINITY;
};

/// Which sums take two terms at a time.
struct Halved {
  bool scores = false, mix = false;
};

Cut tiles_of(const AttentionForm& a, std::int64_t rows, const Target& target, const Halved& halved) {
  const Tiling scores = tiling_of(rows, a.keys_count, target, halved.scores),
               mix = tiling_of(rows, a.width, target, halved.mix);
  Cut cut{rows, scores.best(), mix.best(), 0};
  const auto steps = [](std::int64_t terms, bool half) { return static_cast<double>(terms) / (half ? 2 : 1); };
  const double once =
      steps(a.depth, halved.scores) * scores.cost(cut.scores) + steps(a.keys_count, halved.mix) * mix.cost(cut.mix);
  // Scores, exponentials and weights of a block are written, and then read.
  const double bytes = 12.0 * static_cast<double>(rows * a.keys_count);
  const double crowded = bytes > 0.75 * static_cast<double>(target.cpu().l1_bytes) ? 1.05 : 1;
  const double far = bytes > 0.5 * static_cast<double>(target.cpu().l2_bytes) ? 1.3 : 1;
  // Keys and values that the first cache does not keep come from the second for each block, two vectors in three cycles.
  const double operands = 4.0 * static_cast<double>(a.keys_count * (a.depth + a.width));
  const double again = operands > 0.5 * static_cast<double>(target.cpu().l1_bytes) ? 3 * operands / 64 : 0;
  cut.cost = (once * crowded * far + again) * static_cast<double>(ceil_div(a.rows, rows));
  return cut;
}

Cut best_cut(const AttentionForm& a, const Target& target, const Halved& halved) {
  Cut best;
  for (std::int64_t rows : block_options(a.rows))
    if (const Cut cut = tiles_of(a, rows, target, halved); cut.cost < best.cost) best = cut;
  return best;
}

std::vector<Constraint> attention_constraints(const AttentionProblem& p) {
  std::vector<Constraint> list;
  const auto fits = [&list](const Tiling& tiling, const char* row, const char* column, const char* what) {
    list.push_back({{row, column}, [=](const Choices& c) -> std::optional<std::string> {
                      const Tile tile{c.at(column).front(), 1, c.at(row).front()};
                      if (!tiling.fits(tile))
                        return fmt::format("{} {} by {} vectors need more than the {} vector registers", tile.ow, what,
                                           tiling.vectors(tile.oc), tiling.registers);
                      if (tiling.accumulators(tile) < 3 && tiling.accumulators(tiling.best()) >= 3)
                        return "too few accumulators to keep the units busy";
                      return std::nullopt;
                    }});
    list.push_back({{"rows", row}, [=](const Choices& c) -> std::optional<std::string> {
                      if (c.at(row).front() <= c.at("rows").front()) return std::nullopt;
                      return "a register tile has more queries than the block";
                    }});
  };
  fits(p.scores, "row1", "keys", "queries");
  fits(p.mix, "row2", "width", "queries");
  const std::int64_t keys = p.attention.keys_count, cache = p.target.cpu().l2_bytes;
  list.push_back({{"rows"}, [=](const Choices& c) -> std::optional<std::string> {
                    if (8 * c.at("rows").front() * keys <= cache) return std::nullopt;
                    return "a block's scores overflow a core's cache";
                  }});
  return list;
}

/// The product that `op` sums up, by loads of bf16 as Intrinsic::dot2 takes them: rows of the left factor lie along the terms.
bool multiplies_pairs(const Op& op) {
  const Element& element = op.element();
  const std::vector<Expr> loads = matching_loads(op_of(Intrinsic::dot2).element().body, element.body, 2);
  if (loads.empty()) return false;
  const Load& x = std::get<Load>(loads[0]->kind);
  const Expr term = axis_var(element, static_cast<std::int64_t>(element.axes.size()));
  return !x.index.empty() && to_affine(x.index.back()).coefficient(term) == 1;
}

/// An attention of fixed sizes whose queries and keys are widened from bf16 that lies in memory: products of both are exact, so that
/// pairs of them may be multiplied as they lie. So may those of weights and values, where the softmax rounds the weights to bf16.
struct FoundPairs {
  PairedAttention ops;
  AttentionForm form;  ///< of the DAG that unfolding leaves
};

/// Rows of the left factor and, in pairs, those of the right one are read as they lie, once what is to be inlined is.
bool multiplies_pairs(const ComputeDag& now, OpId product, OpId copy) {
  return std::holds_alternative<Load>(now.op(copy).element().body->kind) && multiplies_pairs(now.op(product));
}

std::optional<FoundPairs> find_paired(const ComputeDag& dag, const Target& target) {
  if (!target.cpu().bf16_products || is_sized(dag)) return std::nullopt;
  const std::optional<AttentionForm> plain = find_attention(dag);
  if (!plain || plain->depth < 2 * kPairTile || plain->keys_count < kPairTile) return std::nullopt;
  FoundPairs found{{{inputs_of(dag, plain->scores)[1], plain->scores}}, {}};
  Scheduler s(dag);
  unfold_pairs(s, found.ops);
  if (!s.finish().ok()) return std::nullopt;
  std::optional<AttentionForm> form = find_attention(s.tree().dag);
  if (!form) return std::nullopt;
  const bool rounds = s.tree().dag.op(form->weights).dtype == DType::bf16;
  if (rounds && form->width >= kPairTile) {
    found.ops.values = PairedFactor{inputs_of(s.tree().dag, form->mix)[1], form->mix};
    s.unfold(found.ops.values->factor, found.ops.values->product, UnfoldOrder::pairs);
    if (!s.finish().ok()) return std::nullopt;
    form = find_attention(s.tree().dag);
    if (!form) return std::nullopt;
  }
  found.form = *form;
  AttentionForm& a = found.form;
  const OpId queries = inputs_of(s.tree().dag, a.scores)[0], keys = inputs_of(s.tree().dag, a.scores)[1];
  std::erase(a.inlined, keys);
  a.keys = keys;
  if (a.queries) a.inlined.insert(std::upper_bound(a.inlined.begin(), a.inlined.end(), queries), queries);
  a.queries.reset();
  if (found.ops.values) a.values = inputs_of(s.tree().dag, a.mix)[1], a.copy_values = true;
  for (std::size_t i = a.inlined.size(); i-- > 0;) s.inline_op(a.inlined[i]);
  if (!s.finish().ok() || !multiplies_pairs(s.tree().dag, a.scores, keys)) return std::nullopt;
  if (found.ops.values && !multiplies_pairs(s.tree().dag, a.mix, *a.values)) return std::nullopt;
  return found;
}

std::optional<Sketch> sketch_of(const AttentionForm& a, std::optional<PairedAttention> by_pairs, const ComputeDag& dag,
                                const Target& target) {
  const Halved halved{by_pairs.has_value(), by_pairs && by_pairs->values};
  const Cut cut = best_cut(a, target, halved);
  const auto p = std::make_shared<const AttentionProblem>(
      AttentionProblem{a, by_pairs, tiling_of(a.rows, a.keys_count, target, halved.scores),
                       tiling_of(a.rows, a.width, target, halved.mix), target.cpu().lanes(4), target});
  Sketch sketch;
  sketch.name = by_pairs ? "attention+pairs" : "attention";
  sketch.decisions = {
      {"heads", "1: whole heads are shared out; 0: blocks of queries", single({0, 1}), 0},
      {"rows", "queries in a block, whose scores stay in the cache", single(block_options(a.rows)), a.rows},
      {"row1", "queries in a register tile of the scores", single(p->scores.ow_options()), 0},
      {"keys", "keys in a register tile of the scores", single(p->scores.oc_options()), a.keys_count},
      {"row2", "queries in a register tile of the result", single(p->mix.ow_options()), 0},
      {"width", "a head's dimensions in a register tile of the result", single(p->mix.oc_options()), a.width},
      {"vectors", "native vectors in a step of the softmax", single({1, 2, 4}), 0},
      {"together", "queries whose softmax is computed together", single({1, 2, 4}), 0},
  };
  // Heads alone give every worker its share.
  const bool whole = a.heads % target.threads == 0 || a.heads >= 8 * target.threads;
  // A short row is one step of four vectors: two rows at a time do not wait for their sums.
  sketch.preferred = {{"heads", {whole}},        {"rows", {cut.rows}},
                      {"row1", {cut.scores.ow}}, {"keys", {cut.scores.oc}},
                      {"row2", {cut.mix.ow}},    {"width", {cut.mix.oc}},
                      {"vectors", {4}},          {"together", {a.keys_count <= 4 * p->lanes ? 2 : 1}}};
  if (a.values && !a.copy_values) {
    sketch.decisions.push_back({"values", "1: the values of a head are copied together first", single({0, 1}), 0});
    sketch.preferred["values"] = {0};
  }
  sketch.constraints = attention_constraints(*p);
  sketch.build = [p](Scheduler& s, const Choices& choices) { AttentionBuilder(*p, s, choices).run(); };
  Scheduler trial(dag);
  sketch.build(trial, sketch.preferred);
  if (!trial.finish().ok()) return std::nullopt;
  return sketch;
}

}  // namespace

std::optional<Sketch> attention_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<AttentionForm> found = find_attention(dag);
  return found ? sketch_of(*found, {}, dag, target) : std::nullopt;
}

std::optional<Sketch> attention_pairs_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<FoundPairs> found = find_paired(dag, target);
  return found ? sketch_of(found->form, found->ops, dag, target) : std::nullopt;
}

}  // namespace whet
