#include "space/gpu/preferred.h"

#include <algorithm>

#include "cost/features.h"

namespace whet {
namespace {

class Judge {
 public:
  Judge(const Sketch& sketch, const ComputeDag& dag, const Target& target, double least_gain)
      : sketch_(sketch), dag_(dag), target_(target), least_gain_(least_gain) {}

  /// Keeps the choices where they are better than all before.
  void consider(const Choices& choices) {
    if (!is_within(sketch_, choices)) return;
    Scheduler scheduler(dag_);
    sketch_.build(scheduler, choices);
    if (!scheduler.finish().ok()) return;
    const double seconds = analytic_seconds(scheduler.tree(), target_);
    if (!best_.empty() && seconds >= seconds_ * (1 - least_gain_)) return;
    best_ = choices, seconds_ = seconds;
  }
  void consider_options(const Decision& decision) {
    Choices choices = best_;
    const Choice taken = choices.at(decision.name);
    for (const Choice& option : decision.options) {
      if (option == taken) continue;
      choices[decision.name] = option;
      consider(choices);
    }
  }
  const Choices& best() const { return best_; }

 private:
  const Sketch& sketch_;
  const ComputeDag& dag_;
  const Target& target_;
  const double least_gain_;
  Choices best_;
  double seconds_ = 0;
};

}  // namespace

Choices preferred_choices(const Sketch& sketch, const ComputeDag& dag, const Target& target,
                          const std::vector<Choices>& starts, const std::vector<std::string>& then, double least_gain) {
  Judge judge(sketch, dag, target, least_gain);
  for (std::size_t k = 0; k < starts.size(); ++k)
    if (std::find(starts.begin(), starts.begin() + static_cast<std::ptrdiff_t>(k), starts[k]) ==
        starts.begin() + static_cast<std::ptrdiff_t>(k))
      judge.consider(starts[k]);
  if (judge.best().empty()) return {};
  for (const std::string& name : then) {
    const auto decision = std::find_if(sketch.decisions.begin(), sketch.decisions.end(),
                                       [&](const Decision& known) { return known.name == name; });
    if (decision != sketch.decisions.end()) judge.consider_options(*decision);
  }
  return judge.best();
}

Choices asking_for_blocks(const Sketch& sketch, Choices choices, std::int64_t min_blocks) {
  Choices asking = choices;
  asking["min_blocks"] = {min_blocks};
  return is_within(sketch, asking) ? asking : choices;
}

}  // namespace whet
