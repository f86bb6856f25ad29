#include "lower/testing/random_gpu_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lower/testing/random_schedule.h"
#include "lower/testing/warp_product.h"

namespace whet::testing {
namespace {

class GpuScheduler {
 public:
  GpuScheduler(const ComputeDag& dag, Rng& rng) : rng_(rng), tree_(make_loop_tree(dag)) {}

  Steps run() {
    split_softmaxes();
    for (std::int64_t k = rng_.below(4); k > 0; --k) unfold_some();
    for (std::int64_t k = rng_.below(3); k > 0; --k) attempt(CacheRead{any_op(), any_op()});
    for (std::int64_t k = rng_.below(4); k > 0; --k) attempt(Merge{any_op(), rng_.below(5)});
    if (rng_.chance(0.2)) attempt(Round{any_op(), rng_.chance(0.5) ? Precision::f16 : Precision::tf32});
    for (std::int64_t k = rng_.below(8); k > 0; --k) attempt(SplitSum{any_op(), rng_.below(6), rng_.between(2, 5)});
    for (std::size_t k = tree_.dag.ops.size(); k-- > 0;) place(OpId(static_cast<std::int64_t>(k)));
    finish();
    return std::move(steps_);
  }

  /// The steps, and some that nothing in them needs.
  Steps run_behind(const Steps& steps) {
    for (const Step& step : steps) WHET_CHECK(attempt(step));
    finish();
    return std::move(steps_);
  }

  /// Sums of products of bytes, by four in a thread.
  Steps run_bytes(OpId sum, Intrinsic dp4a) {
    launch(sum);
    const LoopId depth = reduce_loops(sum).front();
    const LoopId four = split_by(depth, 4, Tail::guard).second;
    std::vector<LoopId> order = own_loops(tree_, sum);
    std::erase(order, four);
    order.push_back(four);
    attempt(Reorder{order});
    attempt(Tensorize{four, dp4a});
    finish();
    return std::move(steps_);
  }

 private:
  void unfold_some() {
    const OpId reader = any_op(), tensor = any_op();
    const double kind = rng_.uniform();
    const bool turned = kind < 0.5, factor = kind > 0.4 && kind < 0.6;
    attempt(Unfold{tensor, reader, turned ? UnfoldOrder::turned : UnfoldOrder::spatial_first,
                   factor ? UnfoldWhat::factor : UnfoldWhat::tensor});
  }

  void split_softmaxes() {
    for (std::size_t k = tree_.dag.ops.size(); k-- > 0;) {
      const OpId op(static_cast<std::int64_t>(k));
      if (tree_.dag.op(op).is_placeholder() || !split_softmax(tree_.dag, op, kLeastSoftmaxPart).ok()) continue;
      const std::int64_t terms = tree_.dag.op(op).element().reduce_axes[0].extent;
      if (terms >= kOnlineTerms && rng_.chance(0.4))
        return online(op, rng_.between(1, terms / kOnlineTerms) * kOnlineTerms);
      if (rng_.chance(0.9)) attempt(SplitSoftmax{op, rng_.between(kLeastSoftmaxPart, terms - 1)});
    }
  }

  /// A softmax and the product with it in one pass over the terms, in registers of the threads of the quotient.
  void online(OpId op, std::int64_t terms) {
    const Result<OnlineSoftmaxDag> changed = online_softmax(tree_.dag, op, terms);
    if (!attempt(OnlineSoftmax{op, terms})) return;
    const OpId product = changed->ops.product, mix = changed->ops.mix;
    launch(product);
    placed_.insert(product);
    const std::vector<LoopId> loops = own_loops(tree_, product);
    const LoopId at = loops[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(loops.size())))];
    if (!attempt(ComputeAt{mix, at, StoredIn::registers})) return;
    placed_.insert(mix);
    const LoopId steps = split_by(reduce_loops(mix).front(), terms, Tail::guard).first;
    std::vector<LoopId> order = own_loops(tree_, mix);
    std::erase(order, steps);
    order.insert(order.begin(), steps);
    attempt(Reorder{order});
    if (attempt(Online{mix, steps}) && rng_.chance(0.5))
      for (OpId row : {changed->ops.top, changed->ops.sum}) split(reduce_loops(row).front());
  }

  void finish() {
    for (std::int64_t k = rng_.below(4); k > 0; --k) attempt(PadStorage{any_op(), rng_.between(1, 5)});
    if (rng_.chance(0.5)) attempt(SwizzleStorage{any_op(), rng_.chance(0.5) ? 64 : 128});
    for (std::int64_t k = rng_.below(8); k > 0; --k) attempt(MinBlocks{any_loop(), rng_.between(1, 16)});
    for (std::int64_t k = rng_.below(6); k > 0; --k) attempt(Pipeline{any_loop(), rng_.between(2, 4)});
    for (std::size_t k = 0; k < tree_.loops.size(); ++k) {
      const LoopId loop(static_cast<std::int64_t>(k));
      if (rng_.chance(0.3)) attempt(Annotate{loop, rng_.chance(0.5) ? LoopKind::vectorized : LoopKind::unrolled});
    }
  }

