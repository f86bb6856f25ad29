#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/rng.h"

namespace whet {

/// Weights of libraries that are only timed have this content, by their place in the library, so that a device elsewhere can make it
/// itself: a page of small numbers, again and again. Its floats are ± 1/256 to 8/256: sums over a layer neither grow nor vanish.
constexpr std::size_t kMadePage = 4096;

/// The page twice: what a place of a library begins with is a part of it.
inline std::array<char, 2 * kMadePage> made_weights() {
  std::array<char, 2 * kMadePage> bytes{};
  Rng rng(4);
  for (std::size_t at = 0; at < kMadePage; at += sizeof(float)) {
    const auto magnitude = static_cast<float>(rng.between(1, 8)) / 256;
    const auto word = std::bit_cast<std::uint32_t>(rng.below(2) == 0 ? magnitude : -magnitude);
    for (std::size_t byte = 0; byte < sizeof word; ++byte)
      bytes[at + byte] = bytes[kMadePage + at + byte] = static_cast<char>(word >> 8 * byte);
  }
  return bytes;
}

}  // namespace whet
