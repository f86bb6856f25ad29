#include "compiler/choose.h"

#include "space/space.h"

namespace whet {

ScheduleSource best_of(const Records* records, const Target& target, const SpaceOptions& options) {
  ScheduleSource source;
  source.recorded = [records, target, options](const Task& task) -> std::optional<RecordedSchedule> {
    if (records == nullptr) return std::nullopt;
    const std::optional<RecordChoice> choice = records->best(
        task.key, task.within, target, [&](const Record& record) { return permits(options, record.numerics); });
    if (!choice) return std::nullopt;
    const double seconds = choice->exact ? choice->record->outcome.clock_seconds() : 0;
    return RecordedSchedule{choice->record->steps, seconds, choice->reason, choice->record->outcome.placement};
  };
  source.fallback = [target, options](const ComputeDag& dag) { return default_steps(dag, target, options); };
  return source;
}

}  // namespace whet
