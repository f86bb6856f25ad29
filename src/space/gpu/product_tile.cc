#include "space/gpu/product_tile.h"

#include <algorithm>
#include <numeric>

#include "space/gpu/levels.h"

namespace whet {

TileCopy tile_copy(std::int64_t rows, std::int64_t columns, std::int64_t most_lanes, std::int64_t threads) {
  const std::int64_t lanes = std::gcd(columns, most_lanes);
  const std::int64_t across = std::min(threads, columns / lanes);
  std::int64_t down = std::min(rows, std::max<std::int64_t>(1, threads / across));
  while (rows % down != 0) --down;
  return {lanes, across, down, rows / down * ((columns / lanes + across - 1) / across)};
}

void copy_tile(Scheduler& s, LoopId rows, LoopId columns, const TileCopy& copy, std::int64_t trip) {
  const auto vector = s.split(columns, copy.lanes, Tail::guard);
  const auto line = s.split(vector.outer, copy.across, Tail::guard);
  const auto part = s.split(rows, copy.down, Tail::guard);
  std::vector<LoopId> order = {part.outer, line.outer};
  LoopId unrolled = part.outer;
  if (trip > 0) {
    const auto trips = s.split(part.outer, trip, Tail::guard);
    unrolled = trips.inner;
    order = {trips.outer, line.outer, trips.inner};
  }
  order.insert(order.end(), {part.inner, line.inner, vector.inner});
  s.reorder(order);
  s.bind(part.inner, LoopKind::thread);
  s.bind(line.inner, LoopKind::thread);
  s.annotate(unrolled, LoopKind::unrolled);
  s.annotate(vector.inner, LoopKind::vectorized);
}

std::vector<LoopId> order_of_blocks(Scheduler& s, LoopId rows, LoopId columns, std::int64_t raster) {
  if (raster == 0) return {rows, columns};
  if (raster == 1) return {columns, rows};
  const auto [groups, inside] = s.split(rows, raster, Tail::guard);
  return {groups, columns, inside};
}

void bind_blocks(Scheduler& s, std::vector<LoopId> leads, const std::vector<LoopId>& blocks, std::int64_t min_blocks) {
  // Blocks have three loops at most.
  std::size_t first = 0;
  if (blocks.size() > 2 && !leads.empty()) leads.push_back(blocks[first++]);
  if (leads.size() > 1) leads = {s.fuse(leads)};
  leads.insert(leads.end(), blocks.begin() + static_cast<std::ptrdiff_t>(first), blocks.end());
  for (LoopId loop : leads) s.bind(loop, LoopKind::block);
  if (min_blocks > 0) s.min_blocks(leads.front(), min_blocks);
}

void add_parts(Scheduler& s, const ProductForm& p) {
  constexpr std::int64_t kThreads = 128;
  const OpId sum(p.sum.value + 1);
  const OpId target = p.output ? OpId(p.output->value + 1) : sum;
  std::vector<LoopId> outer = spatial_loops(s, target);
  const auto columns = s.split(outer.back(), std::gcd(p.columns, 4), Tail::guard);
  outer.back() = columns.outer;
  std::vector<LoopId> inside = reduce_loops(s, target);
  inside.push_back(columns.inner);
  const LoopId threads = bind_levels(s, cut_levels(s, outer, kThreads), inside);
  s.annotate(columns.inner, LoopKind::vectorized);
  if (target == sum) {
    s.annotate(inside.front(), LoopKind::unrolled);
    return s.cache_write(sum, threads);
  }
  std::vector<LoopId> loops = s.compute_at(sum, threads, StoredIn::registers);
  std::rotate(loops.begin(), loops.end() - 1, loops.end());  // the parts outside
  s.reorder(loops);
  for (std::size_t k = 0; k + 1 < loops.size(); ++k) s.annotate(loops[k], LoopKind::unrolled);
  s.annotate(loops.back(), LoopKind::vectorized);
}

namespace {

class ProductBuilder {
 public:
  ProductBuilder(Scheduler& s, const ProductForm& p, const ProductTile& tile) : s_(s), p_(p), tile_(tile) {}

