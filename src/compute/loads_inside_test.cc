#include "compute/loads_inside.h"

#include <gtest/gtest.h>

namespace whet {
namespace {

std::string error_of(const std::string& body) {
  const ComputeDag dag = parse_dag("x = PLACEHOLDER [3, 4]\nr = PLACEHOLDER [3] i32\ny(i, j) = " + body +
                                   " for i in 3, j in 4\nreturn y\n")
                             .value();
  const Status inside = check_loads_inside(dag);
  return inside.ok() ? "" : inside.error().message;
}

TEST(LoadsInside, AreThoseThatTheAxesOrAChoiceKeepThere) {
  for (const char* body : {"x[i, j]", "x[(2 - i), min((j + 1), 3)]", "select((j > 0), x[i, (j - 1)], 0f)",
                           "select((j >= 3), 0f, x[i, (j + 1)])", "exp(x[floordiv(i, 2), floormod((j*5), 4)])",
                           "x[max(min(i64(r[i]), 2), 0), j]", "x[i64(max(min(r[i], 2i32), 0i32)), j]"})
    EXPECT_EQ(error_of(body), "") << body;
}
TEST(LoadsInside, NamesTheOneThatIsNot) {
  EXPECT_EQ(error_of("(x[i, j] + x[i, (j + 1)])"),
            "y reads x at (j + 1) in dimension 1, which is not known to be one of 0 .. 3; select(condition, x[...], "
            "value) reads it where the "
            "condition holds alone");
  EXPECT_NE(error_of("select((j > 0), x[i, j], x[i, (j - 1)])"), "") << "the other side";
  EXPECT_NE(error_of("x[i64(r[i]), j]"), "") << "an input that may be anything";
  EXPECT_NE(error_of("x[i64(r[(i + 1)]), j]"), "");
  EXPECT_NE(error_of("x[j, i]"), "");
}

}  // namespace
}  // namespace whet
