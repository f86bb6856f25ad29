#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/llvm/machine_loops.h"
#include "codegen/testing/builder.h"

namespace whet::aarch64_architecture_test {
namespace {

/// 1x1 convolution of `pixels` x `vectors` registers of four lanes; an iteration has `steps` steps of the reduction.
Builder products(int pixels, int vectors, int steps = 1) {
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
  Stmt sum = b.loop(64 / steps, [&](Expr iteration) {
    std::vector<Stmt> list;
    for (int step = 0; step < steps; ++step)
      list.push_back(tile([&](int i, int v, Expr at) {
        const Expr k = iteration * steps + step, weights = b.at(w, ramp(k * row + v * 4, 1, 4));
        return b.put(acc, at, b.at(acc, at) + broadcast(b.at(x, k + i * 64), 4) * weights);
      }));
    return block(std::move(list));
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
std::int64_t count(const std::string& text, const std::string& word) {
  std::int64_t found = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++found;
  return found;
}
TEST(AArch64, LoadsFourNeighbouringInputsAtOnceAndMultipliesByTheirLanes) {
  for (const char* processor : {"aarch64", "cortex-a53", "cortex-a55", "cortex-a72", "cortex-a76", "neoverse-n1"})
    for (const auto& [pixels, vectors] : {std::pair(8, 2), std::pair(4, 4), std::pair(9, 2)}) {
      const Target target = target_of(processor);
      const std::vector<MachineLoop> loops =
          main_loops(*innermost_loops(compile_kernel(products(pixels, vectors, 4).p, target).value(), target));
      ASSERT_EQ(loops.size(), 1u) << processor;
      const std::string& text = loops[0].text;
      EXPECT_EQ(loops[0].multiply_adds, 4 * pixels * vectors) << processor;
      EXPECT_TRUE(loops[0].spills.empty()) << processor << "\n" << text;
      EXPECT_EQ(count(text, "ldr\ts"), 0) << processor << "\n" << text;
      EXPECT_EQ(count(text, "ldr\tq") + 2 * count(text, "ldp\tq"), pixels + 4 * vectors) << processor << "\n" << text;
      EXPECT_EQ(count(text, "dup") + count(text, "mov\tv"), 0) << processor << "\n" << text;
    }
}
TEST(AArch64, ReachesInputsFarFromAPointerWithoutRegistersOfTheirDistances) {
  const Target target = target_of("cortex-a72");
  const auto far = [&](std::int64_t distance) {
    Builder away("far");
    const BufferId x = away.input(1 << 16), y = away.output(4);
    away.p.body = away.loop(64, [&](Expr i) {
      const Expr place = ramp(int_const(0), 1, 4);
      return away.put(y, place, away.at(y, place) + away.at(x, ramp(i * 4 + distance, 1, 4)));
    });
    return innermost_loops(compile_kernel(away.p, target).value(), target).value().at(0).text;
  };
  EXPECT_EQ(count(far(40000), "\n"), count(far(1000), "\n")) << far(40000);
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
