#include "compiler/plan_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace whet {
namespace {

const Expr n = size_expr(0, "n"), m = size_expr(1, "m");

/// The value of a number of a plan, as the runtime evaluates them.
std::int64_t value_of(const std::vector<PlanNumber>& numbers, std::uint32_t last, const SizeValues& sizes) {
  const PlanNumber& number = numbers[last];
  const auto a = [&] { return value_of(numbers, static_cast<std::uint32_t>(number.a), sizes); };
  const auto b = [&] { return value_of(numbers, number.b, sizes); };
  switch (number.op) {
    case PlanNumberOp::constant:
      return number.a;
    case PlanNumberOp::size:
      return sizes[static_cast<std::size_t>(number.a)];
    case PlanNumberOp::add:
      return a() + b();
    case PlanNumberOp::sub:
      return a() - b();
    case PlanNumberOp::mul:
      return a() * b();
    case PlanNumberOp::floordiv:
      return a() / b();
    case PlanNumberOp::floormod:
      return a() % b();
    case PlanNumberOp::min:
      return std::min(a(), b());
    case PlanNumberOp::max:
      return std::max(a(), b());
  }
  return 0;
}

TEST(PlanNumbers, HaveTheValuesOfTheirFunctions) {
  const std::vector<Expr> functions = {int_const(7),      n,         n * 4 + m,          floordiv(n + 3, 4) * m,
                                       floormod(n, 8),    max(n, m), min(n * m, n + 20), n * 64 - m,
                                       floordiv(n, 2) + 1};
  PlanNumbers made;
  std::vector<std::uint32_t> places;
  for (const Expr& function : functions) {
    const Result<std::uint32_t> place = made.add(function);
    ASSERT_TRUE(place.ok());
    EXPECT_EQ(*made.add(function), *place) << "each once";
    places.push_back(*place);
  }
  const std::vector<PlanNumber> numbers = made.take();
  for (const SizeValues& at : {SizeValues{1, 1}, SizeValues{17, 5}, SizeValues{512, 3}})
    for (std::size_t i = 0; i < functions.size(); ++i)
      EXPECT_EQ(value_of(numbers, places[i], at), value_at(functions[i], at)) << i;
}

TEST(PlanNumbers, RefuseWhatIsNoArithmeticOfIntegers) {
  EXPECT_EQ(PlanNumbers().add(cast(DType::i32, n)).error().message,
            "a function of the sizes is no arithmetic of integers");
}

TEST(MostOf, IsTheMostOverAllBoxes) {
  const std::vector<SizeRange> sizes = {{"n", 1, 100}, {"m", 1, 9}};
  EXPECT_EQ(most_of(n * 4 + 1, sizes, {{{1, 1}, {7, 9}}, {{50, 1}, {60, 9}}}), 241);
  EXPECT_EQ(most_of(n * m * 4, sizes, {{{1, 1}, {10, 9}}}), 360);
  EXPECT_EQ(most_of(floordiv(n + 7, 8) * 32, sizes, {{{1, 1}, {9, 1}}}), 64);
}

}  // namespace
}  // namespace whet
