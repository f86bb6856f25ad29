#include "space/gpu/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "space/anatomy.h"

namespace whet {
namespace {

/// A sum of products after the steps that change the DAG.
struct Product {
  std::vector<Step> steps;     ///< unfold and merge
  std::vector<OpId> inlined;   ///< before and after the sum
  OpId left, right, sum;       ///< the operands' copies; rows are the left one's, columns the right one's
  std::optional<OpId> output;  ///< of the epilogue
  bool batched = false;        ///< a first axis that both operands have
  std::int64_t batch = 1, rows = 1, columns = 1, depth = 1;
};

/// The steps so far, and what they make; a refusal ends it.
class Trial {
 public:
  explicit Trial(const ComputeDag& dag) : tree_(make_loop_tree(dag)) {}
  bool run(const Step& step) {
    if (!apply(tree_, step).ok()) return false;
    steps_.push_back(step);
    return true;
  }
  const LoopTree& tree() const { return tree_; }
  std::vector<Step> take() { return std::move(steps_); }

 private:
  LoopTree tree_;
  std::vector<Step> steps_;
};

/// The two loads whose product the op sums up.
std::optional<std::pair<const Load*, const Load*>> factors(const Element& element) {
  const Binary* product = std::get_if<Binary>(&element.body->kind);
  if (!product || product->op != BinaryOp::mul) return std::nullopt;
  const Load *a = std::get_if<Load>(&product->a->kind), *b = std::get_if<Load>(&product->b->kind);
  if (!a || !b || a->source == b->source) return std::nullopt;
  return std::pair(a, b);
}

bool uses(const Load& read, std::int64_t axis) {
  return std::any_of(read.index.begin(), read.index.end(), [&](const Expr& i) { return whet::uses(i, VarId(axis)); });
}

enum class Role { batch, row, column };

std::optional<Product> as_product(const ComputeDag& dag) {
  const std::optional<Anatomy> anatomy = find_anatomy(dag);
  if (!anatomy || dag.op(anatomy->anchor).dtype != DType::f32) return std::nullopt;
  const Element& element = dag.op(anatomy->anchor).element();
  auto operands = factors(element);
  if (element.reducer != Reducer::sum || !operands || element.axes.size() < 2) return std::nullopt;
  const auto last = static_cast<std::int64_t>(element.axes.size()) - 1;
  if (uses(*operands->first, last)) std::swap(operands->first, operands->second);
  const auto& [left, right] = *operands;
  if (uses(*left, last) || !uses(*right, last)) return std::nullopt;

  std::vector<Role> roles;
  for (std::int64_t k = 0; k <= last; ++k) {
    const bool of_left = uses(*left, k), of_right = uses(*right, k);
    roles.push_back(of_left && of_right ? Role::batch : of_right ? Role::column : Role::row);
  }
  // One block of axes a role, rows before columns.
  if (!std::is_sorted(roles.begin(), roles.end()) || std::count(roles.begin(), roles.end(), Role::row) == 0)
    return std::nullopt;

  // Windows of three dimensions divide a row's number so often that lowering no longer proves their indices.
  const auto wide = [](const std::vector<Axis>& axes) {
    return std::count_if(axes.begin(), axes.end(), [](const Axis& axis) { return axis.extent > 1; });
  };
  if (wide(element.reduce_axes) > 3) return std::nullopt;

  const std::int64_t anchor = anatomy->anchor.value;
  Trial trial(dag);
  Product found{.left = OpId(anchor), .right = OpId(anchor + 1), .sum = OpId(anchor + 2)};
  if (!trial.run(Unfold{OpId(left->source.value), OpId(anchor), UnfoldOrder::spatial_first})) return std::nullopt;
  if (!trial.run(Unfold{OpId(right->source.value), OpId(anchor + 1), UnfoldOrder::turned})) return std::nullopt;
  for (std::size_t k = 0; k + 1 < roles.size();) {
    if (roles[k] != roles[k + 1]) {
      ++k;
      continue;
    }
    if (!trial.run(Merge{found.sum, static_cast<std::int64_t>(k)})) return std::nullopt;
    roles.erase(roles.begin() + static_cast<std::ptrdiff_t>(k));
  }
  const auto spatial = static_cast<std::int64_t>(roles.size());
  for (std::size_t k = 1; k < element.reduce_axes.size(); ++k)
    if (!trial.run(Merge{found.sum, spatial})) return std::nullopt;

  const Op& sum = trial.tree().dag.op(found.sum);
  found.batched = roles.front() == Role::batch;
  found.batch = found.batched ? sum.shape[0] : 1;
  found.rows = sum.shape[sum.shape.size() - 2], found.columns = sum.shape.back();
  found.depth = sum.element().reduce_axes.front().extent;
  found.inlined = anatomy->before;
  for (OpId op : anatomy->after) found.inlined.push_back(OpId(op.value + 2));
  if (anatomy->output) found.output = OpId(anatomy->output->value + 2);
  if (found.output && trial.tree().dag.op(*found.output).shape != sum.shape) return std::nullopt;
  found.steps = trial.take();
  return found;
}

/// An axis of the tile: `apart` strips of each of `threads` threads, `strip` elements wide.
struct Cut {
  std::int64_t apart = 1, threads = 1, strip = 1;
  std::int64_t whole() const { return apart * threads * strip; }
};
Cut cut_of(const Choice& choice) { return {choice[0], choice[1], choice[2]}; }

struct Tile {
  Cut rows, columns;
  std::int64_t depth, stages;
  std::int64_t threads() const { return rows.threads * columns.threads; }
  std::int64_t sums() const { return rows.apart * rows.strip * columns.apart * columns.strip; }
  std::int64_t bytes() const { return stages * depth * (rows.whole() + columns.whole()) * 4; }
};
Tile tile_of(const Choices& choices) {
  return {cut_of(choices.at("rows")), cut_of(choices.at("columns")), choices.at("depth")[0], choices.at("stages")[0]};
}

class ProductBuilder {
 public:
  ProductBuilder(Scheduler& s, const Product& p, const Tile& tile) : s_(s), p_(p), tile_(tile) {}

