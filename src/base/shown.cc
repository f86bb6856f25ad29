#include "base/shown.h"

#include <array>
#include <cstdio>

namespace whet {
namespace {

constexpr unsigned char kDelete = 0x7f;
/// U+0080 to U+009f, which terminals obey as well, are this byte and one of 0x80 to 0x9f.
constexpr unsigned char kBeforeUpperControl = 0xc2, kFirstUpper = 0x80, kLastUpper = 0x9f;

/// As JSON writes it, so that JSON means what it meant.
std::string escape_of(unsigned char c) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "\\u%04x", c);
  return text.data();
}

}  // namespace

std::string shown(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool is_upper = c == kBeforeUpperControl && next >= kFirstUpper && next <= kLastUpper;
    if (is_upper)
      out += escape_of(next), ++i;
    else if ((c < ' ' || c == kDelete) && kept.find(text[i]) == kept.npos)
      out += escape_of(c);
    else
      out += text[i];
  }
  return out;
}

}  // namespace whet
