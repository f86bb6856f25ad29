#include "space/space.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"
#include "base/testing/random_cases.h"
#include "schedule/loop_tree.h"
#include "space/cpu/tile.h"
#include "space/cpu/winograd.h"

namespace whet {
namespace space_test {

ComputeDag dag(const std::string& text) { return parse_dag(text).value(); }

const char* const kConv = R"(
x = PLACEHOLDER [1, 28, 28, 64]
w = PLACEHOLDER [3, 3, 64, 96] const
bias = PLACEHOLDER [96] const
pad(n, y, x_, c) = select((y >= 1) && (y < 29) && (x_ >= 1) && (x_ < 29), x[n, (y - 1), (x_ - 1), c], 0f) for n in 1, y in 30, x_ in 30, c in 64  # pad n:batch y:row x_:column c:channel
conv(n, oh, ow, oc) += (pad[n, (oh + rh), (ow + rw), rc]*w[rh, rw, rc, oc]) for n in 1, oh in 28, ow in 28, oc in 96, rh in 3, rw in 3, rc in 64  # conv n:batch oh:row ow:column oc:out_channel rh:tap rw:tap rc:in_channel
out(n, oh, ow, oc) = max((conv[n, oh, ow, oc] + bias[oc]), 0f) for n in 1, oh in 28, ow in 28, oc in 96  # elementwise
return out
)";

Target avx512() { return *parse_target("cpu -mcpu=skylake-avx512 -threads=2"); }

TEST(ConvSpace, HoldsOnlyTilesThatFitTheRegisters) {
  const DesignSpace space = make_space(dag(kConv), avx512());
  ASSERT_EQ(space.sketches().front().name, "tile+pack");
  Rng rng(1);
  for (int i = 0; i < 200; ++i) {
    const Candidate c = space.sample(rng);
    if (!c.choices.contains("oh")) continue;  // the products of Winograd's tiles
    const std::int64_t vectors = c.choices.at("oc").back() / 16,
                       pixels = c.choices.at("oh").back() * c.choices.at("ow").back();
    EXPECT_LE(vectors * pixels + vectors + 1, 32) << to_json(c);
    const Result<Steps> steps = space.steps(c);
    EXPECT_TRUE(steps.ok()) << to_json(c) << ": " << steps.error().message;
  }
}
TEST(ConvSpace, SaysWhyAChoiceIsOutside) {
  const DesignSpace space = make_space(dag(kConv), avx512());
  Candidate c = space.default_candidate();
  c.choices["oc"] = {17};
  EXPECT_NE(space.contains(c).error().message.find("oc = 17 is not among"), std::string::npos);
  c.choices["oc"] = {64}, c.choices["ow"] = {14}, c.choices["oh"] = {1};
  EXPECT_NE(space.contains(c).error().message.find("vector registers"), std::string::npos);
}
TEST(ConvSpace, ContainsItsDefaultItsSeedsAndItsNeighbours) {
  const DesignSpace space = make_space(dag(kConv), avx512());
  EXPECT_TRUE(space.contains(space.default_candidate()).ok());
  EXPECT_GE(space.seeds().size(), 4u);
  for (const Candidate& c : space.seeds()) EXPECT_TRUE(space.contains(c).ok());
  for (const Candidate& c : space.neighbours(space.default_candidate())) EXPECT_TRUE(space.contains(c).ok());
  EXPECT_GT(space.count(), 100);
}
TEST(ConvSpace, SamplesTheSameForTheSameSeed) {
  const DesignSpace space = make_space(dag(kConv), avx512());
  Rng a(5), b(5);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(space.sample(a), space.sample(b));
}

TEST(ConvSpace, CutsTilesOfAGroupedConvolutionWithinAGroup) {
  const DesignSpace space = make_space(dag(R"(
x = PLACEHOLDER [1, 28, 28, 240]
w = PLACEHOLDER [1, 1, 80, 60] const
conv(n, y, x_, oc) += (x[n, (y + rh), (x_ + rw), ((floordiv(oc, 20)*80) + rc)]*w[rh, rw, rc, oc]) for n in 1, y in 28, x_ in 28, oc in 60, rh in 1, rw in 1, rc in 80  # conv n:batch y:row x_:column oc:out_channel rh:tap rw:tap rc:in_channel
return conv
)"),
                                       avx512());
  ASSERT_EQ(space.sketches().front().name, "tile+pack");
  EXPECT_EQ(space.default_candidate().choices.at("oc"), Choice{20});
  Rng rng(1);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(20 % space.sample(rng).choices.at("oc").back(), 0);
}

TEST(WinogradSpace, HoldsSchedulesOfBothTileSizesWithAndWithoutBlocks) {
  const ComputeDag conv = dag(kConv);
  const DesignSpace space = make_space(conv, avx512());
  ASSERT_GE(space.sketches().size(), 2u);
  EXPECT_EQ(space.sketches()[1].name, "winograd");
  Rng rng(2);
  std::set<std::pair<std::int64_t, bool>> seen;
  for (int i = 0; i < 200; ++i) {
    const Candidate c = space.sample(rng);
    if (c.sketch != "winograd") continue;
    const Result<Steps> steps = space.steps(c);
    ASSERT_TRUE(steps.ok()) << to_json(c) << ": " << steps.error().message;
    EXPECT_FALSE(numerics_of(*steps).exact);
    seen.insert({c.choices.at("m").front(), c.choices.at("rows").front() > 0});
  }
  EXPECT_EQ(seen.size(), 4u);
}
/// 3x3 and of stride 1, of pictures of `side` x `side`.
std::string convolution(int images, int side, int channels) {
  return fmt::format(R"(
x = PLACEHOLDER [{0}, {1}, {1}, {3}]
w = PLACEHOLDER [3, 3, {3}, {3}] const
conv(n, oh, ow, oc) += (x[n, (oh + rh), (ow + rw), rc]*w[rh, rw, rc, oc]) for n in {0}, oh in {2}, ow in {2}, oc in {3}, rh in 3, rw in 3, rc in {3}  # conv n:batch oh:row ow:column oc:out_channel rh:tap rw:tap rc:in_channel
return conv
)",
                     images, side + 2, side, channels);
}
TEST(WinogradSpace, PrefersBlocksWhereTilesOutweighTheWeights) {
  const auto rows = [](int images, int side, int channels) {
    return winograd_sketch(dag(convolution(images, side, channels).c_str()), avx512())->preferred.at("rows").front();
  };
  EXPECT_GT(rows(1, 56, 32), 0) << "the weights stay in the cache";
  EXPECT_EQ(rows(1, 28, 128), 0);
  EXPECT_GT(rows(8, 56, 128), 0);
  EXPECT_GT(rows(128, 56, 64), 0);
}
TEST(WinogradSpace, PrefersWhatItAllows) {
  for (const int side : {7, 14, 20, 28, 56})
    for (const int channels : {64, 96, 128, 512}) {
      const ComputeDag conv = dag(convolution(1, side, channels).c_str());
      for (const auto& sketch : {tile_sketch(conv, avx512()), winograd_sketch(conv, avx512())}) {
        ASSERT_TRUE(sketch) << side << " " << channels;
        EXPECT_TRUE(is_within(*sketch, sketch->preferred)) << sketch->name << " of " << side << " " << channels;
      }
    }
}
TEST(WinogradSpace, IsLeftOutWhereExactSchedulesAreWanted) {
  const DesignSpace space = make_space(dag(kConv), avx512(), {.exact = true});
  for (const Sketch& sketch : space.sketches()) EXPECT_EQ(sketch.name.find("winograd"), std::string::npos);
}

