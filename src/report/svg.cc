#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/text.h"

namespace whet {
namespace {

constexpr double kLabelWidth = 6.6, kLabelHeight = 12;  ///< of a character of a label [px]

/// 1, 2 or 5 times a power of ten, not below `step`.
double round_step(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * power >= step * 0.999) return factor * power;
  return 10 * power;
}

std::string styled(std::string_view style) { return style.empty() ? "" : fmt::format(" class=\"{}\"", style); }

std::string told_text(std::string_view told) {
  return told.empty() ? "/>" : fmt::format("><title>{}</title>", escaped(told));
}

}  // namespace

Scale::Scale(double low, double high, double first, double last, bool log)
    : low_(low), high_(high), first_(first), last_(last), log_(log) {
  if (!(high_ > low_)) high_ = log_ ? low_ * 10 : low_ + 1;
}

double Scale::operator()(double value) const {
  const double part =
      log_ ? std::log(std::max(value, low_ * 1e-9) / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
  return first_ + part * (last_ - first_);
}

std::vector<double> Scale::ticks(int wished) const {
  std::vector<double> ticks;
  if (log_) {
    const double decades = std::log10(high_ / low_);
    const std::vector<double> factors = decades > wished ? std::vector<double>{1} : std::vector<double>{1, 2, 5};
    for (double power = std::pow(10, std::floor(std::log10(low_))); power <= high_; power *= 10)
      for (double factor : factors)
        if (factor * power >= low_ * 0.999 && factor * power <= high_ * 1.001) ticks.push_back(factor * power);
    return ticks;
  }
  const double step = round_step((high_ - low_) / std::max(1, wished));
  for (double k = std::ceil(low_ / step - 1e-9); k * step <= high_ + step * 1e-9; ++k)
    ticks.push_back(k * step + 0.0);  // no -0
  return ticks;
}

std::string tick_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e6) return fmt::format("{:g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:g}k", value / 1e3);
  return fmt::format("{:g}", std::round(value * 1e9) / 1e9);
}

Svg::Svg(double width, double height, std::string_view title, std::string_view summary)
    : text_(fmt::format("<svg viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\" role=\"img\" aria-label=\"{}. {}\">",
                        px(width), px(height), px(width), px(height), escaped(title), escaped(summary))) {}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view style) {
  text_ += fmt::format("<path{} d=\"M{} {}L{} {}\"/>", styled(style), px(x1), px(y1), px(x2), px(y2));
}

void Svg::box(double x, double y, double width, double height, std::string_view style, std::string_view told) {
  text_ +=
      fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}{}{}", px(x), px(y), px(std::max(0.0, width)),
                  px(std::max(0.0, height)), styled(style), told_text(told), told.empty() ? "" : "</rect>");
}

void Svg::circle(double x, double y, double radius, std::string_view style, std::string_view told) {
  text_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{}{}{}", px(x), px(y), px(radius), styled(style),
                       told_text(told), told.empty() ? "" : "</circle>");
}

void Svg::path(std::string_view d, std::string_view style) {
  text_ += fmt::format("<path{} d=\"{}\"/>", styled(style), d);
}

void Svg::text(double x, double y, std::string_view text, std::string_view style, Anchor anchor) {
  constexpr const char* kAnchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  text_ += fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>", px(x), px(y), kAnchors[static_cast<int>(anchor)],
                       styled(style), escaped(text));
}

void Svg::turned(double x, double y, double degrees, std::string_view text, std::string_view style) {
  text_ += fmt::format("<text transform=\"translate({} {}) rotate({})\"{}>{}</text>", px(x), px(y), px(degrees),
                       styled(style), escaped(text));
}

double width_of_label(std::string_view text) {
  const auto characters = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
  return kLabelWidth * static_cast<double>(characters);
}

std::string fitted(std::string_view text, double width) {
  if (width_of_label(text) <= width) return std::string(text);
  const auto characters = static_cast<std::int64_t>(width / kLabelWidth) - 1;
  if (characters < 5) return "";
  std::size_t bytes = 0;
  for (std::int64_t seen = 0; bytes < text.size(); ++bytes)
    if ((text[bytes] & 0xC0) != 0x80 && seen++ == characters) break;
  std::string cut(text.substr(0, bytes));
  while (cut.ends_with(' ')) cut.pop_back();
  return cut + "…";
}

bool LabelPlaces::is_free(const Rectangle& wanted) const {
  if (wanted.x < frame_.x || wanted.y < frame_.y || wanted.x + wanted.width > frame_.width ||
      wanted.y + wanted.height > frame_.height)
    return false;
  return std::none_of(taken_.begin(), taken_.end(), [&](const Rectangle& there) {
    return wanted.x < there.x + there.width && there.x < wanted.x + wanted.width && wanted.y < there.y + there.height &&
           there.y < wanted.y + wanted.height;
  });
}

bool LabelPlaces::find(double x, double y, std::string_view text, double& at_x, double& at_y, Anchor& anchor) {
  const double width = width_of_label(text);
  struct Side {
    double x, y;
    Anchor anchor;
  };
  const Side sides[] = {{9, 4, Anchor::start},    {-9, 4, Anchor::end},    {9, -8, Anchor::start},
                        {-9, -8, Anchor::end},    {9, 16, Anchor::start},  {-9, 16, Anchor::end},
                        {0, -11, Anchor::middle}, {0, 20, Anchor::middle}, {9, 28, Anchor::start},
                        {-9, -20, Anchor::end}};
  for (const Side& side : sides) {
    const double left = x + side.x -
                        (side.anchor == Anchor::end      ? width
                         : side.anchor == Anchor::middle ? width / 2
                                                         : 0);
    const Rectangle wanted{left, y + side.y - 10, width, kLabelHeight};
    if (!is_free(wanted)) continue;
    taken_.push_back(wanted);
    at_x = x + side.x, at_y = y + side.y, anchor = side.anchor;
    return true;
  }
  return false;
}

}  // namespace whet
