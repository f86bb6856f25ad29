#include "space/legal.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace whet {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 2;

std::int64_t times(std::int64_t a, std::int64_t b) { return b != 0 && a > kMost / b ? kMost : a * b; }

}  // namespace

std::int64_t Legal::options(std::size_t decision) const {
  return static_cast<std::int64_t>(sketch_.decisions[decision].options.size());
}

Legal::Legal(const Sketch& sketch) : sketch_(sketch) {
  sketch.rows.empty() ? connect() : take_rows();
  size_ = {1, 1, true};
  for (Part& part : parts_) {
    for (std::size_t d : part.decisions) part.combinations = times(part.combinations, options(d));
    if (sketch.rows.empty()) {
      part.listed = part.combinations <= kMostListed;
      part.listed ? list(part) : estimate(part);
    }
    size_.legal = times(size_.legal, part.count);
    size_.exact = size_.exact && part.listed;
    grid_ = times(grid_, part.listed ? part.count : part.combinations);
  }
  for (std::size_t d = 0; d < sketch.decisions.size(); ++d) {
    size_.combinations *= static_cast<double>(options(d));
    if (options(d) > 1) open_.push_back(d);
  }
}

void Legal::connect() {
  const std::size_t count = sketch_.decisions.size();
  std::vector<std::size_t> root(count);
  std::iota(root.begin(), root.end(), 0u);
  const auto index = [&](const std::string& name) {
    for (std::size_t d = 0; d < count; ++d)
      if (sketch_.decisions[d].name == name) return d;
    WHET_CHECK(false, "a constraint is over a decision that the sketch lacks");
    return count;
  };
  for (const Constraint& constraint : sketch_.constraints) {
    const std::size_t first = root[index(constraint.over.front())];
    for (const std::string& name : constraint.over) {
      const std::size_t other = root[index(name)];
      std::replace(root.begin(), root.end(), other, first);
    }
  }
  part_of_.resize(count);
  std::vector<std::size_t> part(count, count);
  for (std::size_t d = 0; d < count; ++d) {
    if (part[root[d]] == count) part[root[d]] = parts_.size(), parts_.emplace_back();
    part_of_[d] = part[root[d]];
    parts_[part_of_[d]].decisions.push_back(d);
  }
  for (Part& p : parts_) p.asked.resize(p.decisions.size());
  for (std::size_t c = 0; c < sketch_.constraints.size(); ++c) {
    Part& p = parts_[part_of_[index(sketch_.constraints[c].over.front())]];
    std::size_t last = 0;
    for (const std::string& name : sketch_.constraints[c].over)
      for (std::size_t k = 0; k < p.decisions.size(); ++k)
        if (p.decisions[k] == index(name)) last = std::max(last, k);
    p.asked[last].push_back(c);
  }
}

void Legal::take_rows() {
  Part& part = parts_.emplace_back();
  part.decisions.resize(sketch_.decisions.size());
  std::iota(part.decisions.begin(), part.decisions.end(), 0u);
  part.asked.resize(part.decisions.size());
  part_of_.assign(part.decisions.size(), 0);
  part.listed = true;
  for (const Point& row : sketch_.rows) part.numbers.push_back(number_of(part, row));
  std::ranges::sort(part.numbers);
  part.count = std::ssize(part.numbers);
}

/// Choices for a part, made one after the other; each constraint is asked as soon as all that it looks at is chosen.
class Legal::Trial {
 public:
  Trial(const Legal& legal, const Part& part) : legal_(legal), part_(part) {
    for (std::size_t d : part.decisions) slots_.push_back(&choices_[legal.sketch_.decisions[d].name]);
  }
  /// Choices before the k'th decision of the part are fixed; whether its option `o` breaks nothing.
  bool choose(std::size_t k, std::int64_t o) {
    *slots_[k] = legal_.sketch_.decisions[part_.decisions[k]].options[static_cast<std::size_t>(o)];
    return std::none_of(part_.asked[k].begin(), part_.asked[k].end(),
                        [&](std::size_t c) { return legal_.sketch_.constraints[c].violated(choices_).has_value(); });
  }
  bool choose_all(const Point& point) {
    for (std::size_t k = 0; k < slots_.size(); ++k)
      if (!choose(k, point[part_.decisions[k]])) return false;
    return true;
  }

