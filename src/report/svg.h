#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace whet {

/// Where a value lies on a picture.
class Scale {
 public:
  /// `low` and `high` lie at `first` and `last` [px]; with `log`, both are positive.
  Scale(double low, double high, double first, double last, bool log = false);
  double operator()(double value) const;
  double low() const { return low_; }
  double high() const { return high_; }
  /// Round values within the scale, about `wished` of them.
  std::vector<double> ticks(int wished) const;

 private:
  double low_, high_, first_, last_;
  bool log_;
};

/// "0", "5", "1.5", "20k": a tick's number.
std::string tick_text(double);

/// Where a text begins.
enum class Anchor : unsigned char { start, middle, end };

/// A picture as SVG text. Colours and widths are CSS classes of style.h, so that the page decides between light and dark.
class Svg {
 public:
  ///   title, summary  what a reader without eyes is told
  Svg(double width, double height, std::string_view title, std::string_view summary);

  void line(double x1, double y1, double x2, double y2, std::string_view style);
  ///   told  shown where the mouse rests
  void box(double x, double y, double width, double height, std::string_view style, std::string_view told = "");
  void circle(double x, double y, double radius, std::string_view style, std::string_view told = "");
  /// `d` as SVG has it.
  void path(std::string_view d, std::string_view style);
  void text(double x, double y, std::string_view text, std::string_view style = "", Anchor = Anchor::start);
  /// The same, turned by `degrees`.
  void turned(double x, double y, double degrees, std::string_view text, std::string_view style);
  std::string done() const { return text_ + "</svg>"; }

 private:
  std::string text_;
};

/// About how wide a text of a picture is [px].
double width_of_label(std::string_view text);

/// `text`, cut to `width` px with "…" at its end; "" where nothing useful fits.
std::string fitted(std::string_view text, double width);

/// Puts labels where they hide none that is there already.
class LabelPlaces {
 public:
  /// The first free place for a text beside the point; false where there is none.
  bool find(double x, double y, std::string_view text, double& at_x, double& at_y, Anchor&);
  /// Keeps a place free.
  void take(double x, double y, double width, double height) { taken_.push_back({x, y, width, height}); }
  void frame(double left, double top, double right, double bottom) { frame_ = {left, top, right, bottom}; }

 private:
  struct Rectangle {
    double x, y, width, height;
  };
  bool is_free(const Rectangle&) const;
  std::vector<Rectangle> taken_;
  Rectangle frame_{0, 0, 1e9, 1e9};  ///< its width and height are right and bottom
};

}  // namespace whet
