#include "cli/explain_transfers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "cli/output.h"
#include "cli/table.h"

namespace whet {

bool TransferAnswer::is_one_taken() const {
  return std::ranges::find(list, "", &WeighedTransfer::why_not) != list.end();
}

TransferAnswer transfer_answer(const Task& task, const Records& records, const RecordBase& base, const Target& target,
                               const SpaceOptions& options) {
  TransferAnswer answer{base.name(), {}, ""};
  if (base.empty()) return answer;
  answer.list = weighed_transfers(task, &records, base, target, options);
  if (answer.list.empty()) answer.why_none = why_no_transfer(task, base, target);
  if (answer.list.empty() && answer.why_none.empty()) answer.why_none = "no other schedule of a similar task fits it";
  return answer;
}

void print_transfers(const TransferAnswer& answer) {
  if (answer.base.empty()) return;
  if (answer.list.empty()) return fmt::print("Base {} has no schedule for it: {}.\n", answer.base, answer.why_none);
  fmt::print("Base {} has {} of similar tasks, for a task without records:\n", answer.base,
             counted(std::ssize(answer.list), "schedule"));
  Table table({{"Schedule", false}, {"Distance"}, {"Expected gain"}, {"Estimate / default's"}, {"Unmeasured", false}});
  for (const auto& [transfer, why_not] : answer.list)
    table.add({transfer.from, fmt::format("{:.1f}", transfer.distance), fmt::format("{:.2f}x", transfer.gain),
               fmt::format("{:.2f}", transfer.analytic), why_not.empty() ? "taken" : "not taken: " + why_not});
  print(table);
}

Json to_json(const TransferAnswer& answer) {
  Json list = Json::array();
  for (const auto& [transfer, why_not] : answer.list)
    list.add(Json::object()
                 .set("from", transfer.from)
                 .set("distance", transfer.distance)
                 .set("gain", transfer.gain)
                 .set("estimate", transfer.analytic)
                 .set("steps", transfer.steps)
                 .set("why_not", why_not));
  return Json::object().set("name", answer.base).set("transfers", list).set("why_none", answer.why_none);
}

}  // namespace whet
