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

std::string three_digits(double value) {
  const int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}", value, digits);
}

struct KindOfOperator {
  std::string_view name;
  std::vector<std::string_view> words;
};

/// The first row that fits decides.
const std::vector<KindOfOperator>& kinds() {
  static const std::vector<KindOfOperator> table = {
      {"depthwise", {"depthwise"}},
      {"convolution", {"conv"}},
      {"matrix product", {"dense", "matmul", "attention", "gemm"}},
      {"pool or reduction", {"pool", "reduce", "softmax"}},
      {"copy", {"transpose", "concat", "gather", "pad", "slice", "copy", "resize"}},
      {"elementwise", {}},
  };
  return table;
}

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

std::string time_text(double seconds) {
  if (!is_time(seconds)) return kNothing;
  if (seconds < 0.9995e-3) return three_digits(seconds * 1e6) + " µs";
  if (seconds < 0.9995) return three_digits(seconds * 1e3) + " ms";
  return three_digits(seconds) + " s";
}

std::string ms_text(double seconds) { return is_time(seconds) ? fmt::format("{:.4f}", seconds * 1e3) : kNothing; }

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

std::string count_of(std::int64_t count, const std::string& noun) {
  return count_text(count) + " " + std::string(for_count(count, noun, noun + "s"));
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

std::string short_name(std::string_view task) {
  const std::size_t space = std::min(task.find(' '), task.size());
  const std::string_view operators = task.substr(0, space);
  std::string_view rest = task.substr(std::min(space + 1, task.size()));
  std::string name(operators.substr(0, operators.find('+')));
  for (std::string_view word : kinds()[static_cast<std::size_t>(kind_of(task))].words)
    if (const std::size_t at = operators.find(word); at != operators.npos) {
      const std::size_t plus = operators.rfind('+', at), begin = plus == operators.npos ? 0 : plus + 1;
      name = operators.substr(begin, operators.find('+', at) - begin);
      break;
    }
  if (rest.starts_with("1x")) rest.remove_prefix(2);
  const std::size_t window = rest.find(' ');
  const std::size_t end = window == rest.npos ? rest.size() : std::min(rest.find(' ', window + 1), rest.size());
  return rest.empty() ? name : name + " " + std::string(rest.substr(0, end));
}

std::string label_of(std::string_view task, double width) {
  std::string name = short_name(task);
  if (width_of_label(name) <= width) return name;
  const std::size_t from = name.find(' ');
  if (from == name.npos) return "";
  const std::string shape = name.substr(from + 1, name.find(' ', from + 1) - from - 1);
  return width_of_label(shape) <= width ? shape : "";
}

int kind_of(std::string_view task) {
  const std::string_view operators = task.substr(0, task.find(' '));
  for (std::size_t kind = 0; kind < kinds().size(); ++kind)
    for (std::string_view word : kinds()[kind].words)
      if (operators.find(word) != operators.npos) return static_cast<int>(kind);
  return kOperatorKinds - 1;
}

std::string_view kind_name(int kind) { return kinds()[static_cast<std::size_t>(kind)].name; }

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
