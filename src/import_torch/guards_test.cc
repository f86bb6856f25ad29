#include "import_torch/guards.h"

#include <gtest/gtest.h>

#include "import_torch/testing/pt2.h"

namespace whet::torch {
namespace guards_test {

/// "x.size(1) >= 5: holds", "...: broken", "...: unknown", or "not read", where x is 3x7x6 and y_0 is 4.
std::string read(const std::string& code) {
  const std::optional<Guard> guard = Guard::parse(code);
  if (!guard) return "not read";
  const std::optional<bool> holds = guard->holds({{"x", {3, 7, 6}}, {"y_0", {4}}});
  return guard->text() + (!holds ? ": unknown" : *holds ? ": holds" : ": broken");
}

TEST(Guard, ReadsTheConditionsThatTorchWrites) {
  EXPECT_EQ(read("L['x'].size()[1] >= 5"), "x.size(1) >= 5: holds");
  EXPECT_EQ(read("math.trunc(0.5*torch.sym_float(L['x'].size()[1])) == 5"),
            "math.trunc(0.5*float(x.size(1))) == 5: broken");
  EXPECT_EQ(read("(6*L['x'].size()[1]) != 30"), "(6*x.size(1)) != 30: holds");
  EXPECT_EQ(read("(1 + (((-1) + L['x'].size()[2]) // 2)) == (2 + 2*(((-1) + L['x'].size()[2]) // 4))"),
            "(1 + (((-1) + x.size(2)) // 2)) == (2 + 2*(((-1) + x.size(2)) // 4)): broken");
  EXPECT_EQ(read("L['x'].size()[0] < L[\"y\"][0].size()[0] <= 4"), "x.size(0) < y_0.size(0) <= 4: holds");
  EXPECT_EQ(read("L['x'].stride()[0] == 42 and L['x'].storage_offset() == 0"),
            "x.stride(0) == 42 and L['x'].storage_offset() == 0: holds");
}
TEST(Guard, ComputesAsPythonDoes) {
  EXPECT_EQ(read("(-7) // 2 == -4 and (-7) % 2 == 1 and 7 // -2 == -4 and 7 % -2 == -1"),
            "(-7) // 2 == -4 and (-7) % 2 == 1 and 7 // -2 == -4 and 7 % -2 == -1: holds");
  EXPECT_EQ(read("-2**2 == -4 and 2**-1 == 0.5 and 7/2 == 3.5 and 2*3**2 == 18 and 1e3 == 1000"),
            "-2**2 == -4 and 2**-1 == 0.5 and 7/2 == 3.5 and 2*3**2 == 18 and 1e3 == 1000: holds");
  EXPECT_EQ(read("not 1 > 2 or False"), "not 1 > 2 or False: holds");
  EXPECT_EQ(read("max(1, 3, 2) == 3 & min(4, 2) == 2"), "max(1, 3, 2) == 3 & min(4, 2) == 2: holds");
  EXPECT_EQ(read("round(2.5) == 2 and torch.sym_ite(1 > 2, 5, 6) == 6 and abs(-3) == math.sqrt(9)"),
            "round(2.5) == 2 and torch.sym_ite(1 > 2, 5, 6) == 6 and abs(-3) == math.sqrt(9): holds");
}
TEST(Guard, LeavesOutWhatIsNoConditionOnSizes) {
  for (const char* code :
       {"", "L['x'].size()[1", "L['x'].dtype == torch.float32", "__import__('os').system('x')", "1 +",
        "L['x'].size()[1] >= 5; x", "L[", "L['x", "math.trunc(1, 2)", "max(1)", "1 2", "..", "notx"})
    EXPECT_EQ(read(code), "not read") << code;
  EXPECT_EQ(read("L['z'].size()[1] >= 5"), "z.size(1) >= 5: unknown");
  EXPECT_EQ(read("L['x'].size()[9] >= 5"), "x.size(9) >= 5: unknown");
  EXPECT_EQ(read("1 // 0 == 1"), "1 // 0 == 1: unknown");
  EXPECT_EQ(read("10**400 == 1"), "10**400 == 1: unknown");
  EXPECT_EQ(read(std::string(100000, '(')), "not read");
  EXPECT_EQ(read(std::string(60000, '-') + "1"), "not read");
}

/// The answer of import to a program of x [s1, s2] with a guard, at a shape.
std::string said(const std::string& guard, const Shape& shape, int most = 100) {
  Pt2 p;
  p.input("x", {-1, -2}).range(1, 2, 64).range(2, 5, most).guard(guard);
  p.node("aten.relu.default", "self=%x", {"y"}).output("y");
  ImportOptions options;
  options.shapes["x"] = shape;
  const Result<Graph> graph = imported_pt2(p.bytes(), "m", options);
  return graph.ok() ? "" : graph.error().message;
}

TEST(Guards, AreHeldAtTheSizesThatAreGiven) {
  const std::string trunc = "math.trunc(0.5*torch.sym_float(L['x'].size()[1])) == 5";
  EXPECT_EQ(said(trunc, {3, 10}), "");
  EXPECT_EQ(said(trunc, {3, 7}),
            "dimension 1 of input \"x\" is 7; torch.export made this program for sizes where "
            "math.trunc(0.5*float(x.size(1))) == 5; expected 10 to 11");
  EXPECT_EQ(
      said("L['x'].size()[1] >= 8", {3, 7}),
      "dimension 1 of input \"x\" is 7; torch.export made this program for sizes where x.size(1) >= 8; expected 8 or "
      "more");
  EXPECT_EQ(
      said("L['x'].size()[0] == 2*L['x'].size()[1]", {3, 7}),
      "dimension 0 of input \"x\" is 3 and dimension 1 of input \"x\" is 7; torch.export made this program for sizes "
      "where x.size(0) == 2*x.size(1); expected 14 for dimension 0 of input \"x\"");
  EXPECT_EQ(
      said("(L['x'].size()[1] % 8) == 0", {3, 7}),
      "dimension 1 of input \"x\" is 7; torch.export made this program for sizes where (x.size(1) % 8) == 0; expected "
      "8, 16, 24, 32, ...");
  EXPECT_EQ(
      said("L['x'].size()[1] == 7 and L['x'].size()[1] == 8", {3, 7}),
      "dimension 1 of input \"x\" is 7; torch.export made this program for sizes where x.size(1) == 7 and x.size(1) == "
      "8; expected other sizes, or a program that is exported with these");
  EXPECT_EQ(said("L['flag'] == True", {3, 7}), "");
}
TEST(Guards, OpenSizesStayInTheRangesOfTheirSymbols) {
  EXPECT_EQ(said("True", {1, 7}), "");  // as torch takes it
  EXPECT_EQ(said("True", {1, 4}), "input \"x\" is given as 1x4; the model says that dimension 1 is 5 to 100");
  EXPECT_EQ(said("True", {65, 7}), "input \"x\" is given as 65x7; the model says that dimension 0 is 0 to 64");
}

}  // namespace guards_test
}  // namespace whet::torch
