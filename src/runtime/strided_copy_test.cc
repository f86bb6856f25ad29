#include "runtime/strided_copy.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"

namespace whet {
namespace {

TEST(IsContiguous, IgnoresTheStridesOfSingleElements) {
  const std::int64_t shape[] = {2, 1, 3}, strides[] = {12, 999, 4}, wrong[] = {16, 4, 4};
  EXPECT_TRUE(is_contiguous(shape, strides, 3, 4));
  EXPECT_FALSE(is_contiguous(shape, wrong, 3, 4));
  EXPECT_TRUE(is_contiguous(shape, strides, 0, 4));
}

TEST(CopyStrided, TransposesReversesAndRepeats) {
  const std::vector<float> from = {0, 1, 2, 3, 4, 5};
  std::vector<float> to(6);
  const std::int64_t shape[] = {3, 2}, transposed[] = {4, 12}, repeated[] = {0, 4}, reversed[] = {-8, -4};
  copy_strided(to.data(), from.data(), shape, transposed, 2, 4);
  EXPECT_EQ(to, (std::vector<float>{0, 3, 1, 4, 2, 5}));
  copy_strided(to.data(), from.data(), shape, repeated, 2, 4);
  EXPECT_EQ(to, (std::vector<float>{0, 1, 0, 1, 0, 1}));
  copy_strided(to.data(), from.data() + 5, shape, reversed, 2, 4);
  EXPECT_EQ(to, (std::vector<float>{5, 4, 3, 2, 1, 0}));
}

TEST(CopyStrided, AgreesWithIndexingElementByElement) {
  Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t element = std::int64_t{1} << rng.below(4);
    const std::uint32_t rank = static_cast<std::uint32_t>(rng.below(5));
    std::vector<std::int64_t> shape, strides;
    std::int64_t extent_bytes = element, count = 1;
    for (std::uint32_t d = 0; d < rank; ++d) {
      shape.push_back(rng.between(1, 4));
      strides.push_back(rng.chance(0.1) ? 0 : extent_bytes + (rng.chance(0.3) ? element : 0));
      extent_bytes += std::abs(strides.back()) * shape.back();
      count *= shape.back();
    }
    if (rank > 1 && rng.chance(0.5)) std::swap(shape[0], shape[1]), std::swap(strides[0], strides[1]);
    std::vector<unsigned char> from(static_cast<std::size_t>(extent_bytes + element));
    for (auto& byte : from) byte = static_cast<unsigned char>(rng.next());
    std::vector<std::uint64_t> storage(static_cast<std::size_t>(count));
    unsigned char* to = reinterpret_cast<unsigned char*>(storage.data());
    copy_strided(to, from.data(), shape.data(), strides.data(), rank, element);
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = i, offset = 0;
      for (std::uint32_t d = rank; d-- > 0;) {
        offset += rest % shape[d] * strides[d];
        rest /= shape[d];
      }
      for (std::int64_t b = 0; b < element; ++b) {
        ASSERT_EQ(to[i * element + b], from[static_cast<std::size_t>(offset + b)])
            << "round " << round << " element " << i;
      }
    }
  }
}

}  // namespace
}  // namespace whet