  bool attempt(const Step& step) {
    LoopTree changed = tree_;
    if (!whet::apply(changed, step).ok()) return false;
    tree_ = std::move(changed);
    steps_.push_back(step);
    return true;
  }

  OpId any_op() { return OpId(rng_.below(static_cast<std::int64_t>(tree_.dag.ops.size()))); }
  LoopId any_loop() { return LoopId(rng_.below(static_cast<std::int64_t>(tree_.loops.size()))); }

  /// Where the op is computed, and what its loops run on. Readers are placed already.
  void place(OpId op) {
    if (!has_loops(tree_, op) || placed_.count(op) > 0 || is_of_online_step(tree_, op)) return;
    const double where = rng_.uniform();
    if (where < 0.15 && attempt(Inline{op})) return;
    if (where < 0.75) {
      for (int tries = 0; tries < 6; ++tries) {
        const StoredIn stored = rng_.chance(0.6)   ? StoredIn::block
                                : rng_.chance(0.5) ? StoredIn::registers
                                                   : StoredIn::memory;
        const LoopId at = any_loop();
        if (holds_blocks(at) || !attempt(ComputeAt{op, at, stored})) continue;
        if (stored == StoredIn::block || (stored == StoredIn::registers && rng_.chance(0.4))) spread(op);
        if (stored == StoredIn::block && rng_.chance(0.5)) attempt(Pipeline{at, rng_.between(2, 4)});
        tile_reduction(op);
        return;
      }
    }
    launch(op);
    tile_reduction(op);
  }

  /// Loops bound to blocks are directly inside each other.
  bool holds_blocks(LoopId loop) const {
    const auto& children = tree_.loop(loop).children;
    return std::any_of(children.begin(), children.end(), [&](const Item& item) {
      return item.loop.valid() && tree_.loop(item.loop).kind == LoopKind::block;
    });
  }

  /// The loops of a copy in block memory, or of a row in registers, go to threads.
  void spread(OpId op) {
    for (LoopId loop : spatial_loops(op))
      if (rng_.chance(0.4)) split(loop);
    for (LoopId loop : spatial_loops(op))
      if (rng_.chance(0.6)) attempt(Bind{loop, LoopKind::thread});
  }

  /// A root: blocks around virtual threads and threads around serial loops.
  void launch(OpId op) {
    std::vector<LoopId> levels[4];  // blocks, virtual threads, threads, serial
    for (LoopId loop : spatial_loops(op)) {
      std::vector<LoopId> parts{loop};
      while (parts.size() < 4 && rng_.chance(0.6)) {
        const auto pair = split(parts.back());
        if (!pair.first.valid()) break;
        parts.back() = pair.first;
        parts.push_back(pair.second);
      }
      std::size_t level = 0;
      for (LoopId part : parts) {
        levels[level].push_back(part);
        level = std::min<std::size_t>(3, level + 1 + static_cast<std::size_t>(rng_.below(2)));
      }
    }
    std::vector<LoopId> order;
    for (const auto& level : levels) order.insert(order.end(), level.begin(), level.end());
    const std::vector<LoopId> reduce = reduce_loops(op);
    order.insert(order.end() - static_cast<std::ptrdiff_t>(levels[3].size()), reduce.begin(), reduce.end());
    if (order.size() > 1) attempt(Reorder{order});
    const auto bind = [&](std::vector<LoopId>& loops, LoopKind kind) {
      if (loops.size() > 1 && rng_.chance(0.4) && attempt(Fuse{loops}))
        loops = {LoopId(static_cast<std::int64_t>(tree_.loops.size()) - 1)};
      for (LoopId loop : loops) attempt(Bind{loop, kind});
    };
    bind(levels[0], LoopKind::block);
    bind(levels[1], LoopKind::virtual_thread);
    bind(levels[2], LoopKind::thread);
  }

