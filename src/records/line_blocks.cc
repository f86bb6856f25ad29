#include "records/line_blocks.h"

#include <algorithm>

namespace whet {

void read_lines(std::size_t begin, std::size_t end, std::size_t size, const ReadText& read, LineBlock& block) {
  block.lines.clear(), block.cut = false;
  // One byte more in front tells whether a line begins where the block does.
  const std::size_t from = begin == 0 ? 0 : begin - 1;
  std::string_view text;
  bool whole = false;  // up to the end of the last line
  for (std::size_t more = 4096; !whole; more *= 4) {
    const std::size_t until = std::min(size, end + more);
    text = read(from, until, block.room);
    // Most of a file without lines is looked at once.
    if (begin > 0 && text.find('\n') >= end - 1 - from) return;
    const bool is_end = until == size || text.size() < until - from;
    whole = is_end || text.find('\n', end - 1 - from) != text.npos;
  }
  std::size_t at = 0;
  if (begin > 0) at = text.find('\n') + 1;
  while (at < text.size() && from + at < end) {
    const std::size_t newline = text.find('\n', at);
    block.cut = newline == text.npos;
    block.lines.push_back(text.substr(at, newline - at));
    at = block.cut ? text.size() : newline + 1;
  }
}

}  // namespace whet
