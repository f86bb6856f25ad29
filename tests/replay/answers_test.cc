// The tasks of the replay suite, run: one of every mixture of operator families that is small enough for the definition to be
// evaluated in double, with the default schedule, the preferred one of each sketch, and random ones. scripts/emulated runs this
// for AArch64.

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/testing/checkout.h"
#include "codegen/testing/answers.h"
#include "replay.h"
#include "space/space.h"
#include "trial/candidate.h"

namespace whet::golden {
namespace {

constexpr double kMostFlops = 1e6, kMostElements = 1e5;
constexpr int kSamples = 2;

std::string families_of(const ComputeDag& dag) {
  std::string families;
  for (const Op& op : dag.ops)
    if (!op.is_placeholder()) families += std::to_string(static_cast<int>(op.element().family)) + " ";
  return families;
}

bool is_small(const ComputeDag& dag) {
  double elements = 0;
  for (const Op& op : dag.ops) elements += static_cast<double>(num_elements(op.shape));
  return flops(dag) <= kMostFlops && elements <= kMostElements;
}

/// Winograd's algorithm rounds most; what is computed in f16 is rounded to it.
double bound(const ComputeDag& dag, const Candidate& candidate) {
  for (const Op& op : dag.ops)
    if (op.dtype == DType::f16) return 4e-3;
  return candidate.sketch.starts_with("winograd") ? 3e-5 : 5e-6;
}

void expect_right_answers(const Task& task, const ComputeDag& dag) {
  const Target target = host_target(2);
  const DesignSpace space = make_space(dag, target);
  std::vector<Candidate> candidates = {space.default_candidate()};
  for (const Sketch& sketch : space.sketches()) candidates.push_back({sketch.name, sketch.preferred});
  Rng rng(9);
  for (int i = 0; i < kSamples; ++i) candidates.push_back(space.sample(rng));
  for (const Candidate& candidate : candidates) {
    SCOPED_TRACE(task.name + ", " + to_json(candidate) + " for " + to_string(target) + "\n" + task.dag);
    const Result<Scheduled> scheduled = space.schedule(candidate);
    ASSERT_TRUE(scheduled.ok()) << scheduled.error().message;
    const Result<Lowered> lowered = lower(scheduled->tree, target);
    ASSERT_TRUE(lowered.ok()) << lowered.error().message;
    const Result<double> error = error_of(dag, *lowered, target, 3);
    ASSERT_TRUE(error.ok()) << error.error().message;
    EXPECT_LE(*error, bound(dag, candidate));
  }
}

TEST(ReplayedTasks, AnswerAsTheirDefinitions) {
  std::ifstream file(checkout_path("tests/replay/schedules.txt"));
  std::stringstream text;
  text << file.rdbuf();
  const Suite suite = read(text.str()).value();
  std::set<std::string> seen;
  for (const Task& task : suite.tasks) {
    const ComputeDag dag = parse_dag(task.dag).value();
    if (is_small(dag) && seen.insert(families_of(dag)).second) expect_right_answers(task, dag);
  }
  EXPECT_GE(seen.size(), 40u) << "mixtures of operator families";
}

}  // namespace
}  // namespace whet::golden
