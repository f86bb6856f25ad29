#include "compiler/share_constants.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "base/parallel.h"
#include "cost/features.h"
#include "lower/lower.h"
#include "space/space.h"

namespace whet {
namespace {

/// Of the time of a size's tasks.
constexpr double kMostLost = 0.05;
/// Bytes of a task's constants that are worth another schedule.
constexpr std::int64_t kLeastBytes = 4096;
constexpr const char* kNote = "reads the constants of another size";

/// A schedule of a task that needs hardly any constants which the library lacks.
struct Found {
  Steps steps;
  Candidate candidate;
  double slowdown = 1;  ///< its time over that of the task's own schedule
  SizeValues at = {};   ///< as Attempt has it
};

/// Looks for such schedules.
class Finder {
 public:
  Finder(const Task& task, const OtherSize& other, const LibrarySoFar& library, const ScheduleSource& source,
         const Target& target)
      : task_(task), other_(other), library_(library), source_(source), target_(target) {}

  /// Takes the task's own schedule; false where nothing is to be looked for.
  bool begin(const LoopTree& own) {
    seconds_ = analytic_seconds(own, target_), issue_seconds_ = issue_seconds(own, target_);
    if (other_.kernel == nullptr) return false;
    missing_ = missing_bytes(own).value_or(0);
    return missing_ >= kLeastBytes;
  }
  double seconds() const { return seconds_; }
  std::int64_t missing() const { return missing_; }

  std::optional<Attempt> close_record() const {
    if (!source_.close) return std::nullopt;
    for (const RecordedSchedule& record : source_.close(task_)) {
      Result<Steps> steps = parse_steps(record.steps);
      if (!steps.ok()) continue;
      if (const Result<LoopTree> tree = replay(task_.dag, *steps); tree.ok() && needs_little(*tree))
        return Attempt{std::move(steps), TaskReport::Source::record, record.seconds, kNote, record.placement,
                       record.candidate};
    }
    return std::nullopt;
  }

  /// Another schedule that was measured at sizes of the task: of these `seconds` are expected over all of them.
  std::optional<Found> measured(const std::vector<Attempt>& attempts) const {
    const Attempt& own = attempts.front();
    for (const Attempt& attempt : attempts) {
      if (attempt.at.empty() || attempt.seconds <= 0 || own.seconds <= 0 || !attempt.steps.ok()) continue;
      if (const Result<LoopTree> tree = replay(task_.dag, *attempt.steps); tree.ok() && needs_little(*tree))
        return Found{*attempt.steps, attempt.candidate, attempt.seconds / own.seconds, attempt.at};
    }
    return std::nullopt;
  }

  /// The own schedule on constants as they are.
  std::optional<Found> unpacked(const Attempt& own) const {
    Steps steps = *own.steps;
    if (std::erase_if(steps, [](const Step& step) { return std::get_if<Pack>(&step) != nullptr; }) == 0)
      return std::nullopt;
    const Result<LoopTree> tree = replay(task_.dag, steps);
    if (!tree.ok() || !needs_little(*tree)) return std::nullopt;
    return Found{std::move(steps), own.candidate, slowdown(*tree)};
  }

  /// The schedule of the other size: tiles of axes with another extent are chosen anew, other choices may become the default's.
  std::optional<Found> fitted() const {
    const DesignSpace space = source_.space(task_.dag), there = source_.space(dag_at(*other_.dag, other_.dag->at));
    const Candidate& known = other_.kernel->candidate;
    const Candidate given = known.sketch.empty() ? there.default_candidate() : known;
    const Extents extents = there.extents(given.sketch);
    const std::optional<Candidate> refit = space.refit(given, extents);
    std::optional<Found> best;
    if (refit) consider(space, *refit, best);
    if (!best) return best;
    const Candidate usual = space.default_candidate();
    for (const Decision& decision : std::ranges::find(space.sketches(), refit->sketch, &Sketch::name)->decisions)
      for (const Choice& option :
           options(decision, extents, usual.sketch == refit->sketch ? usual.choices : Choices())) {
        Candidate changed = best->candidate;
        changed.choices[decision.name] = option;
        consider(space, changed, best);
      }
    return best;
  }

 private:
  /// Nothing where the schedule cannot be lowered.
  std::optional<std::int64_t> missing_bytes(const LoopTree& tree) const {
    const Result<Lowered> lowered = lower_until(tree, target_, "generate");
    if (!lowered.ok()) return std::nullopt;
    return library_.constants->missing_bytes(task_.dag, *lowered, other_.constants);
  }
  bool needs_little(const LoopTree& tree) const {
    const std::optional<std::int64_t> missing = missing_bytes(tree);
    return missing && *missing <= missing_ / 10;
  }

