#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/llvm/machine_loops.h"
#include "codegen/testing/builder.h"

namespace whet::aarch64_architecture_test {
namespace {

/// 1x1 convolution of `pixels` x `vectors` registers of four lanes.
Builder products(int pixels, int vectors) {
  Builder b("tile");
  const int row = vectors * 4;
  const BufferId x = b.input(pixels * 64), w = b.input(64 * row), y = b.output(pixels * row);
  const BufferId acc = b.scratch(Scope::registers, pixels * row);
  const auto tile = [&](const std::function<Stmt(int, int, Expr)>& element) {
    std::vector<Stmt> list;
    for (int i = 0; i < pixels; ++i)
      for (int v = 0; v < vectors; ++v) list.push_back(element(i, v, ramp(int_const(i * row + v * 4), 1, 4)));
    return block(std::move(list));
  };
  Stmt init = tile([&](int, int, Expr at) { return b.put(acc, at, f32(0, 4)); });
  Stmt sum = b.loop(64, [&](Expr k) {
    return tile([&](int i, int v, Expr at) {
      const Expr weights = b.at(w, ramp(k * row + v * 4, 1, 4));
      return b.put(acc, at, b.at(acc, at) + broadcast(b.at(x, k + i * 64), 4) * weights);
    });
  });
  Stmt result = tile([&](int, int, Expr at) { return b.put(y, at, b.at(acc, at)); });
  b.p.body = block({init, sum, result});
  return b;
}

Target target_of(const std::string& processor) { return *parse_target("cpu -mcpu=" + processor); }

TEST(AArch64, KeepsARegisterTileInRegistersAndMultipliesByLane) {
  for (const char* processor : {"aarch64", "cortex-a53", "cortex-a55", "cortex-a72", "cortex-a76", "neoverse-n1"}) {
    const Target target = target_of(processor);
    const std::vector<MachineLoop> loops =
        main_loops(*innermost_loops(compile_kernel(products(8, 2).p, target).value(), target));
    ASSERT_EQ(loops.size(), 1u) << processor;
    EXPECT_EQ(loops[0].multiply_adds, 16) << processor;
    EXPECT_TRUE(loops[0].spills.empty()) << processor << "\n" << loops[0].text;
    EXPECT_EQ(loops[0].text.find("dup"), std::string::npos) << processor << "\n" << loops[0].text;
  }
}
TEST(AArch64, MakesTheSameCodeEachTime) {
  const Target target = target_of("cortex-a72");
  EXPECT_EQ(compile_kernel(products(8, 2).p, target).value().code,
            compile_kernel(products(8, 2).p, target).value().code);
}
TEST(AArch64, KnowsEveryProcessorOfTheTable) {
  for (const std::string& processor : known_processors()) {
    const Target target = target_of(processor);
    if (target.cpu().isa != Isa::aarch64) continue;
    EXPECT_TRUE(compile_kernel(products(1, 1).p, target).ok()) << processor;
  }
}

/// Machine code, by words.
std::vector<MachineLoop> loops_of(const std::vector<std::uint32_t>& words) {
  return loops_of_code({reinterpret_cast<const char*>(words.data()), words.size() * 4}, target_of("cortex-a72"))
      .value();
}
// By llvm-mc 19.
constexpr std::uint32_t kFmla = 0x4fa21020;    // fmla v0.4s, v1.4s, v2.s[1]
constexpr std::uint32_t kCount = 0xf1000421;   // subs x1, x1, #1
constexpr std::uint32_t kAgain = 0x54ffffa1;   // b.ne #-12
constexpr std::uint32_t kReturn = 0xd65f03c0;  // ret

TEST(AArch64, ALoopSpillsWhereAVectorMeetsTheStack) {
  constexpr std::uint32_t kLoad = 0x3dc00001, kSpill = 0x3d8007e1, kNumber = 0xf94007e2;
  const std::uint32_t again = 0x54ffffa1;
  const std::vector<MachineLoop> plain = loops_of({kLoad, kFmla, kCount, again, kReturn});
  ASSERT_EQ(plain.size(), 1u);
  EXPECT_EQ(plain[0].multiply_adds, 1);
  EXPECT_TRUE(plain[0].spills.empty());
  EXPECT_EQ(loops_of({kSpill, kFmla, kCount, kAgain})[0].spills, std::vector<std::string>{"str\tq1, [sp, #16]"});
  EXPECT_TRUE(loops_of({kNumber, kFmla, kCount, kAgain})[0].spills.empty());  // ldr x2, [sp, #8]
}

}  // namespace
}  // namespace whet::aarch64_architecture_test