  ProductLoops tile() { return are_alone() ? sums_alone() : epilogue(); }
  bool are_alone() const { return tile_.parts > 1 || !p_.output; }

  void copy_operands(LoopId depth) {
    copy(p_.left, depth, left_copy(p_, tile_));
    copy(p_.right, depth, right_copy(p_, tile_));
    // Neighbouring threads read the same step of different rows.
    if (tile_.pad > 0) s_.pad_storage(p_.left, tile_.pad);
    if (tile_.pad > 0 && p_.of_bytes) s_.pad_storage(p_.right, tile_.pad);
    if (tile_.stages > 1) s_.pipeline(depth, tile_.stages);
  }

 private:
  struct Levels {
    LoopId block, apart, thread, strip;
  };
  Levels cut(LoopId loop, const TileCut& cut) {
    const auto tile = s_.split(loop, cut.whole(), Tail::guard);
    const auto apart = s_.split(tile.inner, cut.threads * cut.strip, Tail::guard);
    const auto thread = s_.split(apart.inner, cut.strip, Tail::guard);
    return {tile.outer, apart.outer, thread.outer, thread.inner};
  }

  /// The loops over the terms of a step: those that are not unrolled, if any, those that are and, of bytes, those which one
  /// instruction adds up.
  struct Terms {
    LoopId rolled, steps, four;
  };
  Terms terms_of(LoopId depth) {
    if (p_.of_bytes) {
      const auto [steps, four] = s_.split(depth, kDotTerms, Tail::guard);
      return {LoopId(), steps, four};
    }
    if (tile_.unrolled() == tile_.depth) return {LoopId(), depth, LoopId()};
    const auto [rolled, steps] = s_.split(depth, tile_.unrolled(), Tail::guard);
    return {rolled, steps, LoopId()};
  }

  /// The result's loops: blocks, virtual threads, threads. Gives the levels of rows and columns.
  std::pair<Levels, Levels> nest(OpId op, const std::vector<LoopId>& reduce, LoopId innermost = LoopId()) {
    std::vector<LoopId> loops = s_.loops(op);
    std::vector<LoopId> leads(loops.begin(), loops.end() - std::ssize(reduce_loops(s_, op)) - 2);
    const Levels rows = cut(loops[leads.size()], tile_.rows), columns = cut(loops[leads.size() + 1], tile_.columns);
    const std::vector<LoopId> blocks = order_of_blocks(s_, rows.block, columns.block, tile_.raster);
    std::vector<LoopId> order = leads;
    order.insert(order.end(), blocks.begin(), blocks.end());
    for (LoopId loop : {rows.apart, columns.apart, rows.thread, columns.thread}) order.push_back(loop);
    order.insert(order.end(), reduce.begin(), reduce.end());
    order.push_back(rows.strip), order.push_back(columns.strip);
    if (innermost.valid()) order.push_back(innermost);
    s_.reorder(order);
    bind_blocks(s_, std::move(leads), blocks, tile_.min_blocks);
    s_.bind(rows.apart, LoopKind::virtual_thread), s_.bind(columns.apart, LoopKind::virtual_thread);
    s_.bind(rows.thread, LoopKind::thread), s_.bind(columns.thread, LoopKind::thread);
    return {rows, columns};
  }

