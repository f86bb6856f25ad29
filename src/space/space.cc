#include "space/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "cost/features.h"
#include "space/author.h"
#include "space/legal.h"
#include "space/rules/derive.h"

namespace whet {
namespace {

std::string to_text(const Choice& choice) { return fmt::format("{}", fmt::join(choice, ",")); }

std::optional<std::int32_t> option_of(const Decision& decision, const Choice& choice) {
  const auto found = std::find(decision.options.begin(), decision.options.end(), choice);
  if (found == decision.options.end()) return std::nullopt;
  return static_cast<std::int32_t>(found - decision.options.begin());
}

/// How far apart two sizes are: octaves; 0 often means "all" or "none" and is far from everything.
double distance(double a, double b) {
  if (a == b) return 0;
  if (a <= 0 || b <= 0) return 4;
  return std::abs(std::log2(a / b));
}

double distance(const Choice& option, const std::vector<double>& wish) {
  if (option.size() != wish.size()) return 16;
  double sum = 0;
  for (std::size_t level = 0; level < option.size(); ++level)
    sum += distance(static_cast<double>(option[level]), wish[level]);
  return sum;
}

/// What is wanted of each decision, as the distance of each of its options from it.
using Costs = std::vector<std::vector<double>>;

std::vector<double> as_wish(const Choice& choice) { return {choice.begin(), choice.end()}; }

void want(const Decision& decision, const std::vector<double>& wish, Costs& costs) {
  costs.emplace_back();
  for (const Choice& option : decision.options) costs.back().push_back(distance(option, wish));
}

/// A tile of another extent. What registers hold (the innermost level) keeps its size; what is a whole axis stays one;
/// the levels outside grow with the extent.
std::vector<double> scaled(const Choice& tiles, std::int64_t from, std::int64_t to) {
  std::vector<double> wish = as_wish(tiles);
  const double ratio = static_cast<double>(to) / static_cast<double>(from);
  for (std::size_t level = 0; level < wish.size(); ++level) {
    const bool whole = tiles[level] == from, innermost = level + 1 == wish.size();
    if (tiles[level] > 1 && (whole || !innermost)) wish[level] = std::max(1.0, wish[level] * ratio);
  }
  return wish;
}

}  // namespace

std::vector<Choice> single(const std::vector<std::int64_t>& values) {
  std::vector<Choice> options;
  for (std::int64_t v : values) options.push_back({v});
  return options;
}

/// A sketch and, once it is asked for, what its constraints leave.
struct DesignSpace::Part {
  Sketch sketch;
  mutable std::once_flag once;
  mutable std::unique_ptr<const Legal> made;

  const Legal& legal() const {
    std::call_once(once, [&] { made = std::make_unique<const Legal>(sketch); });
    return *made;
  }
  std::optional<Point> point(const Choices& choices) const {
    Point point;
    for (const Decision& decision : sketch.decisions) {
      const auto choice = choices.find(decision.name);
      if (choice == choices.end()) return std::nullopt;
      const std::optional<std::int32_t> option = option_of(decision, choice->second);
      if (!option) return std::nullopt;
      point.push_back(*option);
    }
    return point;
  }
  Candidate candidate(const Point& point) const {
    Candidate candidate{sketch.name, {}};
    for (std::size_t d = 0; d < point.size(); ++d)
      candidate.choices.emplace(sketch.decisions[d].name,
                                sketch.decisions[d].options[static_cast<std::size_t>(point[d])]);
    return candidate;
  }
  std::optional<Candidate> nearest(const Costs& costs, Rng& rng) const {
    const std::optional<Point> point = legal().nearest(costs, rng);
    return point ? std::optional(candidate(*point)) : std::nullopt;
  }
};

struct DesignSpace::Body {
  ComputeDag dag;
  std::vector<Sketch> sketches;
  std::vector<std::unique_ptr<Part>> parts;
  double shares = 0;
};

bool is_within(const Sketch& sketch, const Choices& choices) {
  return std::none_of(sketch.constraints.begin(), sketch.constraints.end(),
                      [&](const Constraint& constraint) { return constraint.violated(choices).has_value(); });
}

DesignSpace::DesignSpace(ComputeDag dag, std::vector<Sketch> sketches) {
  auto body = std::make_shared<Body>();
  body->dag = std::move(dag);
  body->sketches = std::move(sketches);
  for (const Sketch& sketch : body->sketches) {
    body->parts.push_back(std::make_unique<Part>());
    body->parts.back()->sketch = sketch;
    body->shares += sketch.share;
  }
  body_ = std::move(body);
}

const std::vector<Sketch>& DesignSpace::sketches() const { return body_->sketches; }

const DesignSpace::Part* DesignSpace::find(const std::string& name) const {
  for (const std::unique_ptr<Part>& part : body_->parts)
    if (part->sketch.name == name) return part.get();
  return nullptr;
}

SpaceSize DesignSpace::size(const std::string& sketch) const {
  const Part* part = find(sketch);
  return part ? part->legal().size() : SpaceSize();
}

SpaceSize DesignSpace::size() const {
  SpaceSize all;
  for (const std::unique_ptr<Part>& part : body_->parts) {
    const SpaceSize& size = part->legal().size();
    all.combinations += size.combinations;
    all.legal += size.legal;
    all.exact = all.exact && size.exact;
  }
  return all;
}

Candidate DesignSpace::default_candidate() const {
  return {body_->sketches.front().name, body_->sketches.front().preferred};
}

std::vector<Candidate> DesignSpace::seeds() const {
  const std::vector<Sketch>& sketches = body_->sketches;
  std::vector<Candidate> seeds, near = neighbours(default_candidate());
  for (std::size_t k = 1; k < sketches.size(); ++k) seeds.push_back({sketches[k].name, sketches[k].preferred});
  Rng rng(1);
  for (std::size_t i = near.size(); i > 1; --i)
    std::swap(near[i - 1], near[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(i)))]);
  near.resize(std::min<std::size_t>(near.size(), 8));
  seeds.insert(seeds.end(), near.begin(), near.end());
  return seeds;
}

