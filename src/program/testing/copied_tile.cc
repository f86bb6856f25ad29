#include "program/testing/copied_tile.h"

#include "program/testing/launch_sketch.h"

namespace whet::testing {
namespace {

constexpr std::int64_t kRows = 16, kColumns = 32, kSteps = 20;
constexpr std::int64_t kTileRows = 8, kTileColumns = 16, kTileSteps = 4;
constexpr std::int64_t kTiles = kSteps / kTileSteps, kThreads = 64;
constexpr std::int64_t kAcross = kColumns / kTileColumns, kGrid = kRows / kTileRows * kAcross;

class Tile {
 public:
  explicit Tile(const CopiedTile& options) : o_(options), ahead_(options.stages - 1) {
    const std::int64_t buffered = options.stages - options.fewer_stages;
    s_.p.name = "tile";
    x_ = s_.argument("x", {kRows, kSteps});
    w_ = s_.argument("w", {kSteps, kColumns});
    out_ = s_.argument("out", {kRows, kColumns}, true);
    u_ = s_.buffer("u", {buffered, kTileRows, kTileSteps}, Scope::block);
    v_ = s_.buffer("v", {buffered, kTileSteps, kTileColumns}, Scope::block);
    acc_ = s_.buffer("acc", {2}, Scope::registers);
  }

  Program run() {
    std::vector<Stmt> body{pairs([&](const Expr& j) { return store(acc_, {j}, float_const(0)); })};
    if (ahead_ > 0) {
      const Expr tile = s_.index("first");
      body.push_back(loop(tile, int_const(ahead_), block({fetch(tile), commit()})));
    }
    const Expr k = s_.index("k");
    body.push_back(loop(k, int_const(kTiles), ahead_ > 0 ? ahead(k) : one_stage(k)));
    body.push_back(
        pairs([&](const Expr& j) { return store(out_, {row(), first_column() + column(j)}, s_.read(acc_, {j})); }));
    return s_.with(s_.launch(kGrid, kThreads, block(std::move(body))));
  }

 private:
  Expr row() const { return floordiv(s_.b, kAcross) * kTileRows + floordiv(s_.t, 8); }
  Expr first_column() const { return floormod(s_.b, kAcross) * kTileColumns; }
  Expr column(const Expr& j) const { return floormod(s_.t, 8) * 2 + j; }
  Expr stage(const Expr& tile) const { return floormod(tile, static_cast<std::int64_t>(o_.stages - o_.fewer_stages)); }

  template <typename F>
  Stmt pairs(const F& body) {
    const Expr j = s_.index("j");
    return loop(j, int_const(2), body(j), LoopKind::unrolled);
  }

  Stmt fetch(const Expr& tile) {
    const Expr r = floormod(floordiv(s_.t, kTileSteps), kTileRows), c = floormod(s_.t, kTileSteps);
    const Stmt x = async(
        store(u_, {stage(tile), r, c}, s_.read(x_, {floordiv(s_.b, kAcross) * kTileRows + r, tile * kTileSteps + c})));
    const Expr n = floormod(s_.t, kTileColumns), step = floordiv(s_.t, kTileColumns);
    const Stmt w =
        async(store(v_, {stage(tile), step, n}, s_.read(w_, {tile * kTileSteps + step, first_column() + n})));
    return block({o_.twice ? x : when(s_.t < int_const(kTileRows * kTileSteps), x),
                  o_.narrow ? when(s_.t < int_const(kThreads - 1), w) : w});
  }

  Stmt work(const Expr& k) {
    const Expr i = s_.index("i"), at = stage(k + o_.read_stage);
    return loop(i, int_const(kTileSteps), pairs([&](const Expr& j) {
                  const Expr product = s_.read(u_, {at, floordiv(s_.t, 8), i}) * s_.read(v_, {at, i, column(j)});
                  return store(acc_, {j}, s_.read(acc_, {j}) + product);
                }));
  }

  Stmt meet(int pending) {
    const Stmt waiting = o_.waits ? wait(pending + o_.waits_longer) : Stmt();
    const Stmt meeting = o_.barrier ? barrier() : Stmt();
    return o_.barrier_after_wait ? block({waiting, meeting}) : block({meeting, waiting});
  }

  Stmt one_stage(const Expr& k) {
    return block({o_.first_barrier ? barrier() : Stmt(), fetch(k), o_.commits ? commit() : Stmt(), meet(0), work(k)});
  }

  Stmt ahead(const Expr& k) {
    const Stmt commits = o_.commits ? commit() : Stmt();
    const Stmt copies = fetch(k + ahead_);
    const Expr more = k < int_const(kTiles - ahead_);
    const Stmt refill = o_.empty_commits ? block({when(more, copies), commits}) : when(more, block({copies, commits}));
    return o_.refill_last ? block({meet(static_cast<int>(ahead_) - 1), work(k), refill})
                          : block({meet(static_cast<int>(ahead_) - 1), refill, work(k)});
  }

  CopiedTile o_;
  std::int64_t ahead_;  ///< tiles that are copied before they are used
  LaunchSketch s_;
  BufferId x_, w_, out_, u_, v_, acc_;
};

}  // namespace

Program copied_tile(const CopiedTile& options) { return Tile(options).run(); }

std::vector<Tensor> tile_arguments(std::uint64_t seed) {
  Rng rng(seed);
  return {Tensor::random({DType::f32, {kRows, kSteps}}, rng), Tensor::random({DType::f32, {kSteps, kColumns}}, rng),
          Tensor(DType::f32, {kRows, kColumns})};
}

Tensor tile_product(const std::vector<Tensor>& arguments) {
  Tensor out(DType::f32, {kRows, kColumns});
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t c = 0; c < kColumns; ++c) {
      float sum = 0;
      for (std::int64_t k = 0; k < kSteps; ++k) {
        const float product = static_cast<float>(arguments[0].get(r * kSteps + k)) *
                              static_cast<float>(arguments[1].get(k * kColumns + c));
        sum += product;
      }
      out.set(r * kColumns + c, sum);
    }
  }
  return out;
}

}  // namespace whet::testing
