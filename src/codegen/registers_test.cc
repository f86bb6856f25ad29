#include <gtest/gtest.h>

#include "codegen/main_loop.h"

namespace whet {
namespace {

// A loop of one multiply-add inside another, as `disassemble` writes it; 8 to 12 are the inner loop.
const char* const kNested =
    "whet_k:\n"
    "0:\tvmovups\tymmword ptr [rsp], ymm3\n"
    "4:\txor\teax, eax\n"
    "8:\tvmovups\tymm1, ymmword ptr [rsi + rax]\n"
    "c:\tvfmadd231ps\tymm0, ymm1, ymm2\n"
    "10:\tadd\trax, 32\n"
    "12:\tjne\t0x8\n"
    "14:\tvfmadd231ps\tymm4, ymm5, ymm6\n"
    "18:\tinc\tr8\n"
    "1c:\tjl\t0x4\n"
    "20:\tret\n";

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(MainLoop, IsTheInnermostOne) {
  const std::vector<MachineLoop> loops = main_loops(kNested);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].instructions.size(), 4u) << loops[0].text();
  EXPECT_EQ(loops[0].multiply_adds, std::vector<std::string>{"vfmadd231ps\tymm0, ymm1, ymm2"});
  EXPECT_TRUE(loops[0].spills.empty());  // the store before the loop is none of its own
}
TEST(MainLoop, SpillsWhereAVectorMeetsTheStack) {
  for (const char* spill : {"vmovups\tymmword ptr [rsp - 64], ymm1", "vmovaps\tymm1, ymmword ptr [rsp]",
                            "vfmadd213ps\tymm0, ymm1, ymmword ptr [rsp + 8]"}) {
    const std::vector<MachineLoop> loops = main_loops(with(kNested, "vmovups\tymm1, ymmword ptr [rsi + rax]", spill));
    ASSERT_EQ(loops.size(), 1u);
    EXPECT_EQ(loops[0].spills, std::vector<std::string>{spill});
  }
}
TEST(MainLoop, DoesNotMindNumbersOnTheStack) {
  EXPECT_TRUE(main_loops(with(kNested, "add\trax, 32", "mov\trax, qword ptr [rsp]"))[0].spills.empty());
}
TEST(MainLoop, ReachesTheStackThroughRbpOnlyWhereItIsTheFrame) {
  const std::string text = with(kNested, "[rsi + rax]", "[rbp - 64]");
  EXPECT_TRUE(main_loops(text)[0].spills.empty());
  EXPECT_EQ(main_loops(with(text, "xor\teax, eax", "mov\trbp, rsp"))[0].spills.size(), 1u);
}
TEST(MainLoop, IsAbsentFromCodeWithoutMultiplyAdds) {
  EXPECT_TRUE(main_loops("0:\tvaddps\tymm0, ymm0, ymm1\n4:\tjmp\t0x0\n").empty());
  EXPECT_TRUE(main_loops("").empty());
}

}  // namespace
}  // namespace whet
