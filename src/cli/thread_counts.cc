#include "cli/thread_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/counted.h"
#include "cli/table.h"

namespace whet {
namespace {

constexpr int kMostThreadCounts = 16, kMostThreadsOfKernel = 1024;

std::string threads_text(int threads) { return counted(threads, "thread"); }

}  // namespace

Result<std::vector<int>> parse_thread_counts(const std::string& list) {
  const Error wrong{
      fmt::format("--threads is \"{}\"; expected a number of threads, or several as in 1,2,4, each once", list)};
  std::vector<int> counts;
  const char *at = list.data(), *const end = at + list.size();
  for (bool more = true; more;) {
    int count = 0;
    const auto read = std::from_chars(at, end, count);
    if (read.ec != std::errc() || count < 1 || count > kMostThreadsOfKernel || counts.size() == kMostThreadCounts ||
        std::ranges::find(counts, count) != counts.end())
      return wrong;
    counts.push_back(count);
    more = read.ptr < end;
    if (more && *read.ptr != ',') return wrong;
    at = read.ptr + 1;
  }
  return counts;
}

std::string thread_table_text(const ThreadTable& table) {
  std::vector<Table::Column> columns = {{"Tuned for", false}};
  for (const int threads : table.threads) columns.push_back({"on " + threads_text(threads) + " (ms)"});
  Table rows(columns);
  for (std::size_t a = 0; a < table.threads.size(); ++a) {
    std::vector<std::string> row = {threads_text(table.threads[a])};
    for (const double seconds : table.seconds[a]) row.push_back(milliseconds_if_any(seconds));
    rows.add(std::move(row));
  }
  std::string text =
      "Sum of weight x latency of the best schedules for a number of threads, each timed on all, alternately:\n" +
      rows.to_text();
  for (std::size_t b = 0; b < table.threads.size(); ++b)
    for (std::size_t a = 0; a < table.threads.size(); ++a) {
      const double more = table.seconds[a][b] / table.seconds[b][b] - 1;
      if (a != b && std::isfinite(more))
        text += fmt::format("The best for {} takes {:.1f}% {} on {} than the best for {}\n",
                            threads_text(table.threads[a]), 100 * std::abs(more), more < 0 ? "less" : "more",
                            threads_text(table.threads[b]), table.threads[b]);
    }
  return text;
}

Json to_json(const ThreadTable& table) {
  Json rows = Json::array();
  for (std::size_t a = 0; a < table.threads.size(); ++a) {
    Json ms = Json::array();
    for (const double seconds : table.seconds[a]) ms.add(seconds * 1e3);
    rows.add(Json::object().set("tuned_for", table.threads[a]).set("ms", std::move(ms)));
  }
  return rows;
}

}  // namespace whet