  /// The worse of both estimates: constants may lie near or far.
  double slowdown(const LoopTree& tree) const {
    if (seconds_ <= 0 || issue_seconds_ <= 0) return 1;
    return std::max(analytic_seconds(tree, target_) / seconds_, issue_seconds(tree, target_) / issue_seconds_);
  }

  void consider(const DesignSpace& space, const Candidate& candidate, std::optional<Found>& best) const {
    if (best && candidate == best->candidate) return;
    Result<Scheduled> scheduled = space.schedule(candidate);
    if (!scheduled.ok()) return;
    const double time = slowdown(scheduled->tree);
    if ((!best || time < best->slowdown) && needs_little(scheduled->tree))
      best = Found{std::move(scheduled->steps), candidate, time};
  }

  static std::vector<Choice> options(const Decision& decision, const Extents& there, const Choices& usual) {
    constexpr std::size_t kMost = 64;
    const auto extent = there.find(decision.name);
    if (extent != there.end() && extent->second != decision.extent && decision.options.size() <= kMost)
      return decision.options;
    const auto choice = usual.find(decision.name);
    return choice == usual.end() ? std::vector<Choice>() : std::vector<Choice>{choice->second};
  }

  const Task& task_;
  const OtherSize& other_;
  const LibrarySoFar& library_;
  const ScheduleSource& source_;
  const Target& target_;
  double seconds_ = 0, issue_seconds_ = 0;  ///< of the task's own schedule
  std::int64_t missing_ = 0;                ///< bytes of constants that it adds
};

/// What a task may have in place of its own schedule, by which all its runs take `seconds`.
struct Offer {
  double seconds = 0;
  std::optional<Attempt> attempt;
  double lost = 0;   ///< seconds
  double bytes = 1;  ///< that are not added
};

Offer offer_for(const Task& task, const OtherSize& other, const LibrarySoFar& library,
                const std::vector<Attempt>& attempts, const ScheduleSource& source, const Target& target) {
  Offer offer;
  const Attempt& own = attempts.front();
  const Result<LoopTree> tree = own.steps.ok() ? replay(task.dag, *own.steps) : Result<LoopTree>(own.steps.error());
  if (!tree.ok()) return offer;
  Finder finder(task, other, library, source, target);
  const bool looks = finder.begin(*tree);
  offer.seconds = task.weight * finder.seconds();
  if (!looks) return offer;
  offer.bytes = static_cast<double>(task.weight * finder.missing());
  if (own.source == TaskReport::Source::record && own.at.empty()) {
    offer.attempt = finder.close_record();
    return offer;
  }
  std::optional<Found> best = own.at.empty() ? finder.unpacked(own) : finder.measured(attempts);
  if (source.space && own.at.empty() && other.kernel->report.source <= own.source)
    if (std::optional<Found> fitted = finder.fitted(); fitted && (!best || fitted->slowdown < best->slowdown))
      best = std::move(fitted);
  if (!best) return offer;
  offer.lost = offer.seconds * std::max(0.0, best->slowdown - 1);
  offer.attempt = Attempt{std::move(best->steps), own.source, 0, kNote, {}, std::move(best->candidate), best->at};
  return offer;
}

}  // namespace

void share_constants(const std::vector<Task>& tasks, const LibrarySoFar& library, const ScheduleSource& source,
                     const Target& target, int jobs, std::vector<Attempts>& attempts) {
  if (std::ranges::all_of(library.others, [](const OtherSize& other) { return other.kernel == nullptr; })) return;
  std::vector<Offer> offers(tasks.size());
  parallel_for(static_cast<int>(tasks.size()), jobs, [&](int i) {
    const std::size_t at = static_cast<std::size_t>(i);
    offers[at] = offer_for(tasks[at], library.others[at], library, attempts[at].list, source, target);
  });
  double left = 0;
  std::vector<std::size_t> order;
  for (std::size_t at = 0; at < offers.size(); ++at) {
    left += kMostLost * offers[at].seconds;
    if (offers[at].attempt) order.push_back(at);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t at) { return offers[at].lost / offers[at].bytes; });
  for (const std::size_t at : order) {
    if (offers[at].lost > left) continue;
    left -= offers[at].lost;
    attempts[at].list.insert(attempts[at].list.begin(), std::move(*offers[at].attempt));
  }
}

}  // namespace whet
