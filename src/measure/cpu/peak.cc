#include "measure/cpu/peak.h"

#include <algorithm>

#include "artifact/cpu/isa.h"
#include "codegen/compile.h"
#include "machine/together.h"

namespace whet {
namespace {

// More than latency times throughput of any processor known (2 x 5 cycles), and few enough for 16 registers.
constexpr std::int64_t kChains = 12;
constexpr int kBursts = 20;

Tensor ones(DType dtype, std::int64_t size) {
  Tensor tensor(dtype, {size});
  for (std::int64_t i = 0; i < size; ++i) tensor.set(i, 1);
  return tensor;
}

/// Sums in a tile, and pairs of factors; tiles of sums of a burst, and of each factor.
constexpr std::int64_t kTileSums = 256, kTilePairs = 256, kTiles = 4, kFactorTiles = 2;
/// A step of them takes as long as that of several chains.
constexpr std::int64_t kTileRounds = 8;

bool by_tiles(const CpuTarget& cpu, DType factors) { return factors == DType::bf16 && cpu.bf16_tiles; }

/// Factors in a vector of `lanes` sums.
std::int64_t factors_of(DType factors, int lanes) { return lanes * 4 / size_of(factors); }

/// Elements of the burst's first argument, and of a thread in the second.
std::int64_t factor_elements(const CpuTarget& cpu, DType factors) {
  return by_tiles(cpu, factors) ? kFactorTiles * kTilePairs * 2 : factors_of(factors, cpu.lanes(4));
}
std::int64_t sum_elements(const CpuTarget& cpu, DType factors) {
  return by_tiles(cpu, factors) ? kTiles * kTileSums : kChains * cpu.lanes(4);
}

/// held[first + j] += ones[0..1] * ones[2j..2j+1] for 16 sums: Intrinsic::dot2.
Stmt add_pairs(Program& p, BufferId held, BufferId ones, std::int64_t first, int lanes) {
  const VarId j = p.fresh_var(), k = p.fresh_var();
  const Expr sum = var(j, "j"), pair = var(k, "k"), at = sum + first;
  const auto factor = [&](const Expr& index) {
    return cast(DType::f32, load(DType::bf16, SourceId(ones.value), {index}));
  };
  const Expr old = load(DType::f32, SourceId(held.value), {at});
  Stmt store = make_stmt(Store{held, {at}, old + factor(pair) * factor(sum * 2 + pair), Expr()});
  Stmt pairs = make_stmt(Loop{k, "k", int_const(0), int_const(2), LoopKind::serial, std::move(store)});
  return make_stmt(Loop{j, "j", int_const(0), int_const(lanes), LoopKind::serial, std::move(pairs), Intrinsic::dot2});
}

/// ends[sums + (i, j)] += ones[left + (i, k, w)] * ones[right + (k, j, w)]: Intrinsic::tile_bf16.
Stmt add_tile(Program& p, BufferId ends, BufferId ones, const Expr& sums, std::int64_t left, std::int64_t right) {
  const VarId i = p.fresh_var(), j = p.fresh_var(), k = p.fresh_var(), w = p.fresh_var();
  const Expr row = var(i, "i"), column = var(j, "j"), word = var(k, "k"), half = var(w, "w");
  const auto factor = [&](const Expr& index) {
    return cast(DType::f32, load(DType::bf16, SourceId(ones.value), {index}));
  };
  const Expr at = sums + row * 16 + column, a = row * 32 + word * 2 + half + left,
             b = word * 32 + column * 2 + half + right;
  Stmt nest =
      make_stmt(Store{ends, {at}, load(DType::f32, SourceId(ends.value), {at}) + factor(a) * factor(b), Expr()});
  const auto loop = [&](VarId index, const char* name, std::int64_t extent, Intrinsic intrinsic) {
    nest = make_stmt(Loop{index, name, int_const(0), int_const(extent), LoopKind::serial, std::move(nest), intrinsic});
  };
  loop(w, "w", 2, Intrinsic::none), loop(j, "j", 16, Intrinsic::none), loop(k, "k", 16, Intrinsic::none);
  loop(i, "i", 16, Intrinsic::tile_bf16);
  return nest;
}

/// Two tiles of left factors by two of right ones.
Program tile_burst(std::int64_t rounds, std::int64_t threads) {
  Program p;
  p.name = "peak";
  const BufferId ones = p.add({"ones", DType::bf16, {kFactorTiles * kTilePairs * 2}, Scope::argument, 0, false, false});
  const BufferId ends = p.add({"chains", DType::f32, {threads * kTiles * kTileSums}, Scope::argument, 1, false, true});
  const VarId thread = p.fresh_var();
  const Expr own = threads == 1 ? int_const(0) : var(thread, "thread") * (kTiles * kTileSums);
  std::vector<Stmt> step;
  for (std::int64_t tile = 0; tile < kTiles; ++tile)
    step.push_back(add_tile(p, ends, ones, own + tile * kTileSums, tile / kFactorTiles * kTilePairs * 2,
                            tile % kFactorTiles * kTilePairs * 2));
  p.body = make_stmt(
      Loop{p.fresh_var(), "round", int_const(0), int_const(rounds), LoopKind::serial, block(std::move(step))});
  if (threads > 1)
    p.body = make_stmt(Loop{thread, "thread", int_const(0), int_const(threads), LoopKind::parallel, std::move(p.body)});
  return p;
}

}  // namespace

Program burst_program(const CpuTarget& cpu, std::int64_t rounds, std::int64_t threads, DType factors) {
  if (by_tiles(cpu, factors)) return tile_burst(std::max<std::int64_t>(rounds / kTileRounds, 1), threads);
  const int lanes = cpu.lanes(4);
  Program p;
  p.name = "peak";
  const BufferId ones = p.add({"ones", factors, {factors_of(factors, lanes)}, Scope::argument, 0, false, false});
  const BufferId ends = p.add({"chains", DType::f32, {threads * kChains * lanes}, Scope::argument, 1, false, true});
  const BufferId held = p.add({"held", DType::f32, {kChains * lanes}, Scope::registers, -1, false, true});
  const VarId thread = p.fresh_var();
  const auto at = [&](std::int64_t first) { return ramp(int_const(first), 1, lanes); };
  // Of the thread's own chains.
  const auto end_at = [&](std::int64_t first) {
    return threads == 1 ? at(first) : ramp(var(thread, "thread") * (kChains * lanes) + first, 1, lanes);
  };
  const auto read = [&](BufferId buffer, std::int64_t first) {
    return load(DType::f32, SourceId(buffer.value), {at(first)});
  };
  std::vector<Stmt> begin, step, end;
  for (std::int64_t chain = 0; chain < kChains; ++chain) {
    const std::int64_t first = chain * lanes;
    const Expr value = read(held, first), one = read(ones, 0);
    // An AArch64 instruction adds to a register: the chain is the sum there, and what it adds comes from the next chain. A
    // product that is the same in all rounds would be computed ahead.
    const Expr next_chain = read(held, (chain + 1) % kChains * lanes);
    const Expr fused = cpu.isa == Isa::aarch64 ? next_chain * one + value : value * one + one;
    const Expr next = cpu.fma ? fused : chain % 2 == 0 ? value + one : value * one;
    begin.push_back(
        make_stmt(Store{held, {at(first)}, load(DType::f32, SourceId(ends.value), {end_at(first)}), Expr()}));
    step.push_back(factors == DType::bf16 ? add_pairs(p, held, ones, first, lanes)
                                          : make_stmt(Store{held, {at(first)}, next, Expr()}));
    end.push_back(make_stmt(Store{ends, {end_at(first)}, value, Expr()}));
  }
  Stmt loop = make_stmt(
      Loop{p.fresh_var(), "round", int_const(0), int_const(rounds), LoopKind::serial, block(std::move(step))});
  p.body = block({block(std::move(begin)), std::move(loop), block(std::move(end))});
  if (threads > 1)
    p.body = make_stmt(Loop{thread, "thread", int_const(0), int_const(threads), LoopKind::parallel, std::move(p.body)});
  return p;
}

double burst_operations(const CpuTarget& cpu, std::int64_t rounds, DType factors) {
  if (by_tiles(cpu, factors))
    return 4 * static_cast<double>(kTiles * kTileSums * 16 * std::max<std::int64_t>(rounds / kTileRounds, 1));
  const double each = factors == DType::bf16 ? 4 : cpu.fma ? 2 : 1;
  return each * static_cast<double>(kChains * cpu.lanes(4) * rounds);
}

Result<PeakBurst> PeakBurst::compile(const Target& target, DType factors) {
  const CpuTarget& cpu = target.cpu();
  WHET_TRY(const Kernel kernel, compile_kernel(burst_program(cpu, kPeakRounds, 1, factors), target));
  WHET_TRY(LoadedKernel loaded, LoadedKernel::load(kernel));
  return PeakBurst(std::move(loaded), ones(factors, factor_elements(cpu, factors)), sum_elements(cpu, factors),
                   burst_operations(cpu, kPeakRounds, factors));
}

double PeakBurst::measure(const std::vector<int>& cpus) const {
  (void)permit_tiles();  // the burst may have some
  Tensor factors = factors_;
  std::vector<Tensor> chains;  // one a thread
  for (std::size_t i = 0; i < cpus.size(); ++i) chains.push_back(ones(DType::f32, sums_));
  const auto burst = [&](std::size_t thread) {
    void* buffers[] = {factors.data(), chains[thread].data()};
    whet_kernel_args args = {};
    args.buffers = buffers, args.workers = 1;
    kernel_.entry()(&args);
  };
  return flops_ * static_cast<double>(cpus.size()) / best_seconds_together(cpus, kBursts, burst) / 1e9;
}

double measure_peak_gflops(const Target& target, const std::vector<int>& cpus, DType factors) {
  const Result<PeakBurst> burst = PeakBurst::compile(target, factors);
  return burst.ok() ? burst->measure(cpus) : 0;
}

}  // namespace whet