Candidate DesignSpace::sample(Rng& rng) const {
  double at = rng.uniform(0, body_->shares);
  std::size_t k = 0;
  while (k + 1 < body_->parts.size() && at >= body_->sketches[k].share) at -= body_->sketches[k++].share;
  return body_->parts[k]->candidate(body_->parts[k]->legal().sample(rng));
}

std::vector<Candidate> DesignSpace::neighbours(const Candidate& candidate) const {
  std::vector<Candidate> result;
  const Part* part = find(candidate.sketch);
  const std::optional<Point> point = part ? part->point(candidate.choices) : std::nullopt;
  if (!point) return result;
  for (const Point& near : part->legal().neighbours(*point)) result.push_back(part->candidate(near));
  return result;
}

std::optional<Candidate> DesignSpace::shift(const Candidate& candidate, const std::map<std::string, int>& moves) const {
  const Part* part = find(candidate.sketch);
  std::optional<Point> point = part ? part->point(candidate.choices) : std::nullopt;
  if (!point) return std::nullopt;
  for (std::size_t d = 0; d < point->size(); ++d) {
    const Decision& decision = part->sketch.decisions[d];
    const auto move = moves.find(decision.name);
    if (move == moves.end()) continue;
    const std::int64_t option = std::int64_t{(*point)[d]} + move->second;
    if (option < 0 || option >= std::ssize(decision.options)) return std::nullopt;
    (*point)[d] = static_cast<std::int32_t>(option);
  }
  return part->legal().allows(*point) ? std::optional(part->candidate(*point)) : std::nullopt;
}

std::optional<Candidate> DesignSpace::mutate(const Candidate& candidate, Rng& rng) const {
  const Part* part = find(candidate.sketch);
  const std::optional<Point> point = part ? part->point(candidate.choices) : std::nullopt;
  if (!point || !part->legal().allows(*point)) return std::nullopt;
  const std::optional<Point> other = part->legal().mutate(*point, rng);
  return other ? std::optional(part->candidate(*other)) : std::nullopt;
}

std::optional<Candidate> DesignSpace::crossover(const Candidate& a, const Candidate& b, Rng& rng) const {
  const Part* part = a.sketch == b.sketch ? find(a.sketch) : nullptr;
  if (!part) return std::nullopt;
  const std::optional<Point> one = part->point(a.choices), other = part->point(b.choices);
  if (!one || !other) return std::nullopt;
  Point child = *one;
  for (std::size_t d = 0; d < child.size(); ++d)
    if (rng.chance(0.5)) child[d] = (*other)[d];
  return part->legal().allows(child) ? part->candidate(child) : repair(part->candidate(child), rng);
}

