#include "codegen/build.h"

#include <gtest/gtest.h>

#include "codegen/compile.h"

namespace whet {
namespace {

const ComputeDag& sums() {
  static const ComputeDag dag =
      parse_dag("p = PLACEHOLDER [64, 128]\nq(i) += (p[i, r]*2f) for i in 64, r in 128\nreturn q\n").value();
  return dag;
}

Target haswell() { return parse_target("cpu -mcpu=haswell -threads=1").value(); }
std::vector<double> one_second(const LoopTree&, const Target&) { return {1}; }

TEST(Build, MakesWhatItsPartsMake) {
  const Steps steps = parse_steps("split l0 8 guard").value();
  BuildProgress reached;
  const Result<Built> built = build(sums(), steps, haswell(), {}, &reached);
  ASSERT_TRUE(built.ok()) << built.error().message;
  const LoopTree tree = *replay(sums(), steps);
  const Lowered lowered = *lower(tree, haswell());
  EXPECT_EQ(to_text(built->tree), to_text(tree));
  EXPECT_EQ(reached.tree_hash, hash(tree));
  EXPECT_EQ(to_text(built->lowered.program), to_text(lowered.program));
  EXPECT_EQ(built->kernel.code, compile_kernel(lowered.program, haswell())->code);
  EXPECT_FALSE(built->emulated);
}

TEST(Build, NamesTheKernelAsItIsTold) {
  const Result<Built> built = build(sums(), {}, haswell(), {.name = "kernel_7"});
  ASSERT_TRUE(built.ok()) << built.error().message;
  EXPECT_EQ(built->lowered.program.name, "kernel_7");
  EXPECT_NE(built->kernel.code.find("kernel_7"), std::string::npos);
}

TEST(Build, TellsWhichPartRefuses) {
  BuildProgress reached;
  EXPECT_FALSE(build(sums(), parse_steps("split l7 8 guard").value(), haswell(), {}, &reached).ok());
  EXPECT_EQ(reached.part, BuildPart::replay);
  EXPECT_FALSE(build(sums(), {}, haswell(), {.within = {3}}, &reached).ok());
  EXPECT_EQ(reached.part, BuildPart::lower);
  EXPECT_NE(reached.tree_hash, 0u);
}

TEST(Build, MakesAKernelForTheEmulatedDeviceToo) {
  const Target gpu = parse_target("cuda -arch=sm_80").value();
  const Result<Built> built =
      build(sums(), parse_steps("bind l0 block").value(), gpu, {.emulated_seconds = one_second});
  ASSERT_TRUE(built.ok()) << built.error().message;
  EXPECT_EQ(built->kernel.format, CodeFormat::ptx);
  ASSERT_TRUE(built->emulated);
  EXPECT_EQ(built->emulated->format, CodeFormat::emulated);
}

}  // namespace
}  // namespace whet
