#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/llvm/machine_loops.h"
#include "codegen/testing/builder.h"

#if defined(__x86_64__)

// A loop of one multiply-add inside another, as machine code from NAME_begin to NAME_end. 2 is the inner loop; `first`
// comes before both, `body` is the inner one's first instruction.
#define NESTED_LOOPS(name, first, body)                                      \
  __asm__(".pushsection .rodata\n.intel_syntax noprefix\n" #name             \
          "_begin:\n"                                                        \
          "  vmovups ymmword ptr [rsp], ymm3\n  " first                      \
          "\n"                                                               \
          "1: xor eax, eax\n"                                                \
          "2: " body                                                         \
          "\n  vfmadd231ps ymm0, ymm1, ymm2\n  add rax, 32\n  jne 2b\n"      \
          "  vfmadd231ps ymm4, ymm5, ymm6\n  inc r8\n  jl 1b\n  ret\n" #name \
          "_end:\n.att_syntax prefix\n.popsection\n");                       \
  extern const char name##_begin[] __asm__(#name "_begin");                  \
  extern const char name##_end[] __asm__(#name "_end")

NESTED_LOOPS(plain, "nop", "vmovups ymm1, ymmword ptr [rsi + rax]");
NESTED_LOOPS(stores, "nop", "vmovups ymmword ptr [rsp - 64], ymm1");
NESTED_LOOPS(loads, "nop", "vmovaps ymm1, ymmword ptr [rsp]");
NESTED_LOOPS(reads_an_operand, "nop", "vfmadd213ps ymm0, ymm1, ymmword ptr [rsp + 8]");
NESTED_LOOPS(loads_a_number, "nop", "mov rax, qword ptr [rsp]");
NESTED_LOOPS(loads_by_rbp, "nop", "vmovups ymm1, ymmword ptr [rbp - 64]");
NESTED_LOOPS(loads_from_the_frame, "mov rbp, rsp", "vmovups ymm1, ymmword ptr [rbp - 64]");

namespace whet {
namespace {

std::vector<MachineLoop> loops_between(const char* begin, const char* end) {
  return loops_of_code({begin, end}, *parse_target("cpu -mcpu=haswell")).value();
}
#define LOOPS_OF(name) loops_between(name##_begin, name##_end)

TEST(MachineLoops, AreTheInnermostOnes) {
  const std::vector<MachineLoop> loops = LOOPS_OF(plain);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].text,
            "vmovups\tymm1, ymmword ptr [rsi + rax]\nvfmadd231ps\tymm0, ymm1, ymm2\nadd\trax, 32\njne\t0x8\n");
  EXPECT_EQ(loops[0].multiply_adds, 1);
  EXPECT_TRUE(loops[0].spills.empty());  // the store before the loop is none of its own
}
TEST(MachineLoops, SpillWhereAVectorMeetsTheStack) {
  EXPECT_EQ(LOOPS_OF(stores)[0].spills, std::vector<std::string>{"vmovups\tymmword ptr [rsp - 64], ymm1"});
  EXPECT_EQ(LOOPS_OF(loads)[0].spills, std::vector<std::string>{"vmovaps\tymm1, ymmword ptr [rsp]"});
  EXPECT_EQ(LOOPS_OF(reads_an_operand)[0].spills,
            std::vector<std::string>{"vfmadd213ps\tymm0, ymm1, ymmword ptr [rsp + 8]"});
  EXPECT_EQ(LOOPS_OF(reads_an_operand)[0].multiply_adds, 2);
}
TEST(MachineLoops, MayHaveNumbersOnTheStack) { EXPECT_TRUE(LOOPS_OF(loads_a_number)[0].spills.empty()); }
TEST(MachineLoops, ReachTheStackThroughRbpOnlyWhereItIsTheFrame) {
  EXPECT_TRUE(LOOPS_OF(loads_by_rbp)[0].spills.empty());
  EXPECT_EQ(LOOPS_OF(loads_from_the_frame)[0].spills.size(), 1u);
}

}  // namespace
}  // namespace whet

#endif

namespace whet {
namespace {

MachineLoop loop_of(std::int64_t multiply_adds) { return {"", multiply_adds, {}}; }

TEST(MainLoops, HaveHalfOfTheMostMultiplyAddsOrMore) {
  const std::vector<MachineLoop> loops = main_loops({loop_of(5), loop_of(0), loop_of(12), loop_of(6)});
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].multiply_adds, 12);
  EXPECT_EQ(loops[1].multiply_adds, 6);
}
TEST(MainLoops, AreAbsentWithoutMultiplyAdds) {
  EXPECT_TRUE(main_loops({loop_of(0), loop_of(0)}).empty());
  EXPECT_TRUE(main_loops({}).empty());
}

TEST(MachineLoops, AreFoundInKernels) {
  Builder b;
  const BufferId x = b.input(256), y = b.output(256);
  b.p.body = b.loop(32, [&](Expr i) {
    const Expr at = ramp(i * 8, 1, 8);
    return b.put(y, at, b.at(y, at) + b.at(x, at) * b.at(x, at));
  });
  const Target target = *parse_target("cpu -mcpu=haswell");
  Kernel kernel = compile_kernel(b.p, target).value();
  const std::vector<MachineLoop> loops = innermost_loops(kernel, target).value();
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].multiply_adds, 1) << loops[0].text;
  kernel.code = "no object file";
  EXPECT_TRUE(innermost_loops(kernel, target).error().message.starts_with("kernel `whet_k`: "));
}

}  // namespace
}  // namespace whet
