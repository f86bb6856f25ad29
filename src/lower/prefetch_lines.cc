#include "lower/prefetch_lines.h"

#include <algorithm>

#include "schedule/prefetch.h"

namespace whet {

void append_line_prefetches(const Buffer& buffer, BufferId id, const std::vector<Expr>& base,
                            std::vector<std::int64_t> extents, std::vector<Stmt>& out) {
  constexpr std::int64_t kLineBytes = 64;
  std::size_t first = extents.empty() ? 0 : extents.size() - 1;
  while (first > 0 && extents[first] == buffer.extents[first]) --first;
  std::int64_t run = 1, rows = 1;
  for (std::size_t k = 0; k < extents.size(); ++k) (k < first ? rows : run) *= extents[k];
  const std::int64_t line = std::max<std::int64_t>(1, kLineBytes / size_of(buffer.dtype));
  std::int64_t lines = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t at = 0; at < run && lines < kMaxPrefetchedLines; at += line, ++lines) {
      std::vector<Expr> index = base;
      std::int64_t rest = row * run + at;
      for (std::size_t k = extents.size(); k-- > 0; rest /= extents[k]) index[k] = index[k] + rest % extents[k];
      out.push_back(make_stmt(Prefetch{id, std::move(index)}));
    }
}

}  // namespace whet
