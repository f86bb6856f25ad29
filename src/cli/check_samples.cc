#include "cli/check_samples.h"

#include <fmt/format.h>

#include <iterator>

#include "base/counted.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/table.h"
#include "json/json.h"
#include "workflow/sample_answers.h"

namespace whet {
namespace {

std::string amount(const JudgedLimit& limit) { return fmt::format("{:.4g}", limit.measured); }

void print_judged(const Judged& judged, const Samples& samples, bool json) {
  Json limits = Json::array();
  Table table(
      {{"Output", false}, {"Measure", false}, {"Worst"}, {"Limit", false}, {"Of the limit"}, {"Sample", false}});
  for (const JudgedLimit& limit : judged.limits) {
    const bool of_all = limit.allowed.measure == Measure::top1;
    const std::string sample = of_all ? "all" : samples.all[limit.sample].name;
    Allowed alone = limit.allowed;
    alone.output.clear();
    limits.add(Json::object()
                   .set("output", limit.output)
                   .set("measure", std::string(name_of(limit.allowed.measure)))
                   .set("limit", limit.allowed.limit)
                   .set("measured", limit.measured)
                   .set("share", limit.share)
                   .set("sample", sample)
                   .set("kept", limit.share <= 1));
    table.add({limit.output, std::string(name_of(limit.allowed.measure)), amount(limit), to_text(alone),
               fmt::format("{:.2f}", limit.share), sample});
  }
  if (json)
    fmt::print("{}\n", dump(Json::object()
                                .set("kept", judged.kept())
                                .set("samples", static_cast<std::int64_t>(samples.all.size()))
                                .set("limits", limits),
                            2));
  else
    print(table);
}

}  // namespace

Result<int> check_samples(const SampleCheck& check) {
  const auto judgement = judge_on_samples(check.runnable, check.against, check.samples, check.accuracy);
  if (!judgement.ok()) return judgement.error().at("check");
  const auto& [samples, slots, judged] = *judgement;
  if (!check.json)
    for (const std::string& line : sample_lines(samples, slots))
      fmt::print("{} of {}: {}\n", counted(std::ssize(samples.all), "sample"), samples.from, line);
  print_judged(judged, samples, check.json);
  if (!check.json)
    fmt::print("{}: {} against {} in f32, by {}: {}\n", check.runnable.model.model,
               judged.kept() ? "within the limits" : to_text(judged.worst()), check.against,
               counted(std::ssize(samples.all), "sample"), judged.kept() ? "yes" : "no");
  return judged.kept() ? kDone : kFailed;
}

}  // namespace whet
