#include "tuner/network_schedules.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "artifact/code_format.h"
#include "records/record_line.h"
#include "schedule/steps.h"
#include "tuner/plan_hopes.h"

namespace whet {
namespace {

/// A second candidate is worth a try when it is this close; another algorithm, whose weights lie elsewhere, may be
/// further away.
constexpr double kClose = 1.02, kOtherAlgorithm = 1.15;
/// A task that is less of the network's time than this decides nothing.
constexpr double kHeavy = 0.02;
/// A task that gained less than this may as well run on its default schedule, where the network is faster so.
constexpr double kClearGain = 0.9;

}  // namespace

std::string chosen_steps(const ScheduleSource& source, const Task& task) {
  if (const std::optional<RecordedSchedule> recorded = source.recorded(task)) return recorded->steps;
  if (source.transferred)
    if (const auto transferred = source.transferred(task); transferred && !transferred->steps.empty())
      return transferred->steps;
  const Result<Steps> usual = source.fallback(task.dag);
  return usual.ok() ? to_text(*usual) : "";
}

bool choose_the_same(const std::vector<Task>& tasks, const ScheduleSource& one, const ScheduleSource& other) {
  return std::ranges::all_of(tasks,
                             [&](const Task& task) { return chosen_steps(one, task) == chosen_steps(other, task); });
}

ScheduleSource asked_once(ScheduleSource source, const std::vector<Task>& tasks) {
  if (!source.transferred) return source;
  const auto known = std::make_shared<std::map<std::string, std::optional<TransferredSchedule>>>();
  for (const Task& task : tasks)
    if (!source.recorded(task)) known->emplace(plan_task_id(task), source.transferred(task));
  source.transferred = [known, ask = source.transferred](const Task& task) {
    const auto at = known->find(plan_task_id(task));
    return at != known->end() ? at->second : ask(task);
  };
  return source;
}

std::vector<CloseSecond> NetworkSchedules::close_seconds(std::size_t most) const {
  double total = 0;
  std::vector<CloseSecond> list;
  for (const Task& task : tasks_) {
    const Record* const best = best_record(task);
    if (best == nullptr) continue;
    CloseSecond close{&task, best, nullptr, task.weight * best->outcome.best_seconds()};
    total += close.share;
    const auto other = file_.records().best(task.key, task.within, target_, [&](const Record& r) {
      return permits_record(r) && r.steps != best->steps && !r.outcome.truncated && r.target == best->target &&
             !differ(r.outcome.placement, best->outcome.placement) && r.within == best->within &&
             r.outcome.cache == best->outcome.cache && r.codegen == codegen_version(code_format(target_)) &&
             r.outcome.best_seconds() <
                 best->outcome.best_seconds() * (r.numerics.exact == best->numerics.exact ? kClose : kOtherAlgorithm);
    });
    if (!other) continue;
    close.second = other->record;
    list.push_back(close);
  }
  std::erase_if(list, [&](const CloseSecond& each) { return each.share < kHeavy * total; });
  std::ranges::stable_sort(list, std::ranges::greater(), &CloseSecond::share);
  if (list.size() > most) list.resize(most);
  return list;
}

ScheduleSource NetworkSchedules::with_second(const ScheduleSource& best, const CloseSecond& close) {
  ScheduleSource source = best;
  source.recorded = [recorded = best.recorded, close](const Task& task) -> std::optional<RecordedSchedule> {
    if (task.key != close.task->key || task.within != close.task->within) return recorded(task);
    return RecordedSchedule{close.second->steps, close.second->outcome.clock_seconds(), ""};
  };
  return source;
}

ScheduleSource NetworkSchedules::where_it_gains(const ScheduleSource& best) const {
  ScheduleSource source = best;
  source.recorded = [this, recorded = best.recorded,
                     fallback = best.fallback](const Task& task) -> std::optional<RecordedSchedule> {
    const Record* const tuned = best_record(task);
    const Result<Steps> usual = fallback(task.dag);
    const Record* const own = tuned != nullptr && usual.ok() ? rival_of(*tuned, task, to_text(*usual)) : nullptr;
    if (own == nullptr || tuned->outcome.best_seconds() < kClearGain * own->outcome.best_seconds())
      return recorded(task);
    return RecordedSchedule{own->steps, own->outcome.clock_seconds(), ""};
  };
  return source;
}

const Record* NetworkSchedules::best_record(const Task& task) const {
  const auto best = file_.records().best(task.key, task.within, target_,
                                         [&](const Record& record) { return permits_record(record); });
  return best && best->exact ? best->record : nullptr;
}

const Record* NetworkSchedules::record_of(const Task& task, const std::string& steps) const {
  const auto own =
      file_.records().best(task.key, task.within, target_, [&](const Record& record) { return record.steps == steps; });
  return own && own->exact ? own->record : nullptr;
}

const Record* NetworkSchedules::rival_of(const Record& best, const Task& task, const std::string& steps) const {
  const Record* const own = record_of(task, steps);
  const bool compares = own != nullptr && own->within == best.within &&
                        !differ(own->outcome.placement, best.outcome.placement);  // else it is an estimate beside it
  return compares ? own : nullptr;
}

double NetworkSchedules::predicted(const ScheduleSource& source) const {
  double sum = 0;
  for (const Task& task : tasks_) {
    const Record* const record = record_of(task, chosen_steps(source, task));
    if (record == nullptr) return 0;
    sum += task.weight * record->outcome.clock_seconds();
  }
  return sum;
}

bool NetworkSchedules::can_rank_first(const ScheduleSource& source) const {
  return std::ranges::all_of(tasks_, [&](const Task& task) {
    const Record* const best = best_record(task);
    if (best == nullptr) return true;  // the task runs without records, however it is ranked
    const std::string steps = chosen_steps(source, task);
    return steps == best->steps || rival_of(*best, task, steps) != nullptr;
  });
}

Result<std::vector<std::string>> NetworkSchedules::rank_first(const ScheduleSource& source) {
  std::vector<std::string> names;
  for (const Task& task : tasks_) {
    const Record* const before = best_record(task);
    const Record* const own = before != nullptr ? rival_of(*before, task, chosen_steps(source, task)) : nullptr;
    if (own == nullptr || own->steps == before->steps) continue;
    Record first = *own;
    first.ranks_as = std::min(before->ranked_seconds(), own->outcome.best_seconds());
    first.at = utc_now();
    WHET_RETURN_IF_ERROR(file_.append(first));
    names.push_back(task.name);
  }
  return names;
}

}  // namespace whet
