#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace whet {

/// SHA-256 of bytes that come in pieces. Source: FIPS 180-4.
class Sha256 {
 public:
  void add(std::string_view bytes);
  /// 64 hexadecimal digits. Nothing can be added afterwards.
  std::string digits();

 private:
  void take_block(const unsigned char* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> block_{};
  std::size_t in_block_ = 0;
  std::uint64_t bytes_ = 0;
};

constexpr std::size_t kSha256Digits = 64;
std::string sha256(std::string_view bytes);
/// Whether the text is one of `Sha256::digits`.
bool is_sha256(std::string_view text);

}  // namespace whet