  void run() {
    for (const Step& step : p_.steps) {
      if (const Unfold* unfold = std::get_if<Unfold>(&step)) s_.unfold(unfold->tensor, unfold->reader, unfold->order);
      if (const Merge* merge = std::get_if<Merge>(&step)) s_.merge(merge->op, merge->axis);
    }
    for (OpId op : p_.inlined) s_.inline_op(op);
    const LoopId depth = p_.output ? epilogue() : sums_alone();
    copy(p_.left, depth, tile_.rows.whole(), tile_.depth, p_.depth);
    copy(p_.right, depth, tile_.depth, tile_.columns.whole(), p_.columns);
    if (tile_.stages > 1) s_.pipeline(depth, tile_.stages);
  }

 private:
  struct Levels {
    LoopId block, apart, thread, strip;
  };
  Levels cut(LoopId loop, const Cut& cut) {
    const auto tile = s_.split(loop, cut.whole(), Tail::guard);
    const auto apart = s_.split(tile.inner, cut.threads * cut.strip, Tail::guard);
    const auto thread = s_.split(apart.inner, cut.strip, Tail::guard);
    return {tile.outer, apart.outer, thread.outer, thread.inner};
  }

  /// The result's loops: blocks, virtual threads, threads. Gives the levels of rows and columns.
  std::pair<Levels, Levels> nest(OpId op, const std::vector<LoopId>& reduce) {
    std::vector<LoopId> loops = s_.loops(op);
    const std::size_t first = p_.batched ? 1 : 0;
    const Levels rows = cut(loops[first], tile_.rows), columns = cut(loops[first + 1], tile_.columns);
    std::vector<LoopId> order;
    if (p_.batched) order.push_back(loops[0]);
    for (LoopId loop : {rows.block, columns.block, rows.apart, columns.apart, rows.thread, columns.thread})
      order.push_back(loop);
    order.insert(order.end(), reduce.begin(), reduce.end());
    order.push_back(rows.strip), order.push_back(columns.strip);
    s_.reorder(order);
    if (p_.batched) s_.bind(loops[0], LoopKind::block);
    s_.bind(rows.block, LoopKind::block), s_.bind(columns.block, LoopKind::block);
    s_.bind(rows.apart, LoopKind::virtual_thread), s_.bind(columns.apart, LoopKind::virtual_thread);
    s_.bind(rows.thread, LoopKind::thread), s_.bind(columns.thread, LoopKind::thread);
    return {rows, columns};
  }