  /// Sums in registers of the epilogue's threads.
  ProductLoops epilogue() {
    const auto [rows, columns] = nest(*p_.output, {});
    std::vector<LoopId> loops = s_.compute_at(p_.sum, columns.thread, StoredIn::registers);
    const auto depth = s_.split(loops.back(), tile_.depth, Tail::guard);
    loops.pop_back();
    const Terms terms = terms_of(depth.inner);
    std::vector<LoopId> order{depth.outer};
    if (terms.rolled.valid()) order.push_back(terms.rolled);
    order.push_back(terms.steps);
    if (p_.has_outer) {
      order.insert(order.begin(), loops.back());
      loops.pop_back();
    }
    order.insert(order.end(), loops.begin(), loops.end());
    if (terms.four.valid()) order.push_back(terms.four);
    s_.reorder(order);
    finish(terms, loops[loops.size() - 2], loops.back());
    s_.annotate(rows.strip, LoopKind::unrolled);
    s_.annotate(columns.strip, LoopKind::vectorized);
    return {depth.outer, columns.thread};
  }

  ProductLoops sums_alone() {
    const std::vector<LoopId> loops = s_.loops(p_.sum);
    const auto depth = s_.split(loops.back(), tile_.depth, Tail::guard);
    const Terms terms = terms_of(depth.inner);
    std::vector<LoopId> reduce{depth.outer};
    if (terms.rolled.valid()) reduce.push_back(terms.rolled);
    reduce.push_back(terms.steps);
    if (p_.has_outer) reduce.insert(reduce.begin(), loops[loops.size() - 2]);
    const auto [rows, columns] = nest(p_.sum, reduce, terms.four);
    finish(terms, rows.strip, columns.strip);
    return {depth.outer, columns.thread};
  }

  void finish(const Terms& terms, LoopId rows, LoopId columns) {
    s_.annotate(terms.steps, LoopKind::unrolled);
    s_.annotate(rows, LoopKind::unrolled);
    s_.annotate(columns, p_.of_bytes ? LoopKind::unrolled : LoopKind::vectorized);
    if (p_.of_bytes) s_.tensorize(terms.four, p_.has_sign ? Intrinsic::dp4a_s8 : Intrinsic::dp4a_u8);
  }

  /// A part of an operand in block memory, whole vectors along rows.
  void copy(OpId op, LoopId at, const TileCopy& copy) {
    // (lead, rows, outer, depth) and (outer, depth, lead, columns), as far as they are there: one of lead and outer here.
    // Of bytes the second is (columns, outer, depth).
    const std::vector<LoopId> loops = s_.compute_at(op, at, StoredIn::block);
    const bool led = op == p_.left ? p_.has_lead : p_.has_outer && !p_.of_bytes;
    copy_tile(s_, loops[led ? 1 : 0], loops.back(), copy);
  }

  Scheduler& s_;
  const ProductForm& p_;
  const ProductTile tile_;
};

}  // namespace

TileCopy left_copy(const ProductForm& form, const ProductTile& tile) {
  return tile_copy(tile.rows.whole(), tile.depth, std::gcd(form.depth, form.left_run), tile.threads());
}
TileCopy right_copy(const ProductForm& form, const ProductTile& tile) {
  if (form.of_bytes)
    return tile_copy(tile.columns.whole(), tile.depth, std::gcd(form.depth, form.right_run), tile.threads());
  return tile_copy(tile.depth, tile.columns.whole(), std::gcd(form.columns, form.right_run), tile.threads());
}

ProductLoops tile_product(Scheduler& s, const ProductForm& form, const ProductTile& tile) {
  return ProductBuilder(s, form, tile).tile();
}

void copy_operands(Scheduler& s, const ProductForm& form, const ProductTile& tile, LoopId depth) {
  ProductBuilder(s, form, tile).copy_operands(depth);
}

void build_product(Scheduler& s, const ProductForm& form, const ProductTile& tile) {
  s = form.start(tile.parts);
  ProductBuilder builder(s, form, tile);
  const ProductLoops loops = builder.tile();
  if (builder.are_alone()) s.cache_write(form.sum, loops.threads);
  builder.copy_operands(loops.depth);
  if (tile.parts > 1) add_parts(s, form);
  pack_weights(s, form);
}

void pack_weights(Scheduler& s, const ProductForm& form) {
  for (const ComputedAhead& ahead : form.ahead) s.pack(ahead.constant, ahead.copy);
}

}  // namespace whet
