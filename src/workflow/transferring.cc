#include "workflow/transferring.h"

#include <algorithm>

#include "compiler/choose.h"

namespace whet {
namespace {

bool gave_wrong_answers(const Records* records, const Task& task, const std::string& steps) {
  if (records == nullptr) return false;
  return std::ranges::any_of(records->of(task.key), [&](const Record* record) {
    return record->outcome.code == OutcomeCode::wrong_answer && record->steps == steps;
  });
}

/// The transfer that is taken, else the most promising one with the reason why it is not.
TransferredSchedule chosen(const std::vector<WeighedTransfer>& list) {
  if (list.empty()) return {.why_not = "no other schedule of a similar task fits it"};
  const auto taken = std::ranges::find(list, "", &WeighedTransfer::why_not);
  const auto& [transfer, why_not] = taken != list.end() ? *taken : list.front();
  return {why_not.empty() ? transfer.steps : "",
          transfer.from,
          transfer.distance,
          transfer.gain,
          why_not,
          transfer.candidate};
}

}  // namespace

ScheduleSource best_known(const Records* records, const RecordBase& base, const Target& target,
                          const SpaceOptions& options) {
  ScheduleSource source = best_of(records, target, options);
  if (base.empty()) return source;
  source.base = base.name();
  source.transferred = [records, &base, target, options](const Task& task) -> std::optional<TransferredSchedule> {
    if (!anchor_of(task.dag)) return std::nullopt;
    if (std::string why = why_no_transfer(task, base, target); !why.empty())
      return TransferredSchedule{.why_not = std::move(why)};
    return chosen(weighed_transfers(task, records, base, target, options));
  };
  return source;
}

ChainGain known_gains(const RecordBase& base, const Target& target) {
  const auto is_chain = [](const BaseTask& task) { return task.over_parts > 0; };
  if (std::ranges::none_of(base.tasks(), is_chain)) return {};
  return [&base, target](const Task& chain) { return chain_gain(chain.dag, target, base); };
}

Result<std::optional<PlannedNetwork>> with_known_chains(const FusedGraph& fused, const Records& records,
                                                        const RecordBase& base, const Target& target,
                                                        const SpaceOptions& options) {
  const ChainGain known = known_gains(base, target);
  if (!known) return std::optional<PlannedNetwork>();
  return with_chains(fused, records, target, options, [&](const Task& chain) -> std::optional<double> {
    const std::optional<double> gain = known(chain);
    if (!gain) return std::nullopt;
    // Chains were compared by their best schedules. What this one loses where no such schedule is taken counts against it.
    double best = 1, taken = 1;
    for (const auto& [transfer, why_not] : weighed_transfers(chain, &records, base, target, options)) {
      if (transfer.own) best = std::max(best, transfer.gain);
      if (why_not.empty()) taken = transfer.gain;
    }
    return *gain * taken / best;
  });
}

std::vector<WeighedTransfer> weighed_transfers(const Task& task, const Records* records, const RecordBase& base,
                                               const Target& target, const SpaceOptions& options) {
  std::vector<Transfer> all = transfers(task.dag, make_space(task.dag, target, options), target, base);
  const auto wrong = std::ranges::stable_partition(
      all, [&](const Transfer& transfer) { return !gave_wrong_answers(records, task, transfer.steps); });
  const Transfer* const taken = without_measuring(std::span(all.begin(), wrong.begin()));
  std::vector<WeighedTransfer> list;
  for (const Transfer& transfer : all) {
    std::string why_not = why_not_unmeasured(transfer);
    if (&transfer >= std::to_address(wrong.begin())) why_not = "a record says that its answers are wrong";
    if (why_not.empty() && &transfer != taken) why_not = "another one is expected to gain more";
    list.push_back({transfer, std::move(why_not)});
  }
  return list;
}

std::string why_no_transfer(const Task& task, const RecordBase& base, const Target& target) {
  const std::optional<Anchor> anchor = anchor_of(task.dag);
  if (!anchor) return "it has no reduction: all its schedules wait for memory";
  const std::vector<NearEntry> near = base.near(*anchor, target, kMostSources);
  if (near.empty()) return "the base has no task of its kind";
  if (std::ranges::none_of(near, &NearEntry::own))
    return "tasks of its kind were measured on other kinds of machines alone";
  return "";
}

}  // namespace whet