std::optional<Candidate> DesignSpace::repair(const Candidate& candidate, Rng& rng) const {
  const Part* part = find(candidate.sketch);
  if (!part) return std::nullopt;
  Costs costs;
  for (const Decision& decision : part->sketch.decisions) {
    const auto choice = candidate.choices.find(decision.name);
    const Choice& preferred = part->sketch.preferred.at(decision.name);
    const bool usable = choice != candidate.choices.end() && choice->second.size() == preferred.size();
    want(decision, as_wish(usable ? choice->second : preferred), costs);
  }
  return part->nearest(costs, rng);
}

std::optional<Candidate> DesignSpace::refit(const Candidate& candidate, const Extents& extents) const {
  const Part* part = find(candidate.sketch);
  if (!part) return std::nullopt;
  Costs costs;
  for (const Decision& decision : part->sketch.decisions) {
    const auto choice = candidate.choices.find(decision.name);
    const Choice& preferred = part->sketch.preferred.at(decision.name);
    if (choice == candidate.choices.end() || choice->second.size() != preferred.size()) {
      want(decision, as_wish(preferred), costs);
      continue;
    }
    const auto there = extents.find(decision.name);
    const bool scales = there != extents.end() && there->second > 0 && decision.extent > 0;
    want(decision, scales ? scaled(choice->second, there->second, decision.extent) : as_wish(choice->second), costs);
  }
  Rng rng(0);
  return part->nearest(costs, rng);
}

Extents DesignSpace::extents(const std::string& sketch) const {
  Extents extents;
  if (const Part* part = find(sketch))
    for (const Decision& decision : part->sketch.decisions)
      if (decision.extent > 0) extents.emplace(decision.name, decision.extent);
  return extents;
}

std::int64_t DesignSpace::grid_size() const {
  std::int64_t size = 0;
  for (const std::unique_ptr<Part>& part : body_->parts) size += part->legal().grid_size();
  return size;
}

std::optional<Candidate> DesignSpace::at(std::int64_t number) const {
  for (const std::unique_ptr<Part>& part : body_->parts) {
    if (number < part->legal().grid_size()) {
      const std::optional<Point> point = part->legal().at(number);
      return point ? std::optional(part->candidate(*point)) : std::nullopt;
    }
    number -= part->legal().grid_size();
  }
  return std::nullopt;
}

Status DesignSpace::contains(const Candidate& candidate) const {
  const Part* part = find(candidate.sketch);
  if (!part) return Error{fmt::format("there is no sketch \"{}\" in this space", candidate.sketch)};
  const Sketch& sketch = part->sketch;
  for (const Decision& decision : sketch.decisions) {
    const auto choice = candidate.choices.find(decision.name);
    if (choice == candidate.choices.end())
      return Error{fmt::format("sketch {} needs a choice for \"{}\"", sketch.name, decision.name)};
    if (!option_of(decision, choice->second))
      return Error{fmt::format("{} = {} is not among the {} options of sketch {}", decision.name,
                               to_text(choice->second), decision.options.size(), sketch.name)};
  }
  if (candidate.choices.size() != sketch.decisions.size())
    return Error{fmt::format("sketch {} has {} decisions, found {} choices", sketch.name, sketch.decisions.size(),
                             candidate.choices.size())};
  for (const Constraint& constraint : sketch.constraints)
    if (const std::optional<std::string> why = constraint.violated(candidate.choices)) return Error{*why};
  if (!sketch.rows.empty() && !part->legal().allows(*part->point(candidate.choices)))
    return Error{fmt::format("sketch {} has no row for these choices", sketch.name)};
  return ok_status();
}

Result<Steps> DesignSpace::steps(const Candidate& candidate) const {
  WHET_TRY(Scheduled scheduled, schedule(candidate));
  return std::move(scheduled.steps);
}

Result<Scheduled> DesignSpace::schedule(const Candidate& candidate) const {
  WHET_RETURN_IF_ERROR(contains(candidate));
  Scheduler scheduler(body_->dag);
  find(candidate.sketch)->sketch.build(scheduler, candidate.choices);
  WHET_TRY(Steps steps, scheduler.finish());
  return Scheduled{std::move(steps), scheduler.tree()};
}