/// As `convolution` has it, of bf16.
std::string convolution_of_bf16(int side, int channels) {
  return fmt::format(R"(
x = PLACEHOLDER [1, {0}, {0}, {2}] bf16
w = PLACEHOLDER [3, 3, {2}, {2}] bf16 const
conv(n, oh, ow, oc) += (f32(x[n, (oh + rh), (ow + rw), rc])*f32(w[rh, rw, rc, oc])) for n in 1, oh in {1}, ow in {1}, oc in {2}, rh in 3, rw in 3, rc in {2}  # conv n:batch oh:row ow:column oc:out_channel rh:tap rw:tap rc:in_channel
return conv
)",
                     side + 2, side, channels);
}
/// A convolution of bf16 has both tile sizes in f32; with tiles of bf16 F(2x2) alone, where bf16 is asked for and multiplied.
TEST(WinogradSpace, HasTilesOfBf16WhereTheyAreAskedFor) {
  const ComputeDag conv = dag(convolution_of_bf16(14, 64).c_str());
  const auto names = [&](const char* processor, const SpaceOptions& options) {
    std::string all;
    const Target target = *parse_target(fmt::format("cpu -mcpu={} -threads=2", processor));
    const DesignSpace space = make_space(conv, target, options);
    for (const Sketch& sketch : space.sketches())
      if (sketch.name.starts_with("winograd")) all += sketch.name + " ";
    return all.substr(0, all.find("winograd2"));
  };
  const SpaceOptions bf16{.precision = Precision::bf16};
  EXPECT_TRUE(names("znver4", bf16).starts_with("winograd winograd+pairs ")) << names("znver4", bf16);
  EXPECT_EQ(names("znver4", {}).find("pairs"), std::string::npos);
  EXPECT_EQ(names("icelake-server", bf16).find("pairs"), std::string::npos);
  EXPECT_EQ(names("znver4", {.exact = true, .precision = Precision::bf16}), "");
  const DesignSpace space(conv, {*winograd_pairs_sketch(conv, *parse_target("cpu -mcpu=znver4"), Precision::bf16)});
  Rng rng(4);
  for (int i = 0; i < 30; ++i) {
    const Result<Steps> steps = space.steps(space.sample(rng));
    ASSERT_TRUE(steps.ok()) << steps.error().message;
    const std::string text = to_text(*steps);
    EXPECT_TRUE(text.starts_with("winograd o2 2 bf16; ")) << text;
    EXPECT_NE(text.find(" dot2"), std::string::npos) << text;
    EXPECT_EQ(numerics_of(text).precision, Precision::bf16);
  }
}

