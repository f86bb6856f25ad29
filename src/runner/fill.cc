#include "runner/fill.h"

#include <cmath>
#include <cstring>
#include <iterator>

#include "base/check.h"
#include "base/rng.h"
#include "runner/given.h"

namespace whet {
namespace {

double nonzero(Rng& rng, const ArgumentSpec& spec) {
  const double width = spec.high - spec.low, value = rng.uniform(spec.low, spec.high);
  // 1/64 of the range around zero is moved out of it.
  const double smallest = width / 64;
  return std::fabs(value) >= smallest ? value : value < 0 && spec.low < 0 ? -smallest : smallest;
}

std::int64_t integer(Rng& rng, const ArgumentSpec& spec) {
  if (spec.index_bound > 0) return rng.below(spec.index_bound);
  if (spec.dtype == DType::boolean) return rng.below(2);
  if (spec.dtype == DType::u8) return rng.between(1, 15);
  const std::int64_t value = rng.between(1, 8);
  return rng.chance(0.5) ? value : -value;
}

template <typename T, typename Make>
void fill(const ArgumentSpec& spec, std::byte* data, Make make) {
  Rng rng(spec.seed);
  for (std::int64_t at = 0; at + static_cast<std::int64_t>(sizeof(T)) <= spec.bytes; at += sizeof(T)) {
    const T value = static_cast<T>(make(rng, spec));
    std::memcpy(data + at, &value, sizeof value);
  }
}

}  // namespace

void fill_argument(const ArgumentSpec& spec, std::byte* data) {
  if (spec.is_given()) {
    const auto contents = given_contents(spec.seed);
    WHET_CHECK(contents != nullptr && std::ssize(*contents) == spec.bytes, "contents that nobody gave");
    std::memcpy(data, contents->data(), contents->size());
    return;
  }
  if (spec.is_sizes()) {
    const std::vector<std::int64_t> values = sizes_in(spec);
    std::memcpy(data, values.data(), values.size() * sizeof(std::int64_t));
    return;
  }
  switch (spec.dtype) {
    case DType::f32:
      return fill<float>(spec, data, nonzero);
    case DType::f64:
      return fill<double>(spec, data, nonzero);
    case DType::f16:
      return fill<std::uint16_t>(spec, data, [](Rng& rng, const ArgumentSpec& s) {
        return float_to_half(static_cast<float>(nonzero(rng, s)));
      });
    case DType::bf16:
      return fill<std::uint16_t>(spec, data, [](Rng& rng, const ArgumentSpec& s) {
        return float_to_bf16(static_cast<float>(nonzero(rng, s)));
      });
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      return fill<std::uint8_t>(spec, data, integer);
    case DType::i16:
      return fill<std::int16_t>(spec, data, integer);
    case DType::i32:
      return fill<std::int32_t>(spec, data, integer);
    case DType::i64:
      return fill<std::int64_t>(spec, data, integer);
  }
  WHET_CHECK(false, "a dtype without contents");
}

}  // namespace whet
