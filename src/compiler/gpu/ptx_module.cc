#include "compiler/gpu/ptx_module.h"

#include <algorithm>

namespace whet {
namespace {

constexpr std::string_view kHeadEnd = ".address_size 64\n", kBlockMemory = ".extern .shared ";

/// From ".version" to the end of the head; empty where it is not there.
std::string_view head_of(std::string_view text) {
  const std::size_t begin = text.find(".version "), end = text.find(kHeadEnd);
  if (begin == text.npos || end == text.npos || end < begin) return {};
  return text.substr(begin, end + kHeadEnd.size() - begin);
}

/// The line that begins at `at`, with its end.
std::string_view line_at(std::string_view text, std::size_t at) {
  const std::size_t end = text.find('\n', at);
  return text.substr(at, end == text.npos ? end : end + 1 - at);
}

}  // namespace

Result<std::string> join_ptx(std::span<const std::string_view> texts) {
  std::string module;
  bool declared = false;
  for (const std::string_view text : texts) {
    const std::string_view head = head_of(text);
    if (head.empty()) return Error{"PTX without .version, .target and .address_size", ErrorKind::internal};
    if (module.empty()) module = head;
    if (!module.starts_with(head)) {
      std::string other(head.substr(0, head.size() - 1));
      std::ranges::replace(other, '\n', ' ');
      return Error{"PTX of one model has two heads: " + other, ErrorKind::internal};
    }
    const std::size_t body = static_cast<std::size_t>(head.data() - text.data()) + head.size();
    for (std::size_t at = body; at < text.size();) {
      const std::string_view line = line_at(text, at);
      at += line.size();
      const bool declares = line.starts_with(kBlockMemory);
      if (line != "\n" && !(declares && declared)) module += line;
      declared = declared || declares;
    }
    if (!module.ends_with('\n')) module += '\n';
  }
  return module;
}

}  // namespace whet
