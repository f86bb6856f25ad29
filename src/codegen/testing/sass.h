#pragma once

// Machine code of NVIDIA's GPUs from sm_75 on, as far as counts of instructions need it.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace whet::testing {

/// The section of the entry in an ELF file.
inline std::string text_of_entry(const std::string& cubin) {
  const auto field = [&](std::uint64_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, cubin.data() + at, bytes);
    return value;
  };
  const std::uint64_t headers = field(40, 8), count = field(60, 2), names = headers + 64 * field(62, 2);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t header = headers + 64 * i;
    const std::string name = cubin.c_str() + field(names + 24, 8) + field(header, 4);
    if (name.starts_with(".text.")) return cubin.substr(field(header + 24, 8), field(header + 32, 8));
  }
  return "";
}

/// Instructions of 128 bits: the operation is in the lowest 9 (with the form of the operands 12).
struct LoopCount {
  int instructions = 0, multiply_adds = 0;
  int tiles = 0;  ///< of tensor cores: HMMA and IMMA
};
/// The longest loop: from the target of a branch backwards to the branch.
inline LoopCount longest_loop(const std::string& text, int arch) {
  constexpr std::uint64_t kMultiplyAdd = 0x23, kHalfTile = 0x3c, kByteTile = 0x37, kBranch = 0x947;
  const std::size_t count = text.size() / 16;
  std::vector<std::uint64_t> low(count), high(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(&low[i], text.data() + 16 * i, 8);
    std::memcpy(&high[i], text.data() + 16 * i + 8, 8);
  }
  LoopCount longest;
  for (std::size_t i = 0; i < count; ++i) {
    if ((low[i] & 0xfff) != kBranch) continue;
    // The distance from the next instruction in units of 4 bytes: 48 bits from bit 34 on; on newer ones bits 16 to 23 are
    // the lowest.
    std::int64_t distance = static_cast<std::int64_t>((low[i] >> 34 | high[i] << 30) << 16) >> 16;
    if (arch >= 90) distance = distance * 256 + static_cast<std::int64_t>(low[i] >> 16 & 0xff);
    const std::int64_t target = static_cast<std::int64_t>(i) + 1 + distance / 4;
    if (target < 0 || target >= static_cast<std::int64_t>(i)) continue;
    LoopCount loop;
    for (std::size_t k = static_cast<std::size_t>(target); k <= i; ++k) {
      ++loop.instructions;
      const std::uint64_t operation = low[k] & 0x1ff;
      loop.multiply_adds += operation == kMultiplyAdd;
      loop.tiles += operation == kHalfTile || operation == kByteTile;
    }
    if (loop.instructions > longest.instructions) longest = loop;
  }
  return longest;
}

}  // namespace whet::testing
