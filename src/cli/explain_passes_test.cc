#include "cli/explain_passes.h"

#include <gtest/gtest.h>

#include "cli/diff_lines.h"
#include "compute/dag.h"
#include "schedule/steps.h"

namespace whet {
namespace {

TEST(DiffLines, MarksWhatIsTakenAndWhatIsPut) {
  EXPECT_EQ(diff_lines("a\nb\nc\n", "a\nx\nc\n"), " a\n-b\n+x\n c\n");
  EXPECT_EQ(diff_lines("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(diff_lines("", "a\n"), "+a\n");
  EXPECT_EQ(diff_lines("a\nb\n", "a\n"), " a\n-b\n");
}
TEST(DiffLines, LeavesOutWhatIsFarFromAChange) {
  EXPECT_EQ(diff_lines("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\nb\n3\n4\n5\n6\n7\n8\ni\n"),
            " 1\n-2\n+b\n 3\n 4\n...\n 7\n 8\n-9\n+i\n");
}

LoweringTrace trace_of(const char* steps) {
  const ComputeDag dag = *parse_dag(R"(x = PLACEHOLDER [8]
y(i) = (x[i] + 1f) for i in 8
return y
)");
  LoweringTrace trace =
      trace_lowering(*replay(dag, *parse_steps(steps)), *parse_target("cpu -mcpu=haswell -threads=1"), {});
  for (LoweringStep& step : trace.steps) step.seconds = 0;
  return trace;
}

TEST(LoweringTrace, ShowsWhatEachPassChanged) {
  EXPECT_EQ(to_text(trace_of("vectorize l0")), R"(== generate, 0.000 ms
program 
argument 0 x: f32[8]
argument 1 y: f32[8] written
run
  vector i in 0 .. 8
    y[i] = (x[i] + 1f)
== unbind, 0.000 ms: changes nothing
== remainders, 0.000 ms: changes nothing
== interiors, 0.000 ms: changes nothing
== resolve_guards, 0.000 ms: changes nothing
== simplify, 0.000 ms: changes nothing
== verify, 0.000 ms: changes nothing
== flatten, 0.000 ms: changes nothing
== expand_math, 0.000 ms: changes nothing
== vectorize, 0.000 ms
 argument 1 y: f32[8] written
 run
-  vector i in 0 .. 8
-    y[i] = (x[i] + 1f)
+  y[ramp(0, 1, 8)] = (x[ramp(0, 1, 8)] + broadcast(1f, 8))
== unroll, 0.000 ms: changes nothing
== simplify_unrolled, 0.000 ms: changes nothing
== join_cases, 0.000 ms: changes nothing
== share_reciprocals, 0.000 ms: changes nothing
== spread_prefetches, 0.000 ms: changes nothing
)");
}
TEST(LoweringTrace, FindsTheProgramBehindAPass) {
  const LoweringTrace trace = trace_of("unroll l0");
  ASSERT_NE(trace.find("unroll"), nullptr);
  EXPECT_NE(trace.find("unroll")->text.find("x[7]"), std::string::npos) << trace.find("unroll")->text;
  EXPECT_EQ(trace.find("roll"), nullptr);
}

}  // namespace
}  // namespace whet
