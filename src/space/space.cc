#include "space/space.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "space/rows.h"
#include "space/tile.h"
#include "space/winograd.h"

namespace whet {
namespace {

bool allowed(const Sketch& sketch, const Sketch::Choices& choices) {
  return !sketch.violated || !sketch.violated(choices);
}

/// Calls `visit` for every combination of options that the constraints leave.
void for_each_choice(const Sketch& sketch, const std::function<void(const Sketch::Choices&)>& visit) {
  Sketch::Choices choices;
  std::function<void(std::size_t)> descend = [&](std::size_t k) {
    if (k == sketch.decisions.size()) {
      if (allowed(sketch, choices)) visit(choices);
      return;
    }
    for (const Choice& option : sketch.decisions[k].options) {
      choices[sketch.decisions[k].name] = option;
      descend(k + 1);
    }
  };
  descend(0);
}

std::string to_text(const Choice& choice) { return fmt::format("{}", fmt::join(choice, ",")); }

}  // namespace

std::vector<Choice> single(const std::vector<std::int64_t>& values) {
  std::vector<Choice> options;
  for (std::int64_t v : values) options.push_back({v});
  return options;
}

const Sketch* DesignSpace::find(const std::string& name) const {
  for (const Sketch& sketch : sketches_)
    if (sketch.name == name) return &sketch;
  return nullptr;
}

std::int64_t DesignSpace::count() const {
  std::int64_t count = 0;
  for (const Sketch& sketch : sketches_) for_each_choice(sketch, [&](const auto&) { ++count; });
  return count;
}

Candidate DesignSpace::default_candidate() const { return {sketches_.front().name, sketches_.front().preferred}; }

std::vector<Candidate> DesignSpace::seeds() const {
  std::vector<Candidate> seeds, near = neighbours(default_candidate());
  for (std::size_t k = 1; k < sketches_.size(); ++k) seeds.push_back({sketches_[k].name, sketches_[k].preferred});
  Rng rng(1);
  for (std::size_t i = near.size(); i > 1; --i)
    std::swap(near[i - 1], near[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(i)))]);
  near.resize(std::min<std::size_t>(near.size(), 8));
  seeds.insert(seeds.end(), near.begin(), near.end());
  return seeds;
}

Candidate DesignSpace::sample(Rng& rng) const {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const Sketch& sketch = sketches_[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(sketches_.size())))];
    Candidate candidate{sketch.name, {}};
    for (const Decision& decision : sketch.decisions)
      candidate.choices[decision.name] =
          decision.options[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(decision.options.size())))];
    if (allowed(sketch, candidate.choices)) return candidate;
  }
  return default_candidate();
}

std::vector<Candidate> DesignSpace::neighbours(const Candidate& candidate) const {
  std::vector<Candidate> result;
  const Sketch* sketch = find(candidate.sketch);
  if (!sketch) return result;
  for (const Decision& decision : sketch->decisions)
    for (const Choice& option : decision.options) {
      Candidate other = candidate;
      if (other.choices[decision.name] == option) continue;
      other.choices[decision.name] = option;
      if (allowed(*sketch, other.choices)) result.push_back(std::move(other));
    }
  return result;
}

Status DesignSpace::contains(const Candidate& candidate) const {
  const Sketch* sketch = find(candidate.sketch);
  if (!sketch) return Error{fmt::format("there is no sketch \"{}\" in this space", candidate.sketch)};
  for (const Decision& decision : sketch->decisions) {
    const auto choice = candidate.choices.find(decision.name);
    if (choice == candidate.choices.end())
      return Error{fmt::format("sketch {} needs a choice for \"{}\"", sketch->name, decision.name)};
    if (std::find(decision.options.begin(), decision.options.end(), choice->second) == decision.options.end())
      return Error{fmt::format("{} = {} is not among the {} options of sketch {}", decision.name,
                               to_text(choice->second), decision.options.size(), sketch->name)};
  }
  if (candidate.choices.size() != sketch->decisions.size())
    return Error{fmt::format("sketch {} has {} decisions, found {} choices", sketch->name, sketch->decisions.size(),
                             candidate.choices.size())};
  if (const auto why = sketch->violated ? sketch->violated(candidate.choices) : std::nullopt) return Error{*why};
  return ok_status();
}

Result<Steps> DesignSpace::steps(const Candidate& candidate) const {
  WHET_RETURN_IF_ERROR(contains(candidate));
  Scheduler scheduler(dag_);
  find(candidate.sketch)->build(scheduler, candidate.choices);
  return scheduler.finish();
}

DesignSpace make_space(const ComputeDag& dag, const Target& target, const SpaceOptions& options) {
  std::vector<Sketch> sketches;
  if (std::optional<Sketch> tile = tile_sketch(dag, target)) sketches.push_back(std::move(*tile));
  if (std::optional<Sketch> fast = winograd_sketch(dag, target); fast && !options.exact)
    sketches.push_back(std::move(*fast));
  if (sketches.empty()) sketches.push_back(rows_sketch(dag, target));
  return {dag, std::move(sketches)};
}

Result<Steps> default_steps(const ComputeDag& dag, const Target& target) {
  const DesignSpace space = make_space(dag, target);
  if (Result<Steps> steps = space.steps(space.default_candidate()); steps.ok()) return steps;
  const Sketch rows = rows_sketch(dag, target);
  Scheduler scheduler(dag);
  rows.build(scheduler, rows.preferred);
  if (Result<Steps> steps = scheduler.finish(); steps.ok()) return steps;
  return Steps();
}

}  // namespace whet
