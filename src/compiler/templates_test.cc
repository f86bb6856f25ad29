#include <gtest/gtest.h>

#include <set>

#include "codegen/testing/answers.h"
#include "space/space.h"

namespace whet {
namespace {

ComputeDag dag(const std::string& text) {
  Result<ComputeDag> parsed = parse_dag(text);
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
  return *parsed;
}

/// A 3x3 convolution of stride 1 with padding, bias and relu.
ComputeDag convolution(int batch, int rows, int columns, int in, int out) {
  const auto n = [](int value) { return std::to_string(value); };
  const std::string size = "n in " + n(batch) + ", oh in " + n(rows) + ", ow in " + n(columns) + ", oc in " + n(out);
  return dag(
      "x = PLACEHOLDER [" + n(batch) + ", " + n(rows) + ", " + n(columns) + ", " + n(in) +
      "]\nw = PLACEHOLDER [3, 3, " + n(in) + ", " + n(out) + "] const\nbias = PLACEHOLDER [" + n(out) +
      "] const\npad(n, y, x_, c) = select((y >= 1) && (y < " + n(rows + 1) + ") && (x_ >= 1) && (x_ < " +
      n(columns + 1) + "), x[n, (y - 1), (x_ - 1), c], 0f) for n in " + n(batch) + ", y in " + n(rows + 2) +
      ", x_ in " + n(columns + 2) + ", c in " + n(in) +
      "  # pad n:batch y:row x_:column c:channel\nconv(n, oh, ow, oc) += (pad[n, (oh + rh), (ow + rw), rc]*w[rh, rw, "
      "rc, oc]) for " +
      size + ", rh in 3, rw in 3, rc in " + n(in) +
      "  # conv n:batch oh:row ow:column oc:out_channel rh:tap rw:tap rc:in_channel\nout(n, oh, ow, oc) = "
      "max((conv[n, oh, ow, oc] + bias[oc]), 0f) for " +
      size + "  # elementwise\nreturn out\n");
}

/// The largest errors of sampled candidates of each sketch, which must all be built and right.
void expect_right(const ComputeDag& task, const std::map<std::string, double>& bounds, int samples) {
  std::set<std::string> seen;
  for (Target target : runnable_targets()) {
    target.threads = 2;
    const DesignSpace space = make_space(task, target);
    Rng rng(3);
    std::vector<Candidate> candidates;
    for (const Sketch& sketch : space.sketches()) candidates.push_back({sketch.name, sketch.preferred});
    for (int i = 0; i < samples; ++i) candidates.push_back(space.sample(rng));
    for (const Candidate& c : candidates) {
      SCOPED_TRACE(to_json(c) + " for " + to_string(target));
      const Result<Steps> steps = space.steps(c);
      ASSERT_TRUE(steps.ok()) << steps.error().message;
      const Result<Lowered> lowered = lower(*replay(task, *steps), target);
      ASSERT_TRUE(lowered.ok()) << lowered.error().message;
      const Result<double> error = error_of(task, *lowered, target, 7);
      ASSERT_TRUE(error.ok()) << error.error().message;
      const std::string kind =
          c.choices.contains("m") ? c.sketch + std::to_string(c.choices.at("m").front()) : c.sketch;
      EXPECT_LT(*error, bounds.at(kind));
      seen.insert(kind);
    }
  }
  EXPECT_EQ(seen.size(), bounds.size()) << "every kind of candidate was tried";
}

const std::map<std::string, double> kBounds{{"tile+pack", 2e-6}, {"winograd2", 3e-6}, {"winograd4", 3e-5}};

TEST(Templates, ComputeConvolutionsOfWholeTiles) { expect_right(convolution(1, 8, 8, 32, 48), kBounds, 10); }
TEST(Templates, ComputeConvolutionsWithTailsOfTilesAndVectors) {
  expect_right(convolution(1, 7, 9, 24, 40), kBounds, 14);
  expect_right(convolution(2, 5, 6, 19, 33), kBounds, 14);
}

}  // namespace
}  // namespace whet
