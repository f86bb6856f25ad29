#pragma once

#include <functional>
#include <string>
#include <vector>

namespace whet {

/// Rows of text under titles, printed as `|  ID  | Task  |`. Columns are as wide as their widest entry.
class Table {
 public:
  struct Column {
    std::string title;
    bool right = true;  ///< aligned to the right, as numbers are: never shortened
    int leaves =
        0;  ///< where all texts are as short as can be, the columns with the highest number leave first; 0: it stays
  };
  struct Text {
    std::string titles, rows;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many entries as there are columns.
  void add(std::vector<std::string> row);
  /// One line a row, in as many characters as a terminal has: titles wrap, then texts are shortened in the middle, then columns leave, which
  /// the last line tells.   columns  0: any number
  Text fitted(std::size_t columns) const;
  /// The titles and all rows, however wide.
  std::string to_text() const;
  /// The same without bars.
  std::string to_plain_text() const;

 private:
  struct Layout {
    std::vector<std::size_t> columns, widths;  ///< those that stay, and how wide each is
    bool wraps = false;                        ///< titles have two lines
  };
  struct Border {
    std::string left, between, right;
  };
  std::vector<std::size_t> natural_widths(const std::vector<std::size_t>& columns, bool wraps) const;
  Layout layout(std::size_t width) const;
  std::string line(const Layout&, const Border&, const std::function<std::string(std::size_t column)>&) const;
  Text lines(const Layout&, const Border&) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Characters of UTF-8 text, as a terminal counts them: not bytes.
std::size_t width_of(const std::string& text);

/// At most `width` characters, the last one "…" where something was cut.
std::string shortened(const std::string& text, std::size_t width);
/// The same with the beginning and the end of the text, which tell names of nodes apart.
std::string shortened_inside(const std::string& text, std::size_t width);

/// "1.23 G", "456 M", "7.8 k": three digits and a prefix.
std::string si(double value);
/// "1.23 GFLOP", "510 FLOP"
std::string with_unit(double value, const std::string& unit);
/// "0.231", "12.3", "4567": three digits at least, for times and speeds of any size.
std::string short_number(double value);
/// How far a time is from what was expected of it: "+1.6%", from twice as long on "25.9 times as long". Both are positive.
std::string off_text(double measured, double expected, int digits);
/// "The median is 3.2 times the fastest: ...": one line about times of which `usual` is far above `fastest` (base/spread.h).
std::string busy_text(const std::string& what, double usual, double fastest);
/// "1.2345" of seconds: milliseconds of times that are compared.
std::string exact_milliseconds(double seconds);
/// Four digits of a time in milliseconds; "–" where there is none: 0, or infinity.
std::string milliseconds_if_any(double seconds);

}  // namespace whet