namespace {

/// Random samples from the rules' sketches, to one from a template's: where an expert wrote a large one, and where there
/// is only the one for everything.
constexpr double kShareBesideExperts = 0.25, kShareAlone = 3;

/// The naive schedule, without a decision.
Sketch naive_sketch() {
  return {.name = "naive", .build = [](Scheduler&, const Choices&) {}};
}

/// Nothing where the template does not fit, or its schedules round otherwise than the options permit.
std::optional<Sketch> sketch_of(const Template& known, const ComputeDag& dag, const Target& target,
                                const SpaceOptions& options) {
  if (options.exact && !known.exact) return std::nullopt;
  if (!known.make_rounded) return known.make(dag, target);
  return options.precision == Precision::f32 ? std::nullopt : known.make_rounded(dag, target, options.precision);
}

struct TemplateSketches {
  std::vector<Sketch> sketches;
  bool alone = false;  ///< there is only the one for everything
};

/// The sketch that the estimate takes for the fastest goes to the front.
void put_fastest_first(std::vector<Sketch>& sketches, const ComputeDag& dag, const Target& target) {
  std::vector<double> seconds;
  for (const Sketch& sketch : sketches) {
    Scheduler scheduler(dag);
    sketch.build(scheduler, sketch.preferred);
    seconds.push_back(scheduler.finish().ok() ? analytic_seconds(scheduler.tree(), target)
                                              : std::numeric_limits<double>::infinity());
  }
  const auto fastest = std::min_element(seconds.begin(), seconds.end()) - seconds.begin();
  std::rotate(sketches.begin(), sketches.begin() + fastest, sketches.begin() + fastest + 1);
}

/// Of all templates that fit, and of the rules where `with_rules`: that of the default schedule first. Where estimates rank them
/// and the template for everything is alone, the rules' guesses are ranked beside it.
TemplateSketches fitting_sketches(const SpaceAuthor& author, const ComputeDag& dag, const Target& target,
                                  const SpaceOptions& options, bool with_rules) {
  TemplateSketches fitting;
  for (const Template& known : author.templates()) {
    if (known.last_one && !fitting.sketches.empty()) continue;
    if (std::optional<Sketch> sketch = sketch_of(known, dag, target, options)) {
      fitting.sketches.push_back(std::move(*sketch));
      fitting.alone = known.last_one;
    }
  }
  const bool rank_rules = author.ranked && fitting.alone;
  if (author.ranked && !fitting.alone && fitting.sketches.size() > 1) put_fastest_first(fitting.sketches, dag, target);
  if (!with_rules && !rank_rules) return fitting;
  const double share = fitting.alone ? kShareAlone : kShareBesideExperts * static_cast<double>(fitting.sketches.size());
  for (Sketch& sketch : derive_sketches(dag, target, author.rules(), {.exact = options.exact, .share = share}))
    fitting.sketches.push_back(std::move(sketch));
  if (rank_rules && fitting.sketches.size() > 1) put_fastest_first(fitting.sketches, dag, target);
  return fitting;
}

}  // namespace

bool permits(const SpaceOptions& options, const Numerics& numerics) {
  return (!options.exact || numerics.exact) && allows(options.precision, numerics.precision);
}

std::span<const Rule* const> rules_for(const Target& target) {
  const SpaceAuthor* author = row_of(space_authors(), target);
  if (author == nullptr) return {};
  return author->rules();
}

DesignSpace make_space(const ComputeDag& dag, const Target& target, const SpaceOptions& options) {
  const SpaceAuthor* author = row_of(space_authors(), target);
  if (author == nullptr) return {dag, {naive_sketch()}};
  std::vector<Sketch> sketches = fitting_sketches(*author, dag, target, options, true).sketches;
  if (sketches.empty()) sketches.push_back(naive_sketch());
  return {dag, std::move(sketches)};
}

Result<Steps> default_steps(const ComputeDag& dag, const Target& target, const SpaceOptions& options) {
  const SpaceAuthor* author = row_of(space_authors(), target);
  if (author == nullptr) return Steps();
  const auto steps_of = [&](const Sketch& sketch) {
    Scheduler scheduler(dag);
    sketch.build(scheduler, sketch.preferred);
    return scheduler.finish();
  };
  if (author->ranked) {
    const std::vector<Sketch> sketches = fitting_sketches(*author, dag, target, options, false).sketches;
    return sketches.empty() ? Steps() : steps_of(sketches.front());
  }
  for (const Template& known : author->templates()) {
    const std::optional<Sketch> sketch = sketch_of(known, dag, target, options);
    if (!sketch) continue;
    if (Result<Steps> steps = steps_of(*sketch); steps.ok()) return steps;
  }
  return Steps();
}

Result<Steps> safe_steps(const ComputeDag& dag, const Target& target) {
  const SpaceAuthor* author = row_of(space_authors(), target);
  Scheduler scheduler(dag);
  if (author != nullptr && author->safe != nullptr) author->safe(scheduler);
  return scheduler.finish();
}

}  // namespace whet
