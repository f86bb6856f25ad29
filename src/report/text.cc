#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/counted.h"
#include "report/svg.h"

namespace whet {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr const char* kNothing = "–";

/// The bytes of the UTF-8 character that begins here; 0 where none does.
std::size_t character_at(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool is_long = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool is_none = (first == 0xED && byte(1) > 0x9F) || (first == 0xF4 && byte(1) > 0x8F);
  return is_long || is_none ? 0 : size;
}

/// Six digits behind the point at most: a millionth of an inference is nothing.
std::string three_digits(double value) {
  const int above = static_cast<int>(std::floor(std::log10(value * 1.0005)));
  return fmt::format("{:.{}f}", value, std::clamp(2 - above, 0, 6));
}

// In the order of the enum.
constexpr std::string_view kKindNames[] = {"depthwise",         "convolution", "matrix product",
                                           "pool or reduction", "copy",        "elementwise"};
static_assert(std::size(kKindNames) == kOperatorKinds);

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = character_at(text);
    const char c = text.front();
    const bool is_control = size == 1 && static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
    if (size == 0 || is_control || c == 0x7F)
      out += kReplacement;
    else if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(1, size));
  }
  return out;
}

bool is_time(double seconds) { return std::isfinite(seconds) && seconds > 0; }

TimeUnit::TimeUnit(double latency) : per_second_(latency < 1e-3 ? 1e6 : 1e3), decimals_(latency < 1e-3 ? 2 : 4) {}

std::string_view TimeUnit::name() const { return per_second_ == 1e6 ? "µs" : "ms"; }

std::string TimeUnit::text(double seconds) const {
  return is_time(seconds) ? fmt::format("{}\u00a0{}", three_digits(value(seconds)), name()) : kNothing;
}

std::string TimeUnit::number(double seconds) const {
  return is_time(seconds) ? fmt::format("{:.{}f}", value(seconds), decimals_) : kNothing;
}

TimeUnit unit_of(const ReportData& data) {
  for (const double latency : {data.network.tuned_seconds, best_sum(data.tasks), data.profile.seconds})
    if (is_time(latency)) return TimeUnit(latency);
  return TimeUnit(data.layouts.chosen.seconds);
}

std::string gain_of(double before, double after) {
  return is_time(before) && is_time(after) ? fmt::format("{:.2f}×", before / after) : kNothing;
}

std::string share_text(double part, double whole) {
  if (!std::isfinite(part) || !is_time(whole)) return kNothing;
  const double percent = 100 * part / whole;
  if (percent == 0) return "0";
  return fmt::format("{:.{}f}%", percent, percent < 9.95 ? 1 : 0);
}

std::string count_text(std::int64_t count) {
  std::string digits = std::to_string(count < 0 ? -count : count);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return (count < 0 ? "-" : "") + digits;
}

std::string count_of(std::int64_t count, const std::string& noun, const std::string& plural) {
  return count_text(count) + " " + std::string(for_count(count, noun, plural.empty() ? noun + "s" : plural));
}

std::string duration_text(double seconds) {
  if (seconds < 99.5) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5970) return fmt::format("{:.1f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string px(double value) {
  const double tenths = std::isfinite(value) ? std::round(value * 10) : 0;
  std::string text = fmt::format("{:.1f}", (tenths == 0 ? 0 : tenths) / 10);
  if (text.ends_with(".0")) text.erase(text.size() - 2);
  return text;
}

std::string label_in(const TaskLabel& label, double width) {
  for (const std::string& text : {to_text(label), label.op + " " + label.shape, label.op})
    if (width_of_label(text) <= width) return text;
  return "";
}

std::string kind_class(OperatorKind kind) { return "k" + std::to_string(static_cast<int>(kind)); }

std::string_view kind_name(OperatorKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

bool is_compared(const ReportTask& task) { return is_time(task.default_seconds) && is_time(task.best_seconds); }

ReportSums compared_sums(const std::vector<ReportTask>& tasks) {
  ReportSums sums;
  for (const ReportTask& task : tasks) {
    if (!is_compared(task)) continue;
    ++sums.tasks;
    sums.before += task.weight * task.default_seconds, sums.after += task.weight * task.best_seconds;
  }
  return sums;
}

std::string tasks_of(const ReportSums& sums, const ReportData& data) {
  return fmt::format("{} of {}", sums.tasks, count_of(std::ssize(data.tasks), "task"));
}

bool was_measured(const ReportNetwork& network) {
  return is_time(network.untuned_seconds) && is_time(network.tuned_seconds);
}

double best_sum(const std::vector<ReportTask>& tasks) {
  return std::accumulate(tasks.begin(), tasks.end(), 0.0,
                         [](double sum, const ReportTask& task) { return sum + cost_of(task); });
}

double cost_of(const ReportTask& task) {
  const double seconds = is_time(task.best_seconds) ? task.best_seconds : task.default_seconds;
  return is_time(seconds) ? task.weight * seconds : 0;
}

std::vector<std::size_t> by_cost(const std::vector<ReportTask>& tasks) {
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return cost_of(tasks[a]) > cost_of(tasks[b]); });
  return order;
}

}  // namespace whet
