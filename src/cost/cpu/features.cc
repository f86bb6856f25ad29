#include "cost/cpu/features.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cost/feature_row.h"
#include "cost/nest.h"

namespace whet {
namespace {

/// A middling core: cycles a second, vector multiply-adds, loads and stores a cycle, and bytes a cycle that the second
/// and third level and memory deliver to one core. Only their ratios matter, and those hardly differ between machines.
constexpr double kHertz = 3e9, kMultiplyAdds = 2, kLoads = 2, kStores = 1;
constexpr double kCallCycles = 10;  ///< of one vector through exp and the like
constexpr std::array<double, 3> kBytesACycle = {40, 12, 5};
constexpr double kLoopCycles = 2;  ///< of counting and branching
constexpr std::size_t kOps = 3, kAccesses = 4;

/// What one op costs, taken apart.
struct NestCost {
  const Nest* nest = nullptr;
  double runs = 0, workers = 1, imbalance = 1;
  double lanes = 1;                       ///< elements of the vectorized loop
  double vectors = 1, waste = 1;          ///< registers that they fill, and filled / used lanes
  double unrolled = 1;                    ///< statements of a block, a vector counted as one
  double accumulators = 0;                ///< registers of the op's own elements
  double loads = 0, stores = 0;           ///< instructions of one block
  double reduced = 1;                     ///< steps between loading and storing the accumulators
  double overhead = 1;                    ///< loop iterations around blocks
  std::array<double, 3> traffic{};        ///< bytes from the second level, the third, memory, all workers together
  double seconds = 0, issue_seconds = 0;  ///< with and without the traffic
};

double bytes_in_use(const Nest& nest, std::size_t depth) {
  double sum = 0;
  for (const Access& access : nest.accesses) sum += access.bytes(depth);
  return sum;
}

/// Bytes that pass into a cache of `capacity`: the outermost loops whose data does not fit bring it anew each time,
/// except for what the loop does not move.
double traffic(const Nest& nest, double capacity) {
  std::size_t depth = nest.loops.size();
  while (depth > 0 && bytes_in_use(nest, depth - 1) <= capacity) --depth;
  double sum = 0;
  for (const Access& access : nest.accesses) {
    std::size_t from = depth;
    while (from > 0 && !access.depends_on(from - 1)) --from;
    sum += access.bytes(depth) * nest.trips(0, from);
  }
  return sum;
}

class Coster {
 public:
  Coster(const Target& target, std::vector<Nest> nests) : target_(target), nests_(std::move(nests)) {
    for (const Nest& nest : nests_) costs_.push_back(cost(nest));
  }
  const std::vector<NestCost>& costs() const { return costs_; }
  const std::vector<Nest>& nests() const { return nests_; }

 private:
  NestCost cost(const Nest& nest) const {
    NestCost c;
    c.nest = &nest;
    c.runs = nest.runs();
    share(nest, c);
    block(nest, c);
    const std::array<double, 3> capacity = {static_cast<double>(target_.cpu().l1_bytes),
                                            static_cast<double>(target_.cpu().l2_bytes),
                                            static_cast<double>(target_.cpu().l3_bytes)};
    for (std::size_t level = 0; level < 3; ++level) c.traffic[level] = traffic(nest, 0.75 * capacity[level]);
    double cycles = issue_cycles(nest, c);
    c.issue_seconds = cycles * c.imbalance / kHertz;
    for (std::size_t level = 0; level < 3; ++level)
      cycles = std::max(cycles, c.traffic[level] / kBytesACycle[level] / c.workers);
    c.seconds = cycles * c.imbalance / kHertz;
    return c;
  }

  void share(const Nest& nest, NestCost& c) const {
    double parallel = 1;
    for (const Nest::Loop& loop : nest.loops)
      if (loop.kind == LoopKind::parallel) parallel *= loop.extent;
    c.workers = std::min<double>(parallel, target_.threads);
    c.imbalance = std::ceil(parallel / target_.threads) * target_.threads / parallel;
    if (parallel < target_.threads) c.imbalance = 1;
  }

  void block(const Nest& nest, NestCost& c) const {
    const std::size_t begin = nest.block(), end = nest.loops.size();
    const double width = target_.cpu().lanes(4);
    std::size_t vector = end;
    for (std::size_t k = begin; k < end; ++k) {
      const Nest::Loop& loop = nest.loops[k];
      if (loop.joined) continue;
      if (loop.kind != LoopKind::vectorized) {
        c.unrolled *= loop.extent;
        continue;
      }
      vector = k;
      c.lanes = loop.extent;
      c.vectors = std::ceil(loop.extent / width);
      c.waste = c.vectors * width / loop.extent;
    }
    if (nest.registers_from < end) {
      c.accumulators = c.vectors;
      for (std::size_t k = nest.registers_from; k < end; ++k) {
        const Nest::Loop& loop = nest.loops[k];
        if (loop.joined) continue;
        if (loop.reduce)
          c.reduced *= loop.extent;
        else if (loop.kind != LoopKind::vectorized)
          c.accumulators *= loop.extent;
      }
    }
    for (const Access& access : nest.accesses) count(nest, access, begin, vector, c);
    c.overhead = nest.trips(0, begin);
  }

