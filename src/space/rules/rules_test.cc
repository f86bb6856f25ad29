#include <gtest/gtest.h>

#include "lower/lower.h"
#include "lower/testing/random_schedule.h"
#include "space/cpu/author.h"
#include "space/rules/derive.h"

namespace whet {
namespace rules_rules_test {

Target avx512() { return *parse_target("cpu -mcpu=skylake-avx512 -threads=2"); }

ComputeDag dag(const std::string& text) { return parse_dag(text).value(); }

/// `rule op: reason`, the rules that applied with a +.
std::string said(const char* text, const std::string& rule) {
  std::vector<RuleNote> notes;
  derive_sketches(dag(text), avx512(), cpu_rules(), {}, &notes);
  std::string lines;
  for (const RuleNote& note : notes)
    if (note.rule == rule) lines += (note.applied ? "+ " : "- ") + note.op + ": " + note.sentence + "\n";
  return lines;
}

std::string preferred_tree(const char* text, const std::string& sketch) {
  const ComputeDag d = dag(text);
  for (const Sketch& made : derive_sketches(d, avx512(), cpu_rules(), {}))
    if (made.name == sketch) {
      const Result<Scheduled> scheduled = DesignSpace(d, {made}).schedule({made.name, made.preferred});
      return scheduled.ok() ? to_text(scheduled->tree) : scheduled.error().message;
    }
  return "there is no sketch " + sketch;
}

const char* const kProduct = R"(
a = PLACEHOLDER [64, 128]
b = PLACEHOLDER [128, 96] const
c(i, j) += (a[i, k]*b[k, j]) for i in 64, j in 96, k in 128  # matmul i:row j:out_channel k:in_channel
y(i, j) = max(c[i, j], 0f) for i in 64, j in 96  # elementwise
return y
)";
const char* const kSoftmax = R"(
x = PLACEHOLDER [32, 128]
m(i) max= x[i, k] for i in 32, k in 128  # softmax
e(i, j) = exp((x[i, j] - m[i])) for i in 32, j in 128  # softmax
s(i) += e[i, k] for i in 32, k in 128  # softmax
out(i, j) = (e[i, j]*(1f/s[i])) for i in 32, j in 128  # softmax
return out
)";
const char* const kConv = R"(
x = PLACEHOLDER [1, 28, 28, 32]
w = PLACEHOLDER [3, 3, 32, 48] const
pad(n, y, x_, c) = select((y >= 1) && (y < 29) && (x_ >= 1) && (x_ < 29), x[n, (y - 1), (x_ - 1), c], 0f) for n in 1, y in 30, x_ in 30, c in 32  # pad
conv(n, oh, ow, oc) += (pad[n, (oh + rh), (ow + rw), rc]*w[rh, rw, rc, oc]) for n in 1, oh in 28, ow in 28, oc in 48, rh in 3, rw in 3, rc in 32  # conv n:batch oh:row ow:column oc:out_channel rh:tap rw:tap rc:in_channel
return conv
)";

TEST(Rules, SayWhyTheyDoNotApply) {
  EXPECT_EQ(said(kProduct, "inline"),
            "- y: it is an output, which has to be stored\n"
            "- c: it reduces, and every read would repeat the reduction\n");
  EXPECT_EQ(said(kSoftmax, "multi-level-tiling"),
            "- out: it does not reduce, so nothing is read for several of its elements\n"
            "- s: neighbours along its innermost axis do not read neighbours, so tiles of vectors would be gathered\n"
            "- e: it does not reduce, so nothing is read for several of its elements\n"
            "- m: neighbours along its innermost axis do not read neighbours, so tiles of vectors would be gathered\n");
}
TEST(Rules, SayWhatTheyDid) {
  EXPECT_EQ(said(kConv, "winograd"),
            "+ conv: computes a 3x3 convolution by Winograd's algorithm: transforms, products, "
            "transforms\n- pad: it is not the only reduction of the task\n");
}
TEST(Rules, TileAMatrixProductOnThreeLevelsWithItsConsumerOnTheTile) {
  EXPECT_EQ(preferred_tree(kProduct, "tiles"), R"(c @registers
parallel j.0·i.0 in 16
  for i.1 in 1
    for j.1 in 1
      for j.2 in 1
        for i.2 in 1
          for k in 128
            unroll i.3 in 8
              vector j.3 in 48
                c  # b packed
          unroll i in 8
            vector j in 48
              y
)");
}
TEST(Rules, ComputeASoftmaxRowByRow) {
  EXPECT_EQ(preferred_tree(kSoftmax, "nests"), R"(parallel i in 32
  m @registers
  for i in 1
    for k.0 in 4
      vector k.1 in 32  # rfactor
        m
  for i in 1
    for j.0 in 4
      vector j.1 in 32
        e
  s @registers
  for i in 1
    for k.0 in 4
      vector k.1 in 32  # rfactor
        s
  for j.0 in 4
    vector j.1 in 32
      out
)");
}
/// Rfactor alone decides on its vectors.
TEST(Rules, ComputeASumOverEverything) {
  EXPECT_EQ(preferred_tree(R"(
a = PLACEHOLDER [3, 2]
b = PLACEHOLDER [3, 2]
mul(i, k) = (a[i, k]*b[i, k]) for i in 3, k in 2  # elementwise
s() += mul[i, k] for i in 3, k in 2  # reduce
return s
)",
                           "nests"),
            "for i in 3\n  for k in 2\n    s\n");
}
TEST(Rules, MakeSketchesOfOneStructureEach) {
  std::string names;
  for (const Sketch& sketch : derive_sketches(dag(kConv), avx512(), cpu_rules(), {})) names += sketch.name + " ";
  EXPECT_EQ(names, "winograd4+tiles winograd2+tiles tiles ");
}
TEST(Rules, LeaveWinogradOutWhereExactSchedulesAreWanted) {
  std::string names;
  for (const Sketch& sketch : derive_sketches(dag(kConv), avx512(), cpu_rules(), {.exact = true}))
    names += sketch.name + " ";
  EXPECT_EQ(names, "tiles ");
}

/// Samples of rule sketches replay and lower: nineteen of twenty at least.
TEST(RuleSketches, AreSchedulesOfRandomDags) {
  int tried = 0, refused = 0;
  std::string first;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng(seed);
    const ComputeDag dag = testing::random_dag(rng);
    std::vector<Sketch> sketches = derive_sketches(dag, avx512(), cpu_rules(), {});
    EXPECT_FALSE(sketches.empty()) << to_text(dag);
    if (sketches.empty()) continue;
    const DesignSpace space(dag, sketches);
    for (int i = 0; i < 10; ++i) {
      const Candidate candidate = space.sample(rng);
      ++tried;
      const Result<Scheduled> scheduled = space.schedule(candidate);
      std::string why = scheduled.ok() ? "" : scheduled.error().message;
      if (scheduled.ok())
        if (const Result<Lowered> lowered = lower(scheduled->tree, avx512()); !lowered.ok())
          why = lowered.error().message;
      refused += !why.empty();
      if (!why.empty()) first += to_json(candidate) + ": " + why + "\n" + to_text(dag) + "\n";
    }
  }
  EXPECT_LE(refused * 20, tried) << refused << " of " << tried << " are refused:\n" << first.substr(0, 6000);
}

}  // namespace rules_rules_test
}  // namespace whet