  /// Sums in registers of the epilogue's threads. Gives the loop over the depth, a part a step.
  LoopId epilogue() {
    const auto [rows, columns] = nest(*p_.output, {});
    std::vector<LoopId> loops = s_.compute_at(p_.sum, columns.thread, StoredIn::registers);
    const auto depth = s_.split(loops.back(), tile_.depth, Tail::guard);
    loops.pop_back();
    std::vector<LoopId> order{depth.outer, depth.inner};
    order.insert(order.end(), loops.begin(), loops.end());
    s_.reorder(order);
    finish(depth.inner, loops[loops.size() - 2], loops.back());
    s_.annotate(rows.strip, LoopKind::unrolled);
    s_.annotate(columns.strip, LoopKind::vectorized);
    return depth.outer;
  }

  LoopId sums_alone() {
    const auto depth = s_.split(s_.loops(p_.sum).back(), tile_.depth, Tail::guard);
    const auto [rows, columns] = nest(p_.sum, {depth.outer, depth.inner});
    finish(depth.inner, rows.strip, columns.strip);
    s_.cache_write(p_.sum, columns.thread);
    return depth.outer;
  }

  void finish(LoopId depth, LoopId rows, LoopId columns) {
    s_.annotate(depth, LoopKind::unrolled);
    s_.annotate(rows, LoopKind::unrolled);
    s_.annotate(columns, LoopKind::vectorized);
  }

  /// A part of an operand in block memory, `rows` by `columns`; rows of the whole operand have `length` elements. Whole
  /// vectors along rows.
  void copy(OpId op, LoopId at, std::int64_t rows, std::int64_t columns, std::int64_t length) {
    const std::int64_t lanes = std::gcd(std::gcd(columns, length), 4);
    std::vector<LoopId> loops = s_.compute_at(op, at, StoredIn::block);
    // (batch, rows, depth) and (depth, batch, columns): one element of the batch here.
    if (p_.batched) loops.erase(loops.begin() + (op == p_.left ? 0 : 1));
    const auto vector = s_.split(loops[1], lanes, Tail::guard);
    const std::int64_t across = std::min(tile_.threads(), columns / lanes);
    const auto line = s_.split(vector.outer, across, Tail::guard);
    std::int64_t down = std::min(rows, std::max<std::int64_t>(1, tile_.threads() / across));
    while (rows % down != 0) --down;
    const auto part = s_.split(loops[0], down, Tail::guard);
    s_.reorder({part.outer, line.outer, part.inner, line.inner, vector.inner});
    s_.bind(part.inner, LoopKind::thread);
    s_.bind(line.inner, LoopKind::thread);
    s_.annotate(part.outer, LoopKind::unrolled);
    s_.annotate(vector.inner, LoopKind::vectorized);
  }

