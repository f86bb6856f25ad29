#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/shown.h"

namespace whet {
namespace {

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return right ? space + text : text + space;
}

}  // namespace

std::size_t width_of(const std::string& text) {
  // Bytes that continue a character begin with the bits 10.
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string shortened(const std::string& text, std::size_t width) {
  if (width_of(text) <= width) return text;
  std::size_t bytes = 0, characters = 0;
  while (bytes < text.size()) {
    const bool begins = (text[bytes] & 0xc0) != 0x80;
    if (begins && characters + 1 == width) break;
    characters += begins;
    ++bytes;
  }
  return text.substr(0, bytes) + "…";
}

std::string shortened_inside(const std::string& text, std::size_t width) {
  const std::size_t whole = width_of(text);
  if (whole <= width) return text;
  const std::size_t tail = (width - 1) / 2;
  std::size_t at = text.size();
  for (std::size_t characters = 0; characters < tail; ++characters) do
      --at;
    while ((text[at] & 0xc0) == 0x80);
  return shortened(text, width - tail) + text.substr(at);
}

void Table::add(std::vector<std::string> row) {
  WHET_CHECK(row.size() == columns_.size());
  for (std::string& cell : row) cell = shown(cell);
  rows_.push_back(std::move(row));
}

namespace {

constexpr std::size_t kLeastText = 6;  ///< characters of a text that is shortened
const std::string kBar = " | ";

/// A title in two lines of about the same width.
std::pair<std::string, std::string> in_two_lines(const std::string& title) {
  std::pair<std::string, std::string> best{"", title};
  for (std::size_t at = title.find(' '); at != std::string::npos; at = title.find(' ', at + 1)) {
    const std::pair<std::string, std::string> cut{title.substr(0, at), title.substr(at + 1)};
    const auto width = [](const auto& both) { return std::max(width_of(both.first), width_of(both.second)); };
    if (width(cut) < width(best)) best = cut;
  }
  return best;
}

std::size_t sum_of(const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(),
                         4 + kBar.size() * (widths.size() - std::min<std::size_t>(widths.size(), 1)));
}

}  // namespace

std::vector<std::size_t> Table::natural_widths(const std::vector<std::size_t>& columns, bool wraps) const {
  std::vector<std::size_t> widths;
  for (const std::size_t c : columns) {
    const auto [first, second] = wraps ? in_two_lines(columns_[c].title) : std::pair(std::string(), columns_[c].title);
    std::size_t width = std::max(width_of(first), width_of(second));
    for (const auto& row : rows_) width = std::max(width, width_of(row[c]));
    widths.push_back(width);
  }
  return widths;
}

Table::Layout Table::layout(std::size_t width) const {
  Layout found;
  found.columns.resize(columns_.size());
  std::iota(found.columns.begin(), found.columns.end(), std::size_t{0});
  found.widths = natural_widths(found.columns, false);
  while (width > 0 && sum_of(found.widths) > width) {
    found.wraps = true;
    found.widths = natural_widths(found.columns, true);
    // One character at a time from the widest text.
    for (std::size_t sum = sum_of(found.widths); sum > width; --sum) {
      std::size_t widest = found.columns.size();
      for (std::size_t i = 0; i < found.columns.size(); ++i)
        if (!columns_[found.columns[i]].right && found.widths[i] > kLeastText &&
            (widest == found.columns.size() || found.widths[i] > found.widths[widest]))
          widest = i;
      if (widest == found.columns.size()) break;
      --found.widths[widest];
    }
    const auto leaving =
        std::max_element(found.columns.begin(), found.columns.end(),
                         [&](std::size_t a, std::size_t b) { return columns_[a].leaves < columns_[b].leaves; });
    if (sum_of(found.widths) <= width || columns_[*leaving].leaves == 0) break;
    found.columns.erase(leaving);
    found.widths = natural_widths(found.columns, false);
    found.wraps = false;
  }
  return found;
}

std::string Table::line(const Layout& layout, const Border& border,
                        const std::function<std::string(std::size_t column)>& text_of) const {
  std::string out = border.left;
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    const std::size_t c = layout.columns[i];
    out += (i > 0 ? border.between : "") +
           padded(shortened_inside(text_of(c), layout.widths[i]), layout.widths[i], columns_[c].right);
  }
  out += border.right;
  return out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
}

Table::Text Table::lines(const Layout& layout, const Border& border) const {
  Text text;
  if (layout.wraps)
    text.titles = line(layout, border, [&](std::size_t c) { return in_two_lines(columns_[c].title).first; });
  text.titles += line(layout, border, [&](std::size_t c) {
    return layout.wraps ? in_two_lines(columns_[c].title).second : columns_[c].title;
  });
  for (const auto& row : rows_) text.rows += line(layout, border, [&](std::size_t c) { return row[c]; });
  return text;
}

Table::Text Table::fitted(std::size_t columns) const {
  const Layout found = layout(columns);
  Text text = lines(found, {"| ", kBar, " |"});
  std::string left;
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (std::find(found.columns.begin(), found.columns.end(), c) == found.columns.end())
      left += (left.empty() ? "" : ", ") + columns_[c].title;
  if (!left.empty()) text.rows += "(no room for: " + left + ")\n";
  return text;
}

std::string Table::to_text() const {
  const Text text = fitted(0);
  return text.titles + text.rows;
}
std::string Table::to_plain_text() const {
  const Text text = lines(layout(0), {"", "  ", ""});
  return text.titles + text.rows;
}

std::string si(double value) {
  const char* prefixes[] = {"", " k", " M", " G", " T", " P"};
  std::size_t k = 0;
  while (std::abs(value) >= 999.5 && k + 1 < std::size(prefixes)) value /= 1000, ++k;
  return short_number(value) + prefixes[k];
}

std::string with_unit(double value, const std::string& unit) {
  const std::string text = si(value);
  return text + (text.find(' ') == std::string::npos ? " " : "") + unit;
}

std::string short_number(double value) {
  const double size = std::abs(value);
  if (value == std::floor(value) && size < 1000) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0);
}

std::string off_text(double measured, double expected, int digits) {
  const double ratio = measured / expected;
  if (ratio >= 2) return fmt::format("{} times as long", short_number(ratio));
  return fmt::format("{:+.{}f}%", 100 * (ratio - 1), digits);
}

std::string busy_text(const std::string& what, double usual, double fastest) {
  return fmt::format(
      "{} is {} times the fastest: another program ran, or the machine is shared; `whet doctor` says what it finds",
      what, short_number(usual / fastest));
}

std::string exact_milliseconds(double seconds) { return fmt::format("{:.4f}", seconds * 1e3); }
std::string milliseconds_if_any(double seconds) {
  return seconds > 0 && std::isfinite(seconds) ? fmt::format("{:.4g}", seconds * 1e3) : "–";
}

}  // namespace whet
