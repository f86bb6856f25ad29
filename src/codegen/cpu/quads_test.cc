#include "codegen/cpu/quads.h"

#include <gtest/gtest.h>

#include "codegen/testing/builder.h"

namespace whet::quads_test {
namespace {

/// Sums of products of scalars of x with the same vector, one store each. What a test does not set is plain.
struct Stores {
  std::vector<std::int64_t> scalars;  ///< their places behind i*8
  DType dtype = DType::f32;
  bool conditional = false;  ///< x is read where it is not negative alone
  bool masked = false;       ///< some lanes alone are stored
  bool stores_to_x = false;
  std::int64_t registers = 31;

  /// "first: lanes", for each quad.
  std::string quads() const {
    Builder b;
    const BufferId x = dtype == DType::f32 && stores_to_x ? b.output(64) : b.input(64, dtype), y = b.output(64);
    const BufferId w = b.input(4), sums = b.scratch(Scope::registers, 64);
    std::vector<Stmt> stores;
    b.p.body = b.loop(8, [&](Expr i) {
      for (const std::int64_t at : scalars) {
        const Expr place = ramp(int_const(at * 4), 1, 4), index = i * 8 + at;
        Expr value = broadcast(cast(DType::f32, b.at(x, index)), 4);
        if (conditional) value = select(broadcast(i < int_const(5), 4), value, f32(0, 4));
        const Expr mask = masked ? broadcast(i < int_const(5), 4) : Expr();
        stores.push_back(b.put(sums, place, b.at(sums, place) + value * b.at(w, ramp(int_const(0), 1, 4)), mask));
      }
      if (stores_to_x) stores.push_back(b.put(x, i, b.at(sums, int_const(0))));
      return block(stores);
    });
    b.p.body = block({b.put(sums, ramp(int_const(0), 1, 64), f32(0, 64)), b.p.body,
                      b.put(y, ramp(int_const(0), 1, 64), b.at(sums, ramp(int_const(0), 1, 64)))});
    const Target target = *parse_target("cpu -mcpu=cortex-a72");
    Analysis analysis = Analysis::of(b.p, target).value();
    std::vector<const Store*> run;
    for (const Stmt& s : stores) run.push_back(&std::get<Store>(s->kind));
    const Quads found = find_quads(run, analysis, b.p, registers);
    std::string text;
    for (std::size_t q = 0; q < found.all.size(); ++q) {
      const auto is_of = [&](const auto& entry) { return entry.second.quad == q; };
      text += std::to_string(found.all[q].first.constant) + ": " +
              std::to_string(std::count_if(found.lanes.begin(), found.lanes.end(), is_of)) + " lanes; ";
    }
    return text;
  }
};

TEST(Quads, AreFourNeighboursThatAreBroadcast) {
  EXPECT_EQ((Stores{.scalars = {0, 1, 2, 3}}).quads(), "0: 4 lanes; ");
  EXPECT_EQ((Stores{.scalars = {6, 3, 5, 4}}).quads(), "3: 4 lanes; ");
  EXPECT_EQ((Stores{.scalars = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1}}).quads(), "0: 4 lanes; 4: 4 lanes; ");
}
TEST(Quads, ReadNothingThatIsNotReadAnyway) {
  EXPECT_EQ((Stores{.scalars = {0, 1, 2}}).quads(), "");
  EXPECT_EQ((Stores{.scalars = {0, 1, 3, 4, 5}}).quads(), "");
  EXPECT_EQ((Stores{.scalars = {0, 1, 2, 3, 4, 5}}).quads(), "0: 4 lanes; ");
  EXPECT_EQ((Stores{.scalars = {0, 1, 2, 3}, .conditional = true}).quads(), "");
  EXPECT_EQ((Stores{.scalars = {0, 1, 2, 3}, .masked = true}).quads(), "");
}
TEST(Quads, AreOfFloatsThatNothingChanges) {
  EXPECT_EQ((Stores{.scalars = {0, 1, 2, 3}, .dtype = DType::f16}).quads(), "");
  EXPECT_EQ((Stores{.scalars = {0, 1, 2, 3}, .stores_to_x = true}).quads(), "");
}
TEST(Quads, LeaveRegistersToTheSums) {
  // 16 registers of sums, as one, w, and the quad.
  EXPECT_EQ((Stores{.scalars = {0, 1, 2, 3}, .registers = 18}).quads(), "0: 4 lanes; ");
  EXPECT_EQ((Stores{.scalars = {0, 1, 2, 3}, .registers = 17}).quads(), "");
}

}  // namespace
}  // namespace whet::quads_test
