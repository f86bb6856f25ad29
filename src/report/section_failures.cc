// What failed, and what that means.

#include <fmt/format.h>

#include "report/sections.h"
#include "report/text.h"

namespace whet {
namespace {

constexpr std::size_t kShownFailures = 24;

}  // namespace

std::string failures_section(const ReportData& data) {
  const std::int64_t trials = data.trials;
  std::int64_t failed = 0;
  for (const ReportFailure& failure : data.failures) failed += failure.count;
  if (trials == 0) return "";
  if (failed == 0)
    return section("failures", "Failures", fmt::format("None of {} failed.", count_of(trials, "candidate")), "");
  std::string rows;
  for (std::size_t i = 0; i < std::min(kShownFailures, data.failures.size()); ++i) {
    const ReportFailure& failure = data.failures[i];
    rows += fmt::format("<tr>{}<td>{}&nbsp;{}</td><td class=\"name\">{}<br><small>{}</small></td></tr>\n",
                        number_cell(count_text(failure.count), static_cast<double>(failure.count)),
                        static_cast<int>(failure.code), name_of(failure.code), escaped(failure.message),
                        escaped(explain(failure.code)));
  }
  std::string body = fmt::format(
      "<div class=\"picture\" role=\"region\" tabindex=\"0\" aria-label=\"Failures\"><table><thead><tr><th "
      "scope=\"col\" class=\"n\">Times</th><th scope=\"col\">Outcome</th><th scope=\"col\">Message, and what it "
      "means</th></tr></thead><tbody>\n{}</tbody></table></div>\n",
      rows);
  if (data.failures.size() > kShownFailures)
    body += fmt::format(
        "<p class=\"remark\">{} more kinds of failures; <code>whet records stats</code> lists "
        "them.</p>\n",
        data.failures.size() - kShownFailures);
  const std::string finding =
      fmt::format("{} of {} failed, most often with {}: a failure costs its own trial alone.", count_text(failed),
                  count_of(trials, "candidate"), name_of(data.failures.front().code));
  return section("failures", "Failures", finding, body);
}

}  // namespace whet