  /// Loads or stores of one access in one block: one for each place that the unrolled loops reach, whole vectors where
  /// the lanes lie behind each other, one where they are the same element, and one a lane otherwise.
  void count(const Nest& nest, const Access& access, std::size_t begin, std::size_t vector, NestCost& c) const {
    double instructions = access.times;
    for (std::size_t k = begin; k < nest.loops.size(); ++k)
      if (k != vector && !nest.loops[k].joined && access.depends_on(k)) instructions *= nest.loops[k].extent;
    if (vector < nest.loops.size() && access.depends_on(vector)) {
      const double step = access.reach(vector) / std::max(1.0, nest.loops[vector].extent - 1);
      instructions *= access.packed || step <= 1.01 ? c.vectors : c.lanes;
    }
    if (access.store)
      c.stores += c.accumulators > 0 ? instructions / c.reduced : instructions;
    else
      c.loads += instructions;
    // Without a cache in registers a reduction reads what it adds to.
    if (access.store && c.accumulators == 0 && has_reduction(nest)) c.loads += instructions;
  }
  static bool has_reduction(const Nest& nest) {
    return std::any_of(nest.loops.begin(), nest.loops.end(), [](const Nest::Loop& l) { return l.reduce && l.own; });
  }

  /// Of one worker.
  double issue_cycles(const Nest& nest, const NestCost& c) const {
    const double blocks = c.overhead;
    const double statements = c.unrolled * c.vectors;
    // A sum of products is one instruction.
    const double operations = nest.flops > 1 && has_reduction(nest) ? nest.flops - 1 : nest.flops;
    const double compute = statements * (operations / kMultiplyAdds + nest.calls * kCallCycles);
    const double latency = has_reduction(nest) && c.accumulators > 0 ? 4 * c.unrolled * c.vectors / c.accumulators : 0;
    double spill = 0;
    if (c.accumulators + 2 > target_.cpu().vector_registers)
      spill = c.accumulators + 2 - target_.cpu().vector_registers;
    const double issue =
        std::max({compute, c.loads / kLoads + spill, c.stores / kStores + spill, latency}) + kLoopCycles;
    return blocks * issue / c.workers;
  }

