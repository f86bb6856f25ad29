#include "transfer/pack.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "artifact/code_format.h"
#include "compute/anchor.h"
#include "space/space.h"

namespace whet {
namespace {

constexpr std::size_t kMostEntries = 4;
constexpr double kMostOverBest = 1.3;

/// The mean of the logarithms of ratios.
struct MeanRatio {
  double logs = 0;
  int count = 0;
  void add(double ratio) { logs += std::log(ratio), ++count; }
  double value() const { return std::exp(logs / count); }
};

/// Three digits behind the point are far below what repeats.
double rounded(double ratio) { return std::max(std::round(ratio * 1000) / 1000, 0.001); }

class Packing {
 public:
  Packing(std::span<const Records* const> runs, const Target& target) : runs_(runs), target_(target) {}

  void add(const Task& task, double over_parts) {
    std::vector<std::vector<const Record*>> measured;
    for (const Records* run : runs_) measured.push_back(comparable(*run, task, target_));
    const bool is_measured = std::ranges::any_of(measured, [](const auto& run) { return !run.empty(); });
    std::optional<Anchor> anchor = is_measured ? anchor_of(task.dag) : std::nullopt;
    if (!anchor) return;
    const DesignSpace space = make_space(task.dag, target_);
    const Result<Steps> usual = space.steps(space.default_candidate());
    const std::vector<Figure> figures = usual.ok() ? figures_of(measured, to_text(*usual)) : std::vector<Figure>();
    if (figures.empty()) {
      ++packed.without_default;
      return;
    }
    BaseTask known{std::move(*anchor), over_parts, {}};
    const double least = figures.front().gain.value() / kMostOverBest;
    std::set<std::string_view> sketches;
    for (const Figure& figure : figures) {
      const Candidate& candidate = figure.record->candidate;
      if (figure.gain.value() < least || known.entries.size() == kMostEntries) break;
      const bool is_wanted = known.entries.size() < 2 || !sketches.contains(candidate.sketch);
      if (!is_wanted || !is_of(space, *figure.record)) continue;
      sketches.insert(candidate.sketch);
      known.entries.push_back({0, candidate, extents_of(space, candidate), rounded(figure.gain.value())});
    }
    if (!known.entries.empty()) packed.tasks.push_back(std::move(known));
  }

  PackedTasks packed;

 private:
  /// A schedule that was measured.
  struct Figure {
    const Record* record = nullptr;
    MeanRatio gain;
  };

  /// What each schedule gained over the default one, the most first; none where no run timed the default.
  static std::vector<Figure> figures_of(const std::vector<std::vector<const Record*>>& measured,
                                        const std::string& usual) {
    std::map<std::string_view, Figure> by_steps;
    for (const std::vector<const Record*>& run : measured) {
      const auto of_default = std::ranges::find(run, usual, &Record::steps);
      if (of_default == run.end()) continue;
      for (const Record* record : run) {
        Figure& figure = by_steps[record->steps];
        figure.record = record;
        figure.gain.add((*of_default)->ranked_seconds() / record->ranked_seconds());
      }
    }
    std::vector<Figure> figures;
    for (const auto& [steps, figure] : by_steps) figures.push_back(figure);
    std::ranges::stable_sort(figures, std::ranges::greater(), [](const Figure& f) { return f.gain.value(); });
    return figures;
  }

  /// Whether the candidate's names mean today what was measured.
  bool is_of(const DesignSpace& space, const Record& record) {
    const Result<Steps> steps = space.steps(record.candidate);
    const bool same = steps.ok() && to_text(*steps) == record.steps;
    packed.changed += same ? 0 : 1;
    return same;
  }

  static Extents extents_of(const DesignSpace& space, const Candidate& candidate) {
    Extents extents = space.extents(candidate.sketch);
    std::erase_if(extents, [&](const auto& each) { return !candidate.choices.contains(each.first); });
    return extents;
  }

  std::span<const Records* const> runs_;
  const Target& target_;
};

}  // namespace

std::vector<const Record*> comparable(const Records& run, const Task& task, const Target& target) {
  std::vector<const Record*> list = run.ranking(task.key, task.within, target);
  std::erase_if(list, [&, codegen = codegen_version(code_format(target))](const Record* r) {
    return r->within != task.within || r->codegen != codegen || r->outcome.truncated ||
           r->outcome.conditions.throttled || r->outcome.emulated() || !permits(SpaceOptions(), r->numerics);
  });
  if (list.empty()) return list;
  const std::string cache = list.front()->outcome.cache;  // the ranking has the network's first,
  std::erase_if(list, [&](const Record* r) { return r->outcome.cache != cache; });
  const auto placed = std::ranges::find_if(list, [](const Record* r) { return r->outcome.placement.is_known(); });
  if (placed == list.end()) return list;
  const ProcessorPlacement at_hand = (*placed)->outcome.placement;  // and of these the ones of the placement at hand
  std::erase_if(list, [&](const Record* r) { return differ(r->outcome.placement, at_hand); });
  return list;
}

PackedTasks pack(const Alternatives& alternatives, const std::map<int, double>& over_parts,
                 std::span<const Records* const> runs, const Target& target) {
  std::set<int> chains;
  for (const Alternative& each : alternatives.all)
    if (names_chain(each.name)) chains.insert(each.task);
  Packing packing(runs, target);
  for (int number = 0; number < std::ssize(alternatives.tasks); ++number) {
    const auto over = over_parts.find(number);
    if (chains.contains(number) && over == over_parts.end()) continue;
    packing.add(alternatives.tasks[static_cast<std::size_t>(number)],
                over == over_parts.end() ? 0 : rounded(over->second));
  }
  return std::move(packing.packed);
}

}  // namespace whet