 private:
  const Legal& legal_;
  const Part& part_;
  Choices choices_;
  std::vector<Choice*> slots_;
};

void Legal::list(Part& part) {
  part.legal.resize(static_cast<std::size_t>(part.combinations));
  Trial trial(*this, part);
  std::function<void(std::size_t, std::int64_t)> descend = [&](std::size_t k, std::int64_t number) {
    if (k == part.decisions.size()) {
      part.legal[static_cast<std::size_t>(number)] = true;
      part.numbers.push_back(number);
      return;
    }
    const std::int64_t count = options(part.decisions[k]);
    for (std::int64_t o = 0; o < count; ++o)
      if (trial.choose(k, o)) descend(k + 1, number * count + o);
  };
  descend(0, 0);
  part.count = static_cast<std::int64_t>(part.numbers.size());
}

void Legal::estimate(Part& part) {
  constexpr int kSamples = 1000;
  Trial trial(*this, part);
  Rng rng(1);
  Point point(sketch_.decisions.size());
  int held = 0;
  for (int i = 0; i < kSamples; ++i) {
    for (std::size_t d : part.decisions) point[d] = static_cast<std::int32_t>(rng.below(options(d)));
    held += trial.choose_all(point);
  }
  part.count =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(part.combinations) * held / kSamples));
}

std::int64_t Legal::number_of(const Part& part, const Point& point) const {
  std::int64_t number = 0;
  for (std::size_t d : part.decisions) number = number * options(d) + point[d];
  return number;
}

void Legal::set(const Part& part, std::int64_t number, Point& point) const {
  for (std::size_t k = part.decisions.size(); k-- > 0;) {
    const std::size_t d = part.decisions[k];
    point[d] = static_cast<std::int32_t>(number % options(d));
    number /= options(d);
  }
}

bool Legal::holds(const Part& part, const Point& point) const { return Trial(*this, part).choose_all(point); }

bool Legal::allows(const Part& part, const Point& point) const {
  if (!part.listed) return holds(part, point);
  const std::int64_t number = number_of(part, point);
  return part.legal.empty() ? std::ranges::binary_search(part.numbers, number)
                            : part.legal[static_cast<std::size_t>(number)];
}

bool Legal::allows(const Point& point) const {
  return std::all_of(parts_.begin(), parts_.end(), [&](const Part& part) { return allows(part, point); });
}

bool Legal::allows_change(const Point& point, std::size_t decision) const {
  return allows(parts_[part_of_[decision]], point);
}

void Legal::draw(const Part& part, Point& point, Rng& rng) const {
  if (part.listed) {
    if (part.count > 0) set(part, part.numbers[static_cast<std::size_t>(rng.below(part.count))], point);
    return;
  }
  const Point before = point;
  Trial trial(*this, part);
  const auto draw_one = [&](std::size_t k) {
    const std::size_t d = part.decisions[k];
    for (int attempt = 0; attempt < 6; ++attempt) {
      point[d] = static_cast<std::int32_t>(rng.below(options(d)));
      if (trial.choose(k, point[d])) return true;
    }
    return false;
  };
  for (int attempt = 0; attempt < 200; ++attempt) {
    std::size_t k = 0;
    while (k < part.decisions.size() && draw_one(k)) ++k;
    if (k == part.decisions.size()) return;
  }
  point = before;
}

Point Legal::sample(Rng& rng) const {
  Point point(sketch_.decisions.size());
  // What cannot be drawn keeps the preferred choice.
  for (std::size_t d = 0; d < point.size(); ++d) {
    const Decision& decision = sketch_.decisions[d];
    const auto found = std::find(decision.options.begin(), decision.options.end(), sketch_.preferred.at(decision.name));
    point[d] = static_cast<std::int32_t>(found == decision.options.end() ? 0 : found - decision.options.begin());
  }
  for (const Part& part : parts_) draw(part, point, rng);
  return point;
}

