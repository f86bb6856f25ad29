#include "cli/diff_lines.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace whet {
namespace {

using Lines = std::vector<std::string_view>;

/// The table of common subsequences has an entry a pair of lines; above this, all lines in between count as changed.
constexpr std::size_t kMaxPairs = std::size_t{1} << 24;
constexpr std::size_t kContext = 2;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

struct MarkedLine {
  char mark;  ///< ' ', '-' or '+'
  std::string_view line;
};

/// Both sequences as one, with as many unmarked lines as possible.
std::vector<MarkedLine> merged(std::span<const std::string_view> before, std::span<const std::string_view> after) {
  const std::size_t n = before.size(), m = after.size();
  std::vector<MarkedLine> out;
  if (n * m > kMaxPairs) {
    for (std::string_view line : before) out.push_back({'-', line});
    for (std::string_view line : after) out.push_back({'+', line});
    return out;
  }
  // common[i * (m + 1) + j]: the length of the longest common subsequence of before[i..] and after[j..]
  std::vector<std::uint32_t> common((n + 1) * (m + 1), 0);
  const auto at = [&](std::size_t i, std::size_t j) -> std::uint32_t& { return common[i * (m + 1) + j]; };
  for (std::size_t i = n; i-- > 0;)
    for (std::size_t j = m; j-- > 0;)
      at(i, j) = before[i] == after[j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
  std::size_t i = 0, j = 0;
  while (i < n || j < m) {
    if (i < n && j < m && before[i] == after[j])
      out.push_back({' ', before[i]}), ++i, ++j;
    else if (j == m || (i < n && at(i + 1, j) >= at(i, j + 1)))
      out.push_back({'-', before[i++]});
    else
      out.push_back({'+', after[j++]});
  }
  return out;
}

/// The changed lines and their context.
std::string to_text(const std::vector<MarkedLine>& lines) {
  std::vector<bool> shown(lines.size(), false);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].mark == ' ') continue;
    const std::size_t first = i - std::min(i, kContext), last = std::min(i + kContext, lines.size() - 1);
    std::fill(shown.begin() + static_cast<std::ptrdiff_t>(first), shown.begin() + static_cast<std::ptrdiff_t>(last) + 1,
              true);
  }
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!shown[i]) continue;
    if (i > 0 && !shown[i - 1] && !out.empty()) out += "...\n";
    out += lines[i].mark;
    out += lines[i].line;
    out += '\n';
  }
  return out;
}

}  // namespace

std::string diff_lines(std::string_view before, std::string_view after) {
  const Lines old = lines_of(before), now = lines_of(after);
  const std::size_t shorter = std::min(old.size(), now.size());
  std::size_t head = 0, tail = 0;
  while (head < shorter && old[head] == now[head]) ++head;
  while (tail < shorter - head && old[old.size() - 1 - tail] == now[now.size() - 1 - tail]) ++tail;
  std::vector<MarkedLine> lines;
  for (std::size_t i = 0; i < head; ++i) lines.push_back({' ', old[i]});
  const std::span<const std::string_view> olds(old), nows(now);
  for (const MarkedLine& line :
       merged(olds.subspan(head, old.size() - head - tail), nows.subspan(head, now.size() - head - tail)))
    lines.push_back(line);
  for (std::size_t i = old.size() - tail; i < old.size(); ++i) lines.push_back({' ', old[i]});
  return to_text(lines);
}

}  // namespace whet