  const Target& target_;
  std::vector<Nest> nests_;
  std::vector<NestCost> costs_;
};

void add_access(FeatureRow& row, const Nest* nest, const Access* access, std::size_t number) {
  const std::string outer = row.prefix;
  if (row.names) row.prefix += number == 0 ? "store " : "read" + std::to_string(number) + " ";
  const std::size_t innermost = nest && !nest->loops.empty() ? nest->loops.size() - 1 : 0;
  double step = 0;
  if (access && !nest->loops.empty())
    step = access->reach(innermost) / std::max(1.0, nest->loops[innermost].extent - 1);
  const double touched = access ? access->elements(0) : 0;
  row.add("bytes", log2p(touched * (access ? access->element_bytes : 0)));
  row.add("lines of block", log2p(access ? access->bytes(nest->block()) / 64 : 0));
  row.add("bytes of register loops", log2p(access ? access->bytes(nest->registers_from) : 0));
  row.add("step", log2p(access && !access->packed ? step : 1));
  row.add("used again", log2p(access ? nest->runs() / std::max(1.0, touched) : 0));
  row.prefix = outer;
}

void add_nest(FeatureRow& row, const NestCost* cost, const Target& target) {
  static const NestCost kNone;
  const NestCost& c = cost ? *cost : kNone;
  const Nest* nest = c.nest;
  row.add("runs", log2p(c.runs));
  row.add("flops", log2p(nest ? nest->flops : 0));
  row.add("calls", log2p(nest ? nest->calls : 0));
  row.add("workers", static_cast<float>(c.workers / target.threads));
  row.add("imbalance", static_cast<float>(c.imbalance));
  row.add("vectors", log2p(c.vectors));
  row.add("lanes wasted", static_cast<float>(c.waste));
  row.add("unrolled", log2p(c.unrolled));
  row.add("accumulators", static_cast<float>(c.accumulators));
  row.add("registers left", static_cast<float>(target.cpu().vector_registers - c.accumulators));
  row.add("loads a statement", static_cast<float>(c.loads / std::max(1.0, c.unrolled * c.vectors)));
  row.add("stores a statement", static_cast<float>(c.stores / std::max(1.0, c.unrolled * c.vectors)));
  row.add("steps in registers", log2p(c.reduced));
  row.add("blocks", log2p(c.overhead));
  row.add("code", log2p(nest ? c.unrolled * c.vectors * (nest->flops + nest->calls * 8 + 1) : 0));
  const char* const levels[] = {"from L2", "from L3", "from memory"};
  for (std::size_t level = 0; level < 3; ++level) row.add(levels[level], log2p(c.traffic[level]));
  const char* const loops[] = {"innermost loop", "second loop", "third loop"};
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t begin = nest ? nest->block() : 0;
    row.add(loops[k], log2p(k < begin ? nest->loops[begin - 1 - k].extent : 0));
  }
  const char* const sets[] = {"bytes of a block", "bytes of the innermost loop", "bytes of the second loop",
                              "bytes of the third loop"};
  for (std::size_t k = 0; k < 4; ++k) {
    const std::size_t begin = nest ? nest->block() : 0;
    row.add(sets[k], log2p(nest && k <= begin ? bytes_in_use(*nest, begin - k) : 0));
  }
  std::vector<const Access*> accesses;
  if (nest)
    for (const Access& access : nest->accesses) accesses.push_back(&access);
  if (accesses.size() > 2)
    std::stable_sort(accesses.begin() + 1, accesses.end(),
                     [](const Access* a, const Access* b) { return a->elements(0) > b->elements(0); });
  for (std::size_t k = 0; k < kAccesses; ++k) add_access(row, nest, k < accesses.size() ? accesses[k] : nullptr, k);
  row.add("seconds", log2p(c.seconds * 1e9));
}

void add_cpu_features(FeatureRow& row, const LoopTree& tree, const Target& target) {
  const Coster coster(target, nests_of(tree));
  std::vector<const NestCost*> order;
  double seconds = 0, runs = 0, flops = 0, kept = 0, roots = 0;
  for (const NestCost& c : coster.costs()) {
    order.push_back(&c);
    seconds += c.seconds;
    runs += c.runs;
    flops += c.runs * (c.nest->flops + c.nest->calls);
    kept += c.nest->lives_in_registers ? 0 : c.nest->accesses[0].elements(0) * 4;
  }
  roots = static_cast<double>(tree.roots.size());
  std::stable_sort(order.begin(), order.end(),
                   [](const NestCost* a, const NestCost* b) { return a->seconds > b->seconds; });
  row.add("seconds", log2p(seconds * 1e9));
  row.add("ops", static_cast<float>(order.size()));
  row.add("phases", static_cast<float>(roots));
  row.add("runs", log2p(runs));
  row.add("flops", log2p(flops));
  row.add("bytes stored", log2p(kept));
  row.add("packed", static_cast<float>(tree.packs.size()));
  row.add("rfactored", static_cast<float>(tree.rfactors.size()));
  double ahead = 0;
  for (const PrefetchedRead& prefetch : tree.prefetches) ahead += static_cast<double>(prefetch.ahead);
  row.add("prefetched ahead", log2p(ahead));
  row.add("pipelines", static_cast<float>(tree.pipelines.size()));
  row.add("tensor tiles", static_cast<float>(tree.tiles.size()));
  const auto rolls = [](const Placement& place) { return place.rolled.valid(); };
  row.add("rolled", static_cast<float>(std::count_if(tree.places.begin(), tree.places.end(), rolls)));
  for (std::size_t k = 0; k < kOps; ++k) {
    if (row.names) row.prefix = "op" + std::to_string(k + 1) + " ";
    add_nest(row, k < order.size() ? order[k] : nullptr, target);
  }
}

}  // namespace

std::vector<float> cpu_features(const LoopTree& tree, const Target& target) {
  FeatureRow row;
  row.values.reserve(cpu_feature_names().size());
  add_cpu_features(row, tree, target);
  return std::move(row.values);
}

const std::vector<std::string>& cpu_feature_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    FeatureRow row;
    row.names = &list;
    add_cpu_features(row, LoopTree(), Target());
    return list;
  }();
  return names;
}

double cpu_seconds(const LoopTree& tree, const Target& target) {
  const Coster coster(target, nests_of(tree));
  double seconds = 0;
  for (const NestCost& c : coster.costs()) seconds += c.seconds;
  return seconds;
}

double cpu_issue_seconds(const LoopTree& tree, const Target& target) {
  const Coster coster(target, nests_of(tree));
  double seconds = 0;
  for (const NestCost& c : coster.costs()) seconds += c.issue_seconds;
  return seconds;
}

}  // namespace whet
