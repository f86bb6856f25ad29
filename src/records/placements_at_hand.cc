#include "records/placements_at_hand.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace whet {
namespace {

/// Two of them are of two placements. Mostly none are, and then there is nothing to tell apart.
bool have_moved(const std::vector<const Record*>& records) {
  ProcessorPlacement nearest{std::numeric_limits<double>::infinity()}, farthest;
  for (const Record* r : records) {
    const double ns = r->outcome.placement.round_trip_ns;
    if (ns <= 0) continue;
    nearest.round_trip_ns = std::min(nearest.round_trip_ns, ns);
    farthest.round_trip_ns = std::max(farthest.round_trip_ns, ns);
  }
  return differ(nearest, farthest);
}

}  // namespace

PlacementsAtHand::PlacementsAtHand(const std::vector<const Record*>& records) {
  if (!have_moved(records)) return;
  std::set<std::string_view> wrong;  // they never rank, wherever their answers were wrong
  for (const Record* r : records)
    if (r->outcome.code == OutcomeCode::wrong_answer) wrong.insert(r->steps);
  for (std::size_t line = 0; line < records.size(); ++line)
    if (!wrong.contains(records[line]->steps)) kinds_[kind_of(*records[line])].take(*records[line], line);
}

bool PlacementsAtHand::is_elsewhere(const Record& r) const {
  if (kinds_.empty() || !r.outcome.placement.is_known()) return false;
  const auto kind = kinds_.find(kind_of(r));
  return kind != kinds_.end() && kind->second.number_of(r.outcome.placement) != kind->second.at_hand;
}

PlacementsAtHand::Kind PlacementsAtHand::kind_of(const Record& r) {
  return {r.target, r.within, r.codegen, r.outcome.cache, r.outcome.emulated()};
}

std::size_t PlacementsAtHand::Comparable::number_of(const ProcessorPlacement& placement) const {
  const auto found =
      std::ranges::find_if(placements, [&](const Placed& each) { return !differ(each.placement, placement); });
  return static_cast<std::size_t>(found - placements.begin());
}

void PlacementsAtHand::Comparable::take(const Record& r, std::size_t line) {
  if (r.outcome.placement.is_known()) {
    last_line = number_of(r.outcome.placement);
    if (last_line == placements.size()) {
      placements.push_back(everywhere);
      placements.back().placement = r.outcome.placement;
    }
    placements[last_line].take(r, line);
  } else {
    everywhere.take(r, line);
    for (Placed& each : placements) each.take(r, line);
  }
  if (last_line != at_hand && placements[last_line].has_first_of(placements[at_hand])) at_hand = last_line;
}

void PlacementsAtHand::Placed::take(const Record& r, std::size_t line) {
  const auto rounding = [](const Record& of) { return Rounding(of.numerics.exact, of.numerics.precision); };
  if (const auto before = last.find(r.steps); before != last.end()) {
    by_rounding[rounding(*std::get<const Record*>(before->second))].erase(before->second);
    last.erase(before);
  }
  if (!std::isfinite(r.outcome.best_seconds())) return;
  const Figure figure(r.ranked_seconds(), r.ranks_as == 0, line, &r);
  last.emplace(r.steps, figure);
  by_rounding[rounding(r)].insert(figure);
}

bool PlacementsAtHand::Placed::has_first_of(const Placed& other) const {
  const auto is_here = [&](const auto& each) {
    return !each.second.empty() && last.contains(std::get<const Record*>(*each.second.begin())->steps);
  };
  return other.last.empty() || std::ranges::any_of(other.by_rounding, is_here);
}

}  // namespace whet