  Scheduler& s_;
  const Product& p_;
  const Tile tile_;
};

/// Tiles of at most the axis; what does not divide it is guarded.
std::vector<Choice> cuts(std::int64_t extent, const std::vector<std::int64_t>& strips) {
  std::vector<Choice> options;
  for (std::int64_t apart : {1, 2})
    for (std::int64_t threads : {1, 2, 4, 8, 16, 32})
      for (std::int64_t strip : strips)
        if (const std::int64_t whole = apart * threads * strip; whole <= 128 && whole <= extent)
          options.push_back({apart, threads, strip});
  return options;
}

/// Parts of the sum that divide it.
std::vector<std::int64_t> depths(std::int64_t depth) {
  std::vector<std::int64_t> options;
  for (std::int64_t part = 4; part <= std::min<std::int64_t>(depth, 32); ++part)
    if (depth % part == 0) options.push_back(part);
  if (options.empty()) options.push_back(depth <= 32 ? depth : 16);
  return options;
}

std::optional<std::string> violated(const Choices& choices, const GpuLimits& limits) {
  const Tile tile = tile_of(choices);
  const std::int64_t threads = tile.threads();
  if (threads < kWarp || threads > 512 || threads % kWarp != 0)
    return fmt::format("{} threads; whole warps of at most 512 are worth a block", threads);
  if (tile.bytes() > limits.block_memory_per_block)
    return fmt::format("{} bytes of block memory; a block has {}", tile.bytes(), limits.block_memory_per_block);
  // Source: the registers that ptxas gave tiles of this form, 1.25 a sum and 60 for the rest.
  const std::int64_t registers = tile.sums() * 5 / 4 + 60;
  if (registers > limits.registers_per_thread || registers * threads > limits.registers_per_sm)
    return fmt::format("about {} registers for {} threads", registers, threads);
  if (tile.sums() * tile.depth > 2048) return fmt::format("{} multiply-adds in one body", tile.sums() * tile.depth);
  return std::nullopt;
}

/// A guess at what a tile costs: its waves of blocks, what it computes beyond the ends, what it copies for each sum.
double guess(const Product& p, const Tile& tile, const GpuTarget& gpu) {
  const GpuLimits& limits = limits_of(gpu);
  const auto up = [](double a, double b) { return std::ceil(a / b); };
  const double blocks = up(static_cast<double>(p.rows), static_cast<double>(tile.rows.whole())) *
                        up(static_cast<double>(p.columns), static_cast<double>(tile.columns.whole())) *
                        static_cast<double>(p.batch);
  const Residency held =
      residency(limits, static_cast<int>(tile.threads()), static_cast<int>(tile.sums() * 5 / 4 + 60), tile.bytes());
  if (held.blocks == 0) return HUGE_VAL;
  const double steps = up(static_cast<double>(p.depth), static_cast<double>(tile.depth));
  const double multiply_adds = static_cast<double>(tile.rows.whole() * tile.columns.whole() * tile.depth);
  const auto wide = [](const Cut& cut) { return cut.apart * ((cut.strip + 3) / 4); };  // accesses of 16 bytes
  // The left part is read along the depth, four steps at once.
  const double loads =
      static_cast<double>(tile.threads() * tile.depth) *
      (static_cast<double>(tile.rows.apart * tile.rows.strip) / 4 + static_cast<double>(wide(tile.columns)));
  const double copies = 13.0 * static_cast<double>(tile.depth * (tile.rows.whole() + tile.columns.whole())) / 4;
  const double slots = (multiply_adds + loads + copies) / limits.lanes_per_sm;
  const double resident = std::min<double>(held.blocks, up(blocks, gpu.sms));
  const double warps = resident * static_cast<double>(tile.threads()) / kWarp;
  const double busy = std::min(1.0, 0.25 + warps / 16);  // few warps leave issue slots empty
  return up(blocks, gpu.sms) * steps * (slots / busy + 90 / std::max(1.0, resident));
}

}  // namespace

std::optional<Sketch> product_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<Product> product = as_product(dag);
  if (!product) return std::nullopt;
  const GpuTarget gpu = target.gpu();
  Sketch sketch;
  sketch.name = "product";
  sketch.decisions = {
      {"rows", "rows of a tile: strips of a thread, threads, rows of a strip", cuts(product->rows, {1, 2, 4, 8}), 0},
      {"columns", "columns of a tile: strips of a thread, threads, columns of a strip",
       cuts(product->columns, {4, 1, 2}), 0},
      {"depth", "steps of the sum that are copied together", single(depths(product->depth)), 0},
      {"stages", "copies under way at once, and the one that is read", single({1, 2, 3, 4}), 0},
  };
  sketch.constraints = {{{"rows", "columns", "depth", "stages"},
                         [gpu](const Choices& choices) { return violated(choices, limits_of(gpu)); }}};
  sketch.build = [p = *product](Scheduler& s, const Choices& choices) { ProductBuilder(s, p, tile_of(choices)).run(); };
  double best = HUGE_VAL;
  for (const Choice& rows : sketch.decisions[0].options)
    for (const Choice& columns : sketch.decisions[1].options)
      for (const std::int64_t depth : depths(product->depth)) {
        const Choices choices{{"rows", rows}, {"columns", columns}, {"depth", {depth}}, {"stages", {3}}};
        if (violated(choices, limits_of(gpu))) continue;
        const double cost = guess(*product, tile_of(choices), gpu);
        if (cost < best) best = cost, sketch.preferred = choices;
      }
  if (sketch.preferred.empty()) return std::nullopt;
  return sketch;
}

}  // namespace whet