  void tile_reduction(OpId op) {
    const std::vector<LoopId> reduce = reduce_loops(op);
    if (reduce.empty()) return;
    if (rng_.chance(0.4) && sum_across_threads(op)) return;
    if (rng_.chance(0.7)) split(reduce[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(reduce.size())))]);
    std::vector<LoopId> loops = own_loops(tree_, op);
    if (rng_.chance(0.6)) {
      // Outer reduce loops around the serial ones.
      std::vector<LoopId> order, serial;
      for (LoopId loop : loops) {
        const bool free = tree_.loop(loop).kind == LoopKind::serial && !is_reduce(tree_, loop);
        (free ? serial : order).push_back(loop);
      }
      order.insert(order.end(), serial.begin(), serial.end());
      attempt(Reorder{order});
      loops = own_loops(tree_, op);
    }
    // Registers are a thread's: mostly inside of its loop.
    if (rng_.chance(0.9))
      while (loops.size() > 1 && tree_.loop(loops.front()).kind != LoopKind::serial) loops.erase(loops.begin());
    if (rng_.chance(0.6))
      attempt(CacheWrite{op, loops[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(loops.size())))]});
  }

  /// A part of a reduce loop, or all of it, goes to threads.
  bool sum_across_threads(OpId op) {
    const std::vector<LoopId> reduce = reduce_loops(op);
    LoopId loop = reduce[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(reduce.size())))];
    constexpr std::int64_t kThreads[] = {2, 4, 8, 16, 32, 64, 70, 96};
    const std::int64_t threads = kThreads[rng_.below(8)];
    if (threads < extent_of(tree_, loop) && rng_.chance(0.8)) {
      const auto [outer, inner] = split_by(loop, threads, Tail::guard);
      loop = rng_.chance(0.8) || !is_number_of_threads(extent_of(tree_, outer)) ? inner : outer;
    }
    if (!is_number_of_threads(extent_of(tree_, loop))) return false;
    return attempt(Rfactor{loop}) && attempt(Bind{loop, LoopKind::thread});
  }

  static bool is_number_of_threads(std::int64_t n) { return n >= 32 || n == 2 || n == 4 || n == 8 || n == 16; }

  std::pair<LoopId, LoopId> split(LoopId loop) {
    const std::int64_t factor = rng_.between(1, std::min<std::int64_t>(extent_of(tree_, loop), 8));
    return split_by(loop, factor, rng_.chance(0.1) ? Tail::overlap : Tail::guard);
  }

  std::pair<LoopId, LoopId> split_by(LoopId loop, std::int64_t factor, Tail tail) {
    if (!attempt(Split{loop, factor, tail})) return {};
    const auto last = static_cast<std::int64_t>(tree_.loops.size());
    return {LoopId(last - 2), LoopId(last - 1)};
  }

  std::vector<LoopId> loops_where(OpId op, bool reduce) const {
    std::vector<LoopId> loops = own_loops(tree_, op);
    std::erase_if(loops, [&](LoopId loop) { return is_reduce(tree_, loop) != reduce; });
    return loops;
  }
  std::vector<LoopId> spatial_loops(OpId op) const { return loops_where(op, false); }
  std::vector<LoopId> reduce_loops(OpId op) const { return loops_where(op, true); }

  Rng& rng_;
  LoopTree tree_;
  Steps steps_;
  std::set<OpId> placed_;  ///< where online() wants them
};

}  // namespace

ComputeDag random_gpu_dag(Rng& rng) {
  if (rng.chance(0.8)) return random_dag(rng);
  const std::int64_t rows = rng.between(1, 6), columns = rng.between(30, 200);
  const Result<ComputeDag> dag = parse_dag(
      fmt::format("x = PLACEHOLDER [{0}, {1}]\nm(i) max= x[i, r] for i in {0}, r in {1}\n"
                  "e(i, j) = (x[i, j] - m[i]) for i in {0}, j in {1}\ns(i) += (e[i, r]*e[i, r]) for i in {0}, r in "
                  "{1}\nout(i, j) = (e[i, j]/(s[i] + 1f)) for i in {0}, j in {1}\nreturn out\n",
                  rows, columns));
  WHET_CHECK(dag.ok());
  return *dag;
}

ComputeDag random_softmax_product(Rng& rng) {
  const Result<ComputeDag> dag = parse_dag(fmt::format(
      "x = PLACEHOLDER [{0}, {1}]\nv = PLACEHOLDER [{1}, {2}]\nt(i, j) = (x[i, j]*2f) for i in {0}, j in {1}\n"
      "m(i) max= t[i, r] for i in {0}, r in {1}\ne(i, j) = exp((t[i, j] - m[i])) for i in {0}, j in {1}\n"
      "z(i) += e[i, r] for i in {0}, r in {1}\nw(i, j) = (e[i, j]/z[i]) for i in {0}, j in {1}\n"
      "y(i, c) += (w[i, r]*v[r, c]) for i in {0}, c in {2}, r in {1}\nreturn y\n",
      rng.between(1, 9), rng.between(5, 50), rng.between(1, 9)));
  WHET_CHECK(dag.ok());
  return *dag;
}

Steps random_gpu_steps(const ComputeDag& dag, Rng& rng) { return GpuScheduler(dag, rng).run(); }

RandomTensorized random_tensorized(Rng& rng) {
  if (rng.chance(0.6)) {
    const RandomWarpProduct product = random_warp_product(rng);
    return {product.dag, GpuScheduler(product.dag, rng).run_behind(product.steps)};
  }
  const bool is_signed = rng.chance(0.5);
  const ComputeDag dag = product_dag({.intrinsic = is_signed ? Intrinsic::mma_s8 : Intrinsic::mma_u8},
                                     rng.between(1, 30), rng.between(1, 30), rng.between(4, 40));
  return {dag, GpuScheduler(dag, rng).run_bytes(OpId(2), is_signed ? Intrinsic::dp4a_s8 : Intrinsic::dp4a_u8)};
}

}  // namespace whet::testing
