#include "compiler/choose.h"

#include "space/space.h"

namespace whet {
namespace {

constexpr double kClose = 1.03;

RecordedSchedule as_recorded(const Record& record, double seconds, const std::string& reason) {
  return {record.steps, seconds, reason, record.outcome.placement, record.candidate};
}

/// Whether both times are of one kind, as Records::best compares them.
bool are_comparable(const Record& a, const Record& b) {
  return a.codegen == b.codegen && a.outcome.cache == b.outcome.cache && a.within == b.within &&
         a.outcome.emulated() == b.outcome.emulated() && !differ(a.outcome.placement, b.outcome.placement);
}

/// Behind the first one: those that took hardly longer.
std::vector<RecordedSchedule> close_to_best(const std::vector<const Record*>& ranking) {
  std::vector<RecordedSchedule> close;
  for (std::size_t i = 1; i < ranking.size(); ++i) {
    const Record &best = *ranking.front(), &record = *ranking[i];
    if (!are_comparable(record, best) || record.ranked_seconds() > kClose * best.ranked_seconds()) break;
    close.push_back(as_recorded(record, record.outcome.clock_seconds(), ""));
  }
  return close;
}

}  // namespace

ScheduleSource best_of(const Records* records, const Target& target, const SpaceOptions& options) {
  ScheduleSource source;
  source.recorded = [records, target, options](const Task& task) -> std::optional<RecordedSchedule> {
    if (records == nullptr) return std::nullopt;
    const std::optional<RecordChoice> choice = records->best(
        task.key, task.within, target, [&](const Record& record) { return permits(options, record.numerics); });
    if (!choice) return std::nullopt;
    return as_recorded(*choice->record, choice->exact ? choice->record->outcome.clock_seconds() : 0, choice->reason);
  };
  source.close = [records, target, options](const Task& task) {
    std::vector<const Record*> ranking;
    if (records != nullptr) ranking = records->ranking(task.key, task.within, target);
    std::erase_if(ranking, [&](const Record* record) { return !permits(options, record->numerics); });
    return close_to_best(ranking);
  };
  source.fallback = [target, options](const ComputeDag& dag) { return default_steps(dag, target, options); };
  source.space = [target, options](const ComputeDag& dag) { return make_space(dag, target, options); };
  return source;
}

}  // namespace whet
