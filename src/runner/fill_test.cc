#include "runner/fill.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "runner/given.h"
#include "runner/lent.h"

namespace whet {
namespace {

template <typename T>
std::vector<T> filled(ArgumentSpec spec, std::size_t count = 1000) {
  std::vector<T> values(count);
  spec.bytes = static_cast<std::int64_t>(count * sizeof(T));
  fill_argument(spec, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

TEST(FillArgument, GivesTheSameContentsForTheSameSeed) {
  EXPECT_EQ(filled<float>({.seed = 3}), filled<float>({.seed = 3}));
  EXPECT_NE(filled<float>({.seed = 3}), filled<float>({.seed = 4}));
}
TEST(FillArgument, NeverWritesAZeroFloat) {
  for (double low : {-1.0, 0.0, 0.5})
    for (float value : filled<float>({.seed = 1, .low = low, .high = 1}, 20000)) {
      EXPECT_GE(std::fabs(value), 1.0 / 128);
      EXPECT_TRUE(value >= low && value < 1);
    }
}
TEST(FillArgument, KeepsIndicesBelowTheirBound) {
  std::set<std::int64_t> seen;
  for (auto value : filled<std::int64_t>({.dtype = DType::i64, .seed = 1, .index_bound = 5})) seen.insert(value);
  EXPECT_EQ(seen, (std::set<std::int64_t>{0, 1, 2, 3, 4}));
}
TEST(FillArgument, WritesContentsThatAreGiven) {
  const std::string bytes("\3\0\0\0\1\0\0\0\2\0\0\0", 12);
  const std::uint64_t number = keep_given(bytes);
  EXPECT_EQ(number, number_of_contents(bytes));
  EXPECT_EQ(filled<std::int32_t>(given_spec({.dtype = DType::i32}, number), 3), (std::vector<std::int32_t>{3, 1, 2}));
}
TEST(FillArgument, WritesTheSizesOfAKernelForRanges) {
  for (const std::vector<std::int64_t>& values : {std::vector<std::int64_t>{1}, {17, 2147483647}, {8, 1, 640}}) {
    const ArgumentSpec spec = sizes_spec(values);
    EXPECT_EQ(sizes_in(spec), values);
    EXPECT_EQ(filled<std::int64_t>(spec, values.size()), values);
  }
}
TEST(FillArgument, KnowsWhatIsGiven) {
  const auto has = [](std::uint64_t number, std::int64_t bytes) {
    KernelJob job;
    job.arguments = {given_spec({.bytes = bytes}, number), {.bytes = 4}};
    return has_given(job);
  };
  const std::uint64_t number = keep_given("four");
  EXPECT_TRUE(has(number, 4));
  EXPECT_FALSE(has(number, 8)) << "of another size";
  EXPECT_FALSE(has(number + 1, 4)) << "given to nobody";
  EXPECT_TRUE(take_given(given_message(number)));
  EXPECT_FALSE(take_given("short")) << "no number";
  EXPECT_FALSE(take_given(given_message(number) + "more")) << "the number of other contents";
}
TEST(FillArgument, KnowsWhatIsLentAsLongAsSomebodyHoldsIt) {
  const std::uint64_t number = number_of_contents("lent");
  std::shared_ptr<const std::string> one = lend_given("lent"), other = lend_given("lent");
  EXPECT_EQ(one, other);
  one = nullptr;
  EXPECT_EQ(given_contents(number), other);
  other = nullptr;
  EXPECT_EQ(given_contents(number), nullptr);
  EXPECT_EQ(keep_given("lent"), number);
  (void)lend_given("lent");
  EXPECT_NE(given_contents(number), nullptr) << "it is kept";
}
TEST(FillArgument, MakesBooleansOfZeroAndOne) {
  for (auto value : filled<std::uint8_t>({.dtype = DType::boolean, .seed = 1})) EXPECT_LE(value, 1);
}
TEST(FillArgument, MakesSmallIntegersThatAreNotZero) {
  for (auto value : filled<std::int8_t>({.dtype = DType::i8, .seed = 1}))
    EXPECT_TRUE(value != 0 && std::abs(value) <= 8);
  for (auto value : filled<std::int16_t>({.dtype = DType::i16, .seed = 1}))
    EXPECT_TRUE(value != 0 && std::abs(value) <= 8);
  for (auto value : filled<std::int32_t>({.dtype = DType::i32, .seed = 1}))
    EXPECT_TRUE(value != 0 && std::abs(value) <= 8);
}
TEST(FillArgument, MakesFloatsOf16BitsThatAreNotZero) {
  for (auto bits : filled<std::uint16_t>({.dtype = DType::bf16, .seed = 1}))
    EXPECT_TRUE(std::fabs(bf16_to_float(bits)) >= 1.0 / 64 && std::fabs(bf16_to_float(bits)) <= 1);
}

}  // namespace
}  // namespace whet
