#include "base/result.h"

#include <gtest/gtest.h>

namespace whet {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return Error{"3 is odd"};
  return n / 2;
}
Result<int> quarter(int n) {
  WHET_TRY(int h, half(n));
  return half(h);
}

TEST(Result, CarriesAValueOrASentence) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
}
TEST(Result, KeepsTheKindOfTheError) {
  const auto nothing = []() -> Status { return Error{"no such file", ErrorKind::not_found}; };
  const auto inside = [&]() -> Status {
    WHET_RETURN_IF_ERROR(nothing());
    return ok_status();
  };
  EXPECT_EQ(inside().error().kind, ErrorKind::not_found);
  EXPECT_EQ(inside().error().at("a.onnx").kind, ErrorKind::not_found);
  EXPECT_EQ(inside().error().at("a.onnx").message, "a.onnx: no such file");
  EXPECT_EQ(quarter(6).error().kind, ErrorKind::invalid_input);
}
TEST(Result, CarriesOneLineWhateverTheNamesInItAre) {
  const auto unknown = [](const std::string& name) -> Status { return Error{"there is no sketch \"" + name + "\""}; };
  EXPECT_EQ(unknown("a\nb\x1b[2J").error().message, "there is no sketch \"a\\u000ab\\u001b[2J\"");
}
TEST(Result, StopsWhereItIsAskedForWhatItHasNot) {
  EXPECT_DEATH(half(3).value(), "3 is odd");
  EXPECT_DEATH(half(4).error(), "asked a value for its error");
}
TEST(Check, StopsWithFileLineAndNote) { EXPECT_DEATH(WHET_CHECK(1 == 2, "numbers"), "check failed: 1 == 2: numbers"); }

}  // namespace
}  // namespace whet
