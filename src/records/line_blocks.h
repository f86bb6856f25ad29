#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace whet {

/// Gives the bytes [begin, end) of a text, or those up to its end, where it became shorter meanwhile. `room` may hold them.
using ReadText = std::function<std::string_view(std::size_t begin, std::size_t end, std::vector<char>& room)>;

/// Lines of a text, without their ends. They lie in `room` or in the text itself.
struct LineBlock {
  std::vector<char> room;
  std::vector<std::string_view> lines;
  bool cut = false;  ///< the last one is the text's last, which has no end
};

/// The lines that begin in [begin, end) of a text of `size` bytes, each once for blocks that are side by side.
void read_lines(std::size_t begin, std::size_t end, std::size_t size, const ReadText& read, LineBlock& block);

}  // namespace whet