/// Every kind of task is vectorized and parallel untuned.
void expect_vectorized_and_parallel(const char* text) {
  const ComputeDag d = dag(text);
  const Result<Steps> steps = default_steps(d, avx512());
  ASSERT_TRUE(steps.ok());
  const std::string tree = to_text(*replay(d, *steps));
  EXPECT_NE(tree.find("vector "), std::string::npos) << tree;
  EXPECT_NE(tree.find("parallel "), std::string::npos) << tree;
}

std::string default_tree(const char* text) {
  const ComputeDag d = dag(text);
  return to_text(*replay(d, *default_steps(d, avx512())));
}

TEST(DefaultSchedule, OfAConvolution) { expect_vectorized_and_parallel(kConv); }
TEST(DefaultSchedule, OfADepthwiseConvolution) {
  expect_vectorized_and_parallel(R"(
x = PLACEHOLDER [1, 16, 16, 24]
w = PLACEHOLDER [3, 3, 24] const
dw(n, oh, ow, c) += (x[n, (oh + rh), (ow + rw), c]*w[rh, rw, c]) for n in 1, oh in 14, ow in 14, c in 24, rh in 3, rw in 3  # depthwise n:batch oh:row ow:column c:channel rh:tap rw:tap
return dw
)");
}
TEST(DefaultSchedule, OfAMatrixVectorProduct) {
  expect_vectorized_and_parallel(R"(
a = PLACEHOLDER [1, 512]
b = PLACEHOLDER [512, 1000] const
c(m, n) += (a[m, k]*b[k, n]) for m in 1, n in 1000, k in 512  # matmul m:row n:out_channel k:in_channel
return c
)");
}
TEST(DefaultSchedule, OfAMaxPool) {
  expect_vectorized_and_parallel(R"(
x = PLACEHOLDER [1, 16, 16, 64]
p(n, y, x_, c) max= x[n, (y*2 + ry), (x_*2 + rx), c] for n in 1, y in 7, x_ in 7, c in 64, ry in 3, rx in 3  # pool
return p
)");
}
/// Steps of the default schedule: how many rows and how many elements of one they take.
TEST(DefaultSchedule, OfElementsTakesStepsThatFitTheRows) {
  const auto step = [](int columns) {
    const std::string n = std::to_string(columns), of = " for i in 512, j in " + n + "  # elementwise\nreturn y\n";
    const ComputeDag d = dag("x = PLACEHOLDER [512, " + n + "]\ny(i, j) = max(x[i, j], 0f)" + of);
    const Sketch::Choices preferred = make_space(d, avx512()).default_candidate().choices;
    return std::pair(preferred.at("pixels").front(), preferred.at("vectors").front());
  };
  EXPECT_EQ(step(7), std::pair(std::int64_t{8}, std::int64_t{4}));
  EXPECT_EQ(step(14).first, 1);
  EXPECT_EQ(step(40), std::pair(std::int64_t{1}, std::int64_t{4})) << "three vectors in one step, not four in two";
  EXPECT_EQ(step(96), std::pair(std::int64_t{1}, std::int64_t{2})) << "six vectors, not eight";
}
std::string softmax_text(const std::string& rows, const std::string& columns) {
  const std::string i = "i in " + rows, j = "j in " + columns, k = "k in " + columns;
  return "x = PLACEHOLDER [" + rows + ", " + columns + "]\nm(i) max= x[i, k] for " + i + ", " + k +
         "  # softmax\ne(i, j) = exp((x[i, j] - m[i])) for " + i + ", " + j + "  # softmax\ns(i) += e[i, k] for " + i +
         ", " + k + "  # softmax\nout(i, j) = (e[i, j]*(1f/s[i])) for " + i + ", " + j + "  # softmax\nreturn out\n";
}
TEST(DefaultSchedule, OfASoftmaxGoesByTwoRows) {
  const ComputeDag d = dag(softmax_text("32", "512"));
  EXPECT_EQ(to_text(*replay(d, *default_steps(d, avx512()))), R"(parallel i.0 in 16
  m @registers
  for k.0 in 8
    unroll i in 2
      vector k.1 in 64  # rfactor
        m
  for j.0 in 8
    unroll i in 2
      vector j.1 in 64
        e
  s @registers
  for k.0 in 8
    unroll i in 2
      vector k.1 in 64  # rfactor
        s
  for j.0 in 8
    unroll i.1 in 2
      vector j.1 in 64
        out
)");
}
TEST(DefaultSchedule, OfASoftmaxOfShortRowsGoesByFour) {
  const ComputeDag d = dag(softmax_text("32", "128"));
  const std::string tree = to_text(*replay(d, *default_steps(d, avx512())));
  EXPECT_TRUE(tree.starts_with("parallel i.0 in 8\n")) << tree;
  const ComputeDag few = dag(softmax_text("8", "128"));
  const std::string tree_of_few = to_text(*replay(few, *default_steps(few, avx512())));
  EXPECT_TRUE(tree_of_few.starts_with("parallel i in 8\n")) << tree_of_few;
}
/// How many of a row's elements are larger than each: no lanes are summed, and one row is shared out among the workers.
TEST(DefaultSchedule, OfRanksVectorizesTheElementsNotTheirSums) {
  const auto ranks = [](const std::string& rows) {
    const std::string i = "i in " + rows;
    const ComputeDag d =
        dag("x = PLACEHOLDER [" + rows + ", 200]\nrank(i, j) += select((x[i, r] > x[i, j]), 1f, 0f) for " + i +
            ", j in 200, r in 200  # reduce\nmost(i) max= rank[i, k] for " + i + ", k in 200  # reduce\nreturn most\n");
    return to_text(*replay(d, *default_steps(d, avx512())));
  };
  EXPECT_EQ(ranks("64"), R"(parallel i.0 in 16
  for j.0 in 4  # 200 by 64, overlap
    cache rank @registers
    for r in 200
      unroll i in 4
        vector j.1 in 64
          rank
  for k.0 in 4  # 200 by 64, guard
    unroll i.1 in 4
      vector k.1 in 64  # rfactor
        most
)");
  EXPECT_EQ(ranks("1"), R"(parallel i·j.0 in 2  # 200 by 112, overlap
  cache rank @registers
  for r in 200
    vector j.1 in 112
      rank
for i in 1
  for k.0 in 4  # 200 by 64, guard
    vector k.1 in 64  # rfactor
      most
)");
}
TEST(DefaultSchedule, OfATransposeTurnsTilesInRegisters) {
  const char* text = R"(
x = PLACEHOLDER [64, 48]
t(i, j) = x[j, i] for i in 48, j in 64  # injective
return t
)";
  const ComputeDag d = dag(text);
  EXPECT_EQ(to_text(*replay(d, *default_steps(d, avx512()))), R"(parallel j.0 in 4
  for i.0 in 3
    for i.1 in 16  # tensorize transpose16
      for j.1 in 16
        t
)");
}
TEST(DefaultSchedule, OfATransposeSharesTheLongerAxisOut) {
  const auto first_line = [](int rows, int columns) {
    const std::string i = std::to_string(rows), j = std::to_string(columns);
    const ComputeDag d = dag(("x = PLACEHOLDER [" + j + ", " + i + "]\nt(i, j) = x[j, i] for i in " + i + ", j in " +
                              j + "  # injective\nreturn t\n")
                                 .c_str());
    const std::string tree = to_text(*replay(d, *default_steps(d, avx512())));
    return tree.substr(0, tree.find('\n'));
  };
  EXPECT_EQ(first_line(64, 1024), "parallel j.0 in 64");
  EXPECT_EQ(first_line(1024, 64), "parallel i.0 in 64");
}
TEST(DefaultSchedule, OfALargeTransposeGoesPieceByPiece) {
  // Of 19 rows tiles of 8 cover 24, tiles of 16 cover 32.
  const char* text = R"(
x = PLACEHOLDER [50176, 19]
t(i, j) = x[j, i] for i in 19, j in 50176  # injective
return t
)";
  const ComputeDag d = dag(text);
  EXPECT_EQ(to_text(*replay(d, *default_steps(d, avx512()))), R"(parallel j.0 in 392
  for i.0 in 3  # 19 by 8, overlap
    for j.1 in 16
      for i.1 in 8  # tensorize transpose8
        for j.2 in 8
          t
)");
}
TEST(DefaultSchedule, OfALargeTransposeOfFewRowsHasASchedule) {
  const char* text = R"(
x = PLACEHOLDER [500000, 3]
t(i, j) = x[j, i] for i in 3, j in 500000  # injective
return t
)";
  EXPECT_TRUE(default_steps(dag(text), avx512()).ok());
}
TEST(DefaultSchedule, OfATransposeThatComputesGoesByTiles) {
  const char* text = R"(
x = PLACEHOLDER [64, 48]
t(i, j) = (x[j, i] + 1f) for i in 48, j in 64  # injective
return t
)";
  const ComputeDag d = dag(text);
  EXPECT_EQ(to_text(*replay(d, *default_steps(d, avx512()))), R"(parallel i.0 in 12
  for j.0 in 4
    unroll i.1 in 4
      vector j.1 in 16
        t
)");
}
TEST(DefaultSchedule, OfAFewChannelsVectorizesPixels) {
  const char* text = R"(
x = PLACEHOLDER [3, 10, 64]
t(i, j, c) = x[c, i, j] for i in 10, j in 64, c in 3  # injective
return t
)";
  const ComputeDag d = dag(text);
  EXPECT_EQ(to_text(*replay(d, *default_steps(d, avx512()))), R"(parallel i in 10
  unroll c in 3
    vector j in 64
      t
)");
}
TEST(DefaultSchedule, OfAChannelShuffleReadsContiguously) {
  const char* text = R"(
x = PLACEHOLDER [10, 64]
t(i, c) = x[i, ((floormod(c, 2)*32) + floordiv(c, 2))] for i in 10, c in 64  # injective
return t
)";
  const ComputeDag d = dag(text);
  EXPECT_EQ(to_text(*replay(d, *default_steps(d, avx512()))), R"(parallel i in 10
  unroll c.1 in 2
    vector c.0 in 32
      t
)");
}
TEST(DefaultSchedule, OfTwoOrThreeOutputChannelsKeepsASumALane) {
  const char* text = R"(
x = PLACEHOLDER [64, 32]
w = PLACEHOLDER [32, 3] const
t(i, oc) += (x[i, rc]*w[rc, oc]) for i in 64, oc in 3, rc in 32  # matmul i:row oc:out_channel rc:in_channel
return t
)";
  const ComputeDag d = dag(text);
  EXPECT_EQ(to_text(*replay(d, *default_steps(d, avx512()))), R"(parallel i·oc in 192
  vector rc in 32  # rfactor
    t  # w packed
)");
}
/// The code generator rounds lanes up to a power of two, and loads element by element what fills less than 3/4 of that.
TEST(DefaultSchedule, OfAReductionTakesStepsThatFillVectors) {
  const auto sums = [](const std::string& columns) {
    return default_tree(("x = PLACEHOLDER [64, " + columns + "]\ns(i) += x[i, r] for i in 64, r in " + columns +
                         "  # reduce\nreturn s\n")
                            .c_str());
  };
  EXPECT_NE(sums("48").find("vector r in 48"), std::string::npos) << sums("48");
  EXPECT_NE(sums("47").find("for r.0 in 2  # 47 by 32, guard"), std::string::npos) << sums("47");
  EXPECT_NE(sums("9").find("for r.0 in 2  # 9 by 8, guard"), std::string::npos) << sums("9");
}
/// A sum of eight integers costs as much as one of floats: what reads it eight times does not compute it eight times.
TEST(DefaultSchedule, OfSumsOfIntegersComputesEachOnce) {
  std::string terms;
  for (int k = 0; k < 8; ++k) terms += (k == 0 ? "" : "+") + ("x[((i*8)+" + std::to_string(k) + "), c]");
  const std::string tree = default_tree(
      ("x = PLACEHOLDER [64, 32] i64\ntotal(i, c): i64 = (" + terms + ") for i in 8, c in 32  # elementwise\n" +
       "y(i, c): i64 = (total[i, c]*total[floordiv(i, 2), c]) for i in 8, c in 32  # elementwise\nreturn y\n")
          .c_str());
  EXPECT_NE(tree.find("total"), std::string::npos) << tree;
}
/// What a place asks of its remainder is known where a step holds a whole group.
TEST(DefaultSchedule, OfGroupsHoldsEachInAStep) {
  const char* text = R"(
x = PLACEHOLDER [30, 8, 16]
t(i, j, c) = (x[i, j, c] + select((floormod(i, 3) >= 1), x[(floordiv(i, 3)*3), j, c], 0f)) for i in 30, j in 8, c in 16  # elementwise
return t
)";
  const ComputeDag d = dag(text);
  EXPECT_EQ(to_text(*replay(d, *default_steps(d, avx512()))), R"(parallel i.0 in 10
  for jc.0 in 2
    unroll i.1 in 3
      vector jc.1 in 64
        t
)");
}
TEST(DefaultSchedule, OfAReductionAlongAnOuterAxisKeepsItsSumsInRegisters) {
  const char* text = R"(
x = PLACEHOLDER [4, 30, 128]
s(n, c) += x[n, r, c] for n in 4, c in 128, r in 30  # reduce
m(n, c) max= x[n, r, c] for n in 4, c in 128, r in 30  # reduce
y(n, r, c) = ((x[n, r, c] - m[n, c])*s[n, c]) for n in 4, r in 30, c in 128  # elementwise
return y
)";
  const ComputeDag d = dag(text);
  EXPECT_EQ(to_text(*replay(d, *default_steps(d, avx512()))), R"(parallel n·c.0 in 8
  m @registers
  for n in 1
    for r in 30
      vector c in 64
        m
  s @registers
  for n in 1
    for r in 30
      vector c in 64
        s
  for r in 30
    vector c.1 in 64
      y
)");
}
TEST(DefaultSchedule, OfAReductionAlongAnOuterAxisHoldsItsSumsWhereRowsAreManyEnough) {
  const char* text = R"(
x = PLACEHOLDER [40, 30, 128]
s(n, c) += x[n, r, c] for n in 40, c in 128, r in 30  # reduce
m(n, c) max= x[n, r, c] for n in 40, c in 128, r in 30  # reduce
y(n, r, c) = ((x[n, r, c] - m[n, c])*s[n, c]) for n in 40, r in 30, c in 128  # elementwise
return y
)";
  const ComputeDag d = dag(text);
  EXPECT_EQ(to_text(*replay(d, *default_steps(d, avx512()))), R"(parallel n.0 in 20
  for c.0 in 2
    cache m @registers
    for r in 30
      unroll n in 2
        vector c.1 in 64
          m
  for c.0 in 2
    cache s @registers
    for r in 30
      unroll n in 2
        vector c.1 in 64
          s
  for r in 30
    for c.0 in 2
      unroll n.1 in 2
        vector c.1 in 64
          y
)");
}
TEST(DefaultSchedule, OfManyDoublingsStoresSomeOfThem) {
  constexpr int kDoublings = testing::kSanitized ? 24 : 40;
  std::string text = "t0 = PLACEHOLDER [64] i32\n";
  for (int i = 1; i <= kDoublings; ++i) {
    const std::string last = "t" + std::to_string(i - 1) + "[i]";
    text += "t" + std::to_string(i) + "(i): i32 = (" + last + " + " + last + ") for i in 64\n";
  }
  const ComputeDag d = dag((text + "return t" + std::to_string(kDoublings) + "\n").c_str());
  EXPECT_TRUE(default_steps(d, avx512()).ok());
  EXPECT_FALSE(make_space(d, avx512()).sketches().empty());
}
TEST(DefaultSchedule, OfAScalarMadeOfAScalar) {
  const ComputeDag d =
      dag("x = PLACEHOLDER [3]\ns() += x[a] for a in 3  # reduce\ny() = (1f/s[])  # elementwise\nreturn y\n");
  EXPECT_TRUE(default_steps(d, avx512()).ok());
}
TEST(DefaultSchedule, OfARowsSumThatKeepsItsDimensionGoesAlongTheRow) {
  const char* text = R"(
x = PLACEHOLDER [512, 1024]
most = PLACEHOLDER [512, 1]
s(i, j) += exp((x[i, r] - most[i, j])) for i in 512, j in 1, r in 1024  # reduce
return s
)";
  const ComputeDag d = dag(text);
  EXPECT_EQ(to_text(*replay(d, *default_steps(d, avx512()))), R"(parallel i.0·j in 256
  for r.0 in 16
    unroll i.1 in 2
      vector r.1 in 64  # rfactor
        s
)");
}
TEST(DefaultSchedule, OfPiecesOfARowGoesAlongThem) {
  const auto is_along = [](const std::string& most) {
    const ComputeDag d =
        dag(("x = PLACEHOLDER [64, 4096]\n" + most + "\ns(i) += most[i, j] for i in 64, j in 128\nreturn s\n").c_str());
    return to_text(*replay(d, *default_steps(d, avx512()))).find("rfactor\n        most") != std::string::npos;
  };
  EXPECT_TRUE(is_along("most(i, j) max= x[i, ((j*32) + r)] for i in 64, j in 128, r in 32"));
  EXPECT_FALSE(is_along("most(i, j) max= x[i, ((j*2) + r)] for i in 64, j in 128, r in 2"));
  EXPECT_FALSE(is_along("most(i, j) max= x[i, ((j*16) + r)] for i in 64, j in 128, r in 32"));
}
TEST(DefaultSchedule, OfOpsOfFewStepsLeavesThemToOneWorker) {
  // The rows are too few for the workers; the first op is worth sharing out, what it needs and gives is not.
  const ComputeDag d = dag(R"(
x = PLACEHOLDER [1, 100000]
most(i, j) max= x[i, ((j*100) + r)] for i in 1, j in 1000, r in 100  # reduce
rank(i, j): i32 += select((most[i, r] > most[i, j]), 1i32, 0i32) for i in 1, j in 1000, r in 1000  # reduce
some(i, j): i32 += rank[i, (j + r)] for i in 1, j in 10, r in 4  # reduce
y(i, j): i32 = (some[i, j] + 1i32) for i in 1, j in 10  # elementwise
return y
)");
  const std::string tree = to_text(*replay(d, *default_steps(d, avx512())));
  EXPECT_EQ(tree.find("parallel"), 0) << tree;
  EXPECT_NE(tree.find("\nparallel"), std::string::npos) << tree;
  EXPECT_NE(tree.find("\nfor i"), std::string::npos) << tree;
}
TEST(DefaultSchedule, OfASumOfEverything) {
  const ComputeDag d = dag("x = PLACEHOLDER [3, 40]\ns() += x[a, b] for a in 3, b in 40  # reduce\nreturn s\n");
  EXPECT_TRUE(default_steps(d, avx512()).ok());
}
TEST(DefaultSchedule, OfAScatterWritesWhereDataSays) {
  // Rows are shared out, and in a row each index is looked at once: the loop over the places that it may name has one iteration.
  EXPECT_EQ(default_tree(R"(
at = PLACEHOLDER [128, 512] i64 < 1024
x = PLACEHOLDER [128, 512]
from = PLACEHOLDER [128, 1024]
sum(i, j) += select((at[i, k] == j), x[i, k], 0f) for i in 128, j in 1024, k in 512  # reduce
y(i, j) = (from[i, j] + sum[i, j]) for i in 128, j in 1024
return y
)"),
            R"(parallel i.0 in 64
  for i in 2
    for k in 512
      for j in 1024
        sum
  for j.0 in 16
    unroll i.1 in 2
      vector j.1 in 64
        y
)");
  // Where what is said is all there is, one worker does it: none would know beforehand what is its own.
  EXPECT_EQ(default_tree(R"(
at = PLACEHOLDER [64] i64 < 1000
count(j): i64 += select((at[k] == j), 1, 0) for j in 1000, k in 64  # reduce
return count
)"),
            R"(for k in 64
  for j in 1000
    count
)");
}
TEST(DefaultSchedule, OfAddition) {
  expect_vectorized_and_parallel(R"(
a = PLACEHOLDER [1, 7, 7, 512]
b = PLACEHOLDER [1, 7, 7, 512]
c(n, y, x, k) = max((a[n, y, x, k] + b[n, y, x, k]), 0f) for n in 1, y in 7, x in 7, k in 512  # elementwise
return c
)");
}

}  // namespace space_test
}  // namespace whet