std::vector<Point> Legal::neighbours(const Point& point) const {
  std::vector<Point> result;
  Point other = point;
  for (std::size_t d = 0; d < point.size(); ++d) {
    for (std::int32_t o = 0; o < options(d); ++o) {
      other[d] = o;
      if (o != point[d] && allows_change(other, d)) result.push_back(other);
    }
    other[d] = point[d];
  }
  return result;
}

std::optional<Point> Legal::mutate(const Point& point, Rng& rng) const {
  if (open_.empty()) return std::nullopt;
  Point other = point;
  for (int attempt = 0; attempt < 24; ++attempt) {
    const std::size_t d = open_[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(open_.size())))];
    const bool near = rng.chance(0.6);
    std::int64_t o = near ? point[d] + (rng.chance(0.5) ? 1 : -1) * rng.between(1, 2) : rng.below(options(d));
    if (o < 0 || o >= options(d) || o == point[d]) continue;
    other[d] = static_cast<std::int32_t>(o);
    if (allows_change(other, d)) return other;
    other[d] = point[d];
  }
  const std::vector<Point> all = neighbours(point);
  if (all.empty()) return std::nullopt;
  return all[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(all.size())))];
}

bool Legal::bring_near(const Part& part, const std::vector<std::vector<double>>& cost, Point& point, Rng& rng) const {
  if (allows(part, point)) return true;
  double least = std::numeric_limits<double>::infinity();
  int ties = 0;
  Point best = point;
  const auto offer = [&](const Point& other, double distance) {
    if (distance > least + 1e-9) return;
    ties = distance < least - 1e-9 ? 1 : ties + 1;
    if (ties > 1 && rng.below(ties) != 0) return;
    least = std::min(least, distance), best = other;
  };
  if (part.listed) {
    Point other = point;
    for (std::int64_t number : part.numbers) {
      set(part, number, other);
      double distance = 0;
      for (std::size_t d : part.decisions) distance += cost[d][static_cast<std::size_t>(other[d])];
      offer(other, distance);
    }
  } else {
    Point other = point;
    for (int attempt = 0; attempt < 200; ++attempt) {
      for (std::size_t d : part.decisions) other[d] = point[d];
      // First one decision at a time, then more and more of them.
      for (int changes = 1 + attempt / 40; changes > 0; --changes) {
        const std::size_t d =
            part.decisions[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(part.decisions.size())))];
        other[d] = static_cast<std::int32_t>(rng.below(options(d)));
      }
      double distance = 0;
      for (std::size_t d : part.decisions) distance += cost[d][static_cast<std::size_t>(other[d])];
      if (distance < least && holds(part, other)) offer(other, distance);
    }
  }
  point = best;
  return least < std::numeric_limits<double>::infinity();
}

std::optional<Point> Legal::nearest(const std::vector<std::vector<double>>& cost, Rng& rng) const {
  Point point(sketch_.decisions.size());
  for (std::size_t d = 0; d < point.size(); ++d)
    point[d] = static_cast<std::int32_t>(std::min_element(cost[d].begin(), cost[d].end()) - cost[d].begin());
  for (const Part& part : parts_)
    if (!bring_near(part, cost, point, rng)) return std::nullopt;
  return point;
}

std::optional<Point> Legal::at(std::int64_t number) const {
  if (number < 0 || number >= grid_) return std::nullopt;
  Point point(sketch_.decisions.size());
  for (std::size_t k = parts_.size(); k-- > 0;) {
    const Part& part = parts_[k];
    const std::int64_t size = part.listed ? part.count : part.combinations;
    const std::int64_t own = number % size;
    number /= size;
    set(part, part.listed ? part.numbers[static_cast<std::size_t>(own)] : own, point);
    if (!part.listed && !holds(part, point)) return std::nullopt;
  }
  return point;
}

}  // namespace whet
