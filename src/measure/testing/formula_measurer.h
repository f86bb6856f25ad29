#pragma once

#include <functional>
#include <map>
#include <string>

#include "measure/measurer.h"

namespace whet {

/// A fake that answers at once by a formula: `outcome(task, steps)` decides, so that a search test is exact and
/// instant. `wrong(steps)` names the candidates whose answers are wrong; the others are right.
class FormulaMeasurer : public Measurer {
 public:
  using Formula = std::function<Outcome(const MeasureTask&, const std::string& steps)>;

  explicit FormulaMeasurer(Formula outcome, std::function<bool(const std::string&)> wrong = {})
      : outcome_(std::move(outcome)), wrong_(std::move(wrong)) {}
  /// Every candidate is timed, with `seconds(steps)`.
  static FormulaMeasurer timing(std::function<double(const std::string&)> seconds) {
    return FormulaMeasurer([seconds = std::move(seconds)](const MeasureTask&, const std::string& steps) {
      return Outcome{OutcomeCode::ok, "", {seconds(steps)}, false, 0.001, 0.001};
    });
  }

  MeasureSetting setting() const override { return {"formula", "warm"}; }
  std::vector<Measured> measure(const MeasureTask& task, const std::vector<std::string>& steps,
                                const Incumbent& incumbent) override {
    std::vector<Measured> out;
    for (const std::string& s : steps) {
      Measured m{outcome_(task, s), std::to_string(std::hash<std::string>()(s))};
      stamp(m.outcome);
      m.outcome.truncated =
          incumbent.seconds > 0 && m.outcome.ok() && m.outcome.best_seconds() > 1.3 * incumbent.seconds;
      measured[s]++;
      out.push_back(std::move(m));
    }
    return out;
  }
  void forget(const MeasureTask&) override { ++forgotten; }
  Outcome check(const MeasureTask& task, const std::string& steps, Precision = Precision::f32) override {
    ++checks;
    Outcome o = outcome_(task, steps);
    if (wrong_ && wrong_(steps)) o = {OutcomeCode::wrong_answer, "wrong by formula"};
    o.seconds.clear();
    o.device = setting().device;
    return o;
  }
  std::vector<Outcome> compare(const MeasureTask& task, const std::vector<std::string>& steps,
                               int /*bursts*/ = 2) override {
    ++comparisons;
    std::vector<Outcome> out;
    for (const std::string& s : steps) {
      out.push_back(outcome_(task, s));
      stamp(out.back());
    }
    return out;
  }

  std::vector<Measured> glance(const MeasureTask& task, const std::vector<std::string>& steps) override {
    ++glances;
    std::vector<Measured> out;
    for (const std::string& s : steps) {
      out.push_back({outcome_(task, s), std::to_string(std::hash<std::string>()(s))});
      stamp(out.back().outcome);
    }
    return out;
  }

  /// Of a task with sizes the formula gets the task at each size.
  std::vector<std::vector<Outcome>> ladder(const RangedTask& ranged, const std::vector<std::string>& steps) override {
    ++ladders;
    std::vector<std::vector<Outcome>> out;
    for (const std::string& s : steps) {
      std::vector<Outcome>& own = out.emplace_back();
      for (const SizeValues& at : ranged.timed) {
        ComputeDag dag = dag_at(ranged.task.dag, at);
        std::string key = workload_key(dag);
        own.push_back(outcome_({std::move(key), ranged.task.name, std::move(dag), ranged.task.target}, s));
        if (wrong_ && wrong_(s)) own.back() = {OutcomeCode::wrong_answer, "wrong by formula"};
        stamp(own.back());
      }
    }
    return out;
  }

  std::map<std::string, int> measured;  ///< how often each candidate was asked for
  int checks = 0, comparisons = 0, glances = 0, ladders = 0, forgotten = 0;
  ProcessorPlacement placement;  ///< of the processors, now

 private:
  void stamp(Outcome& outcome) const {
    outcome.device = setting().device;
    if (outcome.ok()) outcome.placement = placement;
  }

  Formula outcome_;
  std::function<bool(const std::string&)> wrong_;
};

}  // namespace whet
