// Programs with sizes: what is proven for all of them at once, and what runs at each.

#include <gtest/gtest.h>

#include "compute/affine.h"
#include "program/context.h"
#include "program/flatten.h"
#include "program/interpret.h"
#include "program/simplify.h"
#include "program/verify.h"

namespace whet {
namespace sized_program_test {

const Expr n = size_expr(0, "n"), m = size_expr(1, "m");

/// y[i, j] = x[i, j] + 1 for some i, of rows that there are n of.
struct Sketch {
  Program p;
  BufferId x, y;

  explicit Sketch(std::int64_t columns = 4) {
    p.name = "sketch";
    p.sizes = {{"n", 2, 20}, {"m", 1, 6}};
    p.add({.name = "sizes", .dtype = DType::i64, .extents = {2}, .argument = 0});
    x = p.add({.name = "x", .extents = {20, columns}, .argument = 1, .sizes = {n, Expr()}});
    y = p.add({.name = "y", .extents = {20, columns}, .argument = 2, .written = true, .sizes = {n, Expr()}});
  }
  Expr fresh(const char* name) { return var(p.fresh_var(), name); }
  static VarId id(const Expr& v) { return std::get<Var>(v->kind).id; }
  static Stmt loop(const Expr& v, Expr extent, Stmt body, LoopKind kind = LoopKind::serial) {
    return make_stmt(Loop{id(v), std::get<Var>(v->kind).name, int_const(0), std::move(extent), kind, std::move(body)});
  }
  static Stmt let(const Expr& v, Expr value, Stmt body) {
    return make_stmt(Let{id(v), std::get<Var>(v->kind).name, std::move(value), std::move(body)});
  }
  Stmt add_one(const Expr& i, const Expr& j) const {
    return make_stmt(Store{y, {i, j}, load(DType::f32, SourceId(x.value), {i, j}) + float_const(1), Expr()});
  }

