#include "space/rules/derive.h"

#include <algorithm>

#include "space/gpu/preferred.h"

namespace whet {

// ---- Derivation

Derivation::Derivation(const ComputeDag& dag, const Target& target) : target_(target), scheduler_(dag) { start_over(); }

void Derivation::start_over() {
  treatments_.clear();
  for (const Op& op : dag().ops) treatments_.push_back(op.is_placeholder() ? OpTreatment::input : OpTreatment::open);
}

void Derivation::insert(OpId at, std::size_t count, OpTreatment treatment) {
  treatments_.insert(treatments_.begin() + static_cast<std::ptrdiff_t>(at.index()), count, treatment);
  if (first_.valid() && first_ >= at) first_ = OpId(first_.value + static_cast<std::int64_t>(count));
}

std::vector<OpId> Derivation::ops() const {
  std::vector<OpId> ops;
  for (std::size_t k = dag().ops.size(); k-- > 0;)
    if (!dag().ops[k].is_placeholder()) ops.emplace_back(static_cast<std::int64_t>(k));
  return ops;
}

OpId Derivation::only_reader(OpId op) const {
  OpId reader;
  for (OpId consumer : consumers_of(dag(), op)) {
    if (!has_loops(tree(), consumer)) continue;
    if (reader.valid()) return {};
    reader = consumer;
  }
  return reader;
}

std::string Derivation::name_for(OpId op, const std::string& axis) const {
  const bool taken = preferred_.contains(axis);
  return taken ? dag().op(op).name + "." + axis : axis;
}

std::string Derivation::prefix_for(OpId op) {
  if (!first_.valid()) first_ = op;
  return op == first_ ? "" : dag().op(op).name + ".";
}

void Derivation::decide(Decision decision, Choice preferred) {
  if (!start_) start_ = std::make_shared<const Scheduler>(scheduler_), started_ = actions_.size();
  preferred_[decision.name] = std::move(preferred);
  decisions_.push_back(std::move(decision));
}

void Derivation::run(const Action& action) {
  ScheduleDraft draft{scheduler_,         preferred_,           std::move(levels_),
                      std::move(groups_), std::move(parallel_), std::move(launches_)};
  action(draft);
  levels_ = std::move(draft.levels), groups_ = std::move(draft.groups), parallel_ = std::move(draft.parallel);
  launches_ = std::move(draft.launches);
}

void Derivation::act(Action action) {
  run(action);
  actions_.push_back(std::move(action));
}

void Derivation::call(const std::string& part) {
  if (name_.find(part) == std::string::npos) name_ += (name_.empty() ? "" : "+") + part;
}

Status Derivation::status() const {
  const Result<Steps> steps = scheduler_.finish();
  return steps.ok() ? ok_status() : Status(steps.error());
}

Sketch Derivation::sketch(double share) const {
  Sketch sketch;
  sketch.name = name_;
  sketch.decisions = decisions_;
  sketch.constraints = constraints_;
  sketch.preferred = preferred_;
  sketch.share = share;
  const std::vector<Action> actions(actions_.begin() + static_cast<std::ptrdiff_t>(started_), actions_.end());
  sketch.build = [start = start_, actions](Scheduler& s, const Choices& choices) {
    if (start) s = *start;
    ScheduleDraft draft{s, choices, {}, {}, {}};
    for (const Action& action : actions) action(draft);
    for (LoopId loop : draft.parallel) s.annotate(loop, LoopKind::parallel);
  };
  return sketch;
}

// ---- the walk

namespace {

/// Structures beyond these are variations that decisions cover.
constexpr std::size_t kMostDerivations = 12;

struct Walk {
  std::vector<RuleNote>* notes;

  void note(const Rule& rule, const std::string& op, bool applied, const std::string& sentence) {
    if (!notes || sentence.empty()) return;
    RuleNote note{rule.name, op, applied, sentence};
    if (std::find(notes->begin(), notes->end(), note) == notes->end()) notes->push_back(std::move(note));
  }

  /// Asks `rule` for the op'th op of what `from` computes.
  std::vector<Derivation> ask(const Rule& rule, Derivation from, std::size_t op_number) {
    const std::vector<OpId> ops = from.ops();
    if (op_number >= ops.size()) return {std::move(from)};
    const OpId op = ops[op_number];
    const std::string op_name = from.dag().op(op).name;
    if (const std::optional<std::string> why = rule.why_not(from, op)) {
      note(rule, op_name, false, *why);
      return {std::move(from)};
    }
    std::vector<Derivation> results;
    bool applied = false;
    for (Derivation& result : rule.apply(from, op)) {
      if (const Status status = result.status(); !status.ok()) {
        note(rule, op_name, false, status.error().message);
        continue;
      }
      applied = true;
      results.push_back(std::move(result));
    }
    if (applied) note(rule, op_name, true, rule.does);
    if (!applied || rule.optional) results.push_back(std::move(from));
    return results;
  }
};

/// All loops of every op are decided upon, and the preferred choices are within the constraints.
bool is_whole(const Derivation& derivation, const Sketch& sketch) {
  if (!derivation.status().ok() || sketch.decisions.empty()) return false;
  for (OpId op : derivation.ops())
    if (derivation.treatment(op) == OpTreatment::open || derivation.treatment(op) == OpTreatment::copied) return false;
  return is_within(sketch, sketch.preferred);
}

/// Of each list of choices the fastest by the estimate becomes preferred.
void prefer_fastest(Sketch& sketch, const Derivation& derivation, const ComputeDag& dag, const Target& target) {
  for (std::vector<Choices> starts : derivation.starts()) {
    for (Choices& start : starts) {
      Choices whole = sketch.preferred;
      for (auto& [name, choice] : start) whole[name] = std::move(choice);
      start = std::move(whole);
    }
    if (Choices best = preferred_choices(sketch, dag, target, starts, {}); !best.empty())
      sketch.preferred = std::move(best);
  }
}

}  // namespace

std::vector<Sketch> derive_sketches(const ComputeDag& dag, const Target& target, std::span<const Rule* const> rules,
                                    const DeriveOptions& options, std::vector<RuleNote>* notes) {
  Walk walk{notes};
  std::vector<Derivation> derivations{Derivation(dag, target)};
  for (const Rule* rule : rules) {
    if (options.exact && !rule->exact) continue;
    std::size_t most_ops = 0;
    for (const Derivation& derivation : derivations) most_ops = std::max(most_ops, derivation.ops().size());
    for (std::size_t op = 0; op < most_ops; ++op) {
      std::vector<Derivation> next;
      for (Derivation& derivation : derivations)
        for (Derivation& result : walk.ask(*rule, std::move(derivation), op))
          if (next.size() < kMostDerivations) next.push_back(std::move(result));
      derivations = std::move(next);
    }
  }
  std::vector<Sketch> sketches;
  for (const Derivation& derivation : derivations) {
    Sketch sketch = derivation.sketch(1);
    const bool twice =
        std::any_of(sketches.begin(), sketches.end(), [&](const Sketch& other) { return other.name == sketch.name; });
    if (twice) continue;
    prefer_fastest(sketch, derivation, dag, target);
    if (is_whole(derivation, sketch)) sketches.push_back(std::move(sketch));
  }
  for (Sketch& sketch : sketches) sketch.share = options.share / static_cast<double>(sketches.size());
  return sketches;
}

}  // namespace whet
