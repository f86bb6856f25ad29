#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

void Table::add(std::vector<std::string> row) {
  WHET_CHECK(row.size() == columns_.size());
  for (std::string& cell : row) cell = shown(cell);
  rows_.push_back(std::move(row));
}

std::string Table::to_text() const { return lines("| ", " | ", " |"); }
std::string Table::to_plain_text() const { return lines("", "  ", ""); }

std::string Table::lines(const std::string& left, const std::string& between, const std::string& right) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    widths.push_back(width_of(columns_[c].title));
    for (const auto& row : rows_) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  const auto line = [&](const auto& text_of) {
    std::string out = left;
    for (std::size_t c = 0; c < columns_.size(); ++c)
      out += (c > 0 ? between : "") + padded(text_of(c), widths[c], columns_[c].right);
    out += right;
    return out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
  };
  std::string text = line([&](std::size_t c) { return columns_[c].title; });
  for (const auto& row : rows_) text += line([&](std::size_t c) { return row[c]; });
  return text;
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

}  // namespace whet