  /// Whole tiles of `tile` rows, and the rows behind them.
  ///   whole   tiles are this many fewer than there are
  ///   begin   the remainder begins this many rows later
  ///   more    the remainder has this many more rows
  Program tiles(std::int64_t tile, std::int64_t whole = 0, std::int64_t begin = 0, std::int64_t more = 0) {
    const Expr q = fresh("q"), o = fresh("o"), i = fresh("i"), j = fresh("j");
    std::vector<Stmt> parts = {
        loop(o, q - whole, loop(i, int_const(tile), loop(j, int_const(4), add_one(o * tile + i, j))))};
    Stmt rest;
    for (std::int64_t r = 1; r < tile; ++r) {
      const Expr k = fresh("k"), l = fresh("l");
      const Stmt rows = loop(k, int_const(r + more), loop(l, int_const(4), add_one(q * tile + k + begin, l)));
      rest = make_stmt(If{equal(n - q * tile, int_const(r)), rows, rest});
    }
    parts.push_back(rest);
    p.body = let(q, floordiv(n, tile), block(std::move(parts)));
    return p;
  }
};

std::string refusal(const Program& p) {
  const Status verified = verify(p);
  return verified.ok() ? "" : verified.error().message;
}

/// What the program leaves in y at the sizes, of x[k] = k.
Result<std::vector<Tensor>> run(const Program& p, std::int64_t rows, std::int64_t others = 1) {
  Tensor sizes(DType::i64, {2}), x(DType::f32, {rows, p.buffers[1].extents[1]}), y(DType::f32, x.shape());
  sizes.set_integer(0, rows), sizes.set_integer(1, others);
  for (std::int64_t k = 0; k < x.size(); ++k) x.set(k, static_cast<double>(k)), y.set(k, -1);
  std::vector<Tensor> arguments = {sizes, x, y};
  WHET_RETURN_IF_ERROR(interpret(p, arguments));
  return arguments;
}

bool adds_one_everywhere(const std::vector<Tensor>& arguments) {
  for (std::int64_t k = 0; k < arguments[2].size(); ++k)
    if (arguments[2].get(k) != arguments[1].get(k) + 1) return false;
  return true;
}

TEST(SizedProgram, IsProvenForAllSizesAndRunsAtEach) {
  const Program p = Sketch().tiles(8);
  EXPECT_EQ(refusal(p), "");
  for (std::int64_t rows = 2; rows <= 20; ++rows) {
    const auto ran = run(p, rows);
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_TRUE(adds_one_everywhere(*ran)) << rows;
    const auto flat = run(flatten(simplify(p)), rows);
    ASSERT_TRUE(flat.ok()) << flat.error().message;
    EXPECT_TRUE(adds_one_everywhere(*flat)) << rows;
  }
}
TEST(SizedProgram, IsRefusedWhereABoundIsOffByOne) {
  EXPECT_NE(refusal(Sketch().tiles(8, -1)).find("which is not proven to be inside 0 .. n"), std::string::npos);
  EXPECT_NE(refusal(Sketch().tiles(8, 0, 1)).find("which is not proven to be inside 0 .. n"), std::string::npos);
  EXPECT_NE(refusal(Sketch().tiles(8, 0, 0, 1)).find("which is not proven to be inside 0 .. n"), std::string::npos);
  EXPECT_NE(refusal(Sketch().tiles(8, 0, -9)).find("which is not proven"), std::string::npos);
  EXPECT_EQ(refusal(Sketch().tiles(8, 1)), "") << "rows are left out, and none is outside";
  Program wide = Sketch().tiles(8);
  wide.sizes[0].max = 21;
  EXPECT_NE(refusal(wide).find("extent 0 of 'x' is not proven to be inside 0 .. 20"), std::string::npos);
}
TEST(SizedProgram, OfTilesThatOverlapNeedsSizesOfATileOrMore) {
  Sketch s;
  const Expr o = s.fresh("o"), i = s.fresh("i"), j = s.fresh("j");
  s.p.body =
      Sketch::loop(o, floordiv(n + 7, 8),
                   Sketch::loop(i, int_const(8), Sketch::loop(j, int_const(4), s.add_one(min(o * 8, n - 8) + i, j))));
  EXPECT_NE(refusal(s.p).find("not proven"), std::string::npos);
  s.p.sizes[0].min = 8;
  EXPECT_EQ(refusal(s.p), "");
}
TEST(SizedProgram, ProvesTheDigitsOfALoopOverAProductWithSizes) {
  for (const bool tiles_outside : {true, false}) {
    Sketch s(24);
    const Expr f = s.fresh("f"), o = s.fresh("o"), j = s.fresh("j"), i = s.fresh("i"), tiles = floordiv(n + 7, 8);
    const Stmt rows = Sketch::loop(i, int_const(8), make_stmt(If{o * 8 + i < n, s.add_one(o * 8 + i, j), Stmt()}));
    const Expr inner = tiles_outside ? int_const(24) : tiles;
    const Stmt digits = Sketch::let(tiles_outside ? o : j, floordiv(f, inner),
                                    Sketch::let(tiles_outside ? j : o, floormod(f, inner), rows));
    s.p.body = Sketch::loop(f, tiles_outside ? tiles * 24 : int_const(24) * tiles, digits, LoopKind::parallel);
    EXPECT_EQ(refusal(s.p), "");
    EXPECT_EQ(refusal(simplify(s.p)), "");
    const auto ran = run(s.p, 13);
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_TRUE(adds_one_everywhere(*ran));
  }
}
TEST(Facts, FollowTilesOfTheColumnsOfAStride) {
  const Expr whole = var(VarId(0), "whole"), o = var(VarId(1), "o"), i = var(VarId(2), "i");
  const Expr columns = floordiv(n - 2, 2) + 1;
  Facts facts(size_ranges({{"n", 2, 512}}));
  facts.bind(VarId(0), floordiv(columns, 4), floordiv(columns, 4));
  facts.bind(VarId(1), int_const(0), whole - 1);
  facts.bind(VarId(2), Interval{0, 3});
  EXPECT_TRUE(facts.proves((o * 4 + i) * 2 + 1 < n));
  EXPECT_FALSE(facts.proves((o * 4 + i) * 2 + 2 < n));
}
TEST(Facts, KnowTheDigitsOfAProductOfSizes) {
  const Expr f = var(VarId(0), "f"), g = var(VarId(1), "g");
  Facts facts(size_ranges({{"n", 1, 512}, {"m", 1, 64}}));
  facts.bind(VarId(0), int_const(0), m * n - 1);
  EXPECT_TRUE(facts.proves(floordiv(f, n) < m));
  EXPECT_TRUE(facts.proves(floormod(f, n) < n));
  EXPECT_TRUE(facts.proves(floormod(f, n) >= int_const(0)));
  EXPECT_TRUE(facts.proves(floordiv(f, n) >= int_const(0)));
  EXPECT_FALSE(facts.proves(floordiv(f, n) < m - 1));
  EXPECT_FALSE(facts.proves(floormod(f, n) < n - 1));
  EXPECT_FALSE(facts.proves(floordiv(f, m) < m));
  facts.bind(VarId(1), int_const(0), floordiv(n + 7, 8) * 4 - 1);
  EXPECT_TRUE(facts.proves(floordiv(g, 4) < floordiv(n + 7, 8)));
  EXPECT_TRUE(facts.proves(floordiv(g, 4) * 8 < n));
  EXPECT_FALSE(facts.proves(floordiv(g, 4) * 8 + 1 < n));
  EXPECT_FALSE(facts.proves(floordiv(g, 2) < floordiv(n + 7, 8)));
}
/// Each second row of a picture that is twice as high reads the same row: what an enlarged picture reads.
TEST(Facts, KnowQuotientsOfDigits) {
  Facts facts(size_ranges({{"n", 2, 20}, {"m", 1, 6}}));
  const Expr f = var(VarId(0), "f"), row = var(VarId(1), "row"), column = var(VarId(2), "column");
  facts.bind(VarId(0), int_const(0), m * (n * 2) - 1);
  facts.bind(VarId(1), floormod(f, n * 2), floormod(f, n * 2));
  EXPECT_TRUE(facts.proves(floordiv(row, 2) < n));
  EXPECT_TRUE(facts.proves(floordiv(row, 2) >= int_const(0)));
  EXPECT_TRUE(facts.proves(floordiv(row + 1, 2) <= n));
  EXPECT_FALSE(facts.proves(floordiv(row + 1, 2) < n));
  EXPECT_FALSE(facts.proves(floordiv(row, 2) < n - 1));
  facts.bind(VarId(2), int_const(0), n * 3 - 1);
  EXPECT_TRUE(facts.proves(floordiv(column, 3) < n));
  EXPECT_TRUE(facts.proves(floordiv(column * 2 + 1, 6) < n));
  EXPECT_FALSE(facts.proves(floordiv(column, 2) < n));
}

TEST(SizedProgram, NamesItsSizesAndExtents) {
  Sketch s;
  const Expr i = s.fresh("n"), j = s.fresh("j");
  s.p.body = Sketch::loop(i, n, Sketch::loop(j, int_const(4), s.add_one(i, j)));
  EXPECT_EQ(to_text(s.p), R"(program sketch
size n 2..20
size m 1..6
argument 0 sizes: i64[2]
argument 1 x: f32[n, 4]
argument 2 y: f32[n, 4] written
run
  for n_1 in 0 .. n
    for j in 0 .. 4
      y[n_1, j] = (x[n_1, j] + 1f)
)");
}
TEST(Flatten, OfBuffersWithSizesGivesRowsThatAreAsFarApartAsTheyAreLong) {
  Program p;
  p.name = "middle";
  p.sizes = {{"n", 2, 20}};
  p.add({.name = "sizes", .dtype = DType::i64, .extents = {1}, .argument = 0});
  const BufferId y =
      p.add({.name = "y", .extents = {3, 20, 4}, .argument = 1, .written = true, .sizes = {Expr(), n, Expr()}});
  const Expr h = var(p.fresh_var(), "h"), i = var(p.fresh_var(), "i");
  p.body =
      Sketch::loop(h, int_const(3), Sketch::loop(i, n, make_stmt(Store{y, {h, i, int_const(2)}, float_const(1), {}})));
  EXPECT_EQ(refusal(p), "");
  const Program flat = flatten(p);
  EXPECT_EQ(to_text(flat, flat.body), R"(for h in 0 .. 3
  for i in 0 .. n
    y[(((h*(4*n)) + (i*4)) + 2)] = 1f
)");
}
TEST(SizedProgram, RefusesOtherSizesAndTensorsOfOthers) {
  const Program p = Sketch().tiles(8);
  EXPECT_EQ(run(p, 21).error().message, "program 'sketch': size 'n' is at 21; it is 2..20");
  EXPECT_EQ(run(p, 4, 7).error().message, "program 'sketch': size 'm' is at 7; it is 1..6");
  Tensor sizes(DType::i64, {2});
  sizes.set_integer(0, 5), sizes.set_integer(1, 1);
  std::vector<Tensor> arguments = {sizes, Tensor(DType::f32, {5, 4}), Tensor(DType::f32, {6, 4})};
  EXPECT_EQ(interpret(p, arguments).error().message,
            "program 'sketch': the argument for 'y' is f32[6x4], expected f32[5x4]");
  Program without = p;
  without.buffers[0].extents = {1};
  EXPECT_EQ(refusal(without), "program 'sketch': argument 0 is not the i64 values of 2 sizes");
}

}  // namespace sized_program_test
}  // namespace whet
