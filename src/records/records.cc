#include "records/records.h"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <set>
#include <tuple>
#include <unordered_set>

#include "artifact/code_format.h"
#include "records/placements_at_hand.h"
#include "records/record_line.h"

namespace whet {
namespace {

int cache_rank(const std::string& cache) { return cache == "network" ? 0 : cache == "warm" ? 1 : 2; }

/// How far a record's target is from the one wanted, and which of two usable records goes first: smaller is better.
using Rank = std::tuple<bool, TargetDistance, bool, int, int, int, bool, double, bool>;

int within_rank(const Shape& has, const Shape& want) { return has == want ? 0 : has.empty() ? 1 : 2; }

Rank rank(const Record& r, const TargetDistance& distance, bool other_device, bool elsewhere, const Shape& within) {
  return {r.outcome.emulated(),          distance,  other_device,       -r.codegen,     cache_rank(r.outcome.cache),
          within_rank(r.within, within), elsewhere, r.ranked_seconds(), r.ranks_as == 0};
}

bool is_of_gpu(const Record& r) { return r.target.text().starts_with("cuda"); }

/// Whether two records measured the same: what was measured again counts with its last line.
struct SameFigure {
  static std::string_view device(const Record& r) { return is_of_gpu(r) ? std::string_view(r.outcome.device) : ""; }
  bool operator()(const Record* a, const Record* b) const {
    return a->steps == b->steps && a->codegen == b->codegen && a->target == b->target &&
           a->outcome.cache == b->outcome.cache && a->within == b->within && a->inputs == b->inputs &&
           device(*a) == device(*b);
  }
};
/// Nearly all figures of a task differ in their steps.
struct HashOfSteps {
  std::size_t operator()(const Record* r) const { return std::hash<std::string_view>()(r->steps); }
};

std::string place_text(const Shape& within) { return within.empty() ? "a whole" : "a part of " + to_string(within); }

/// `device`: where the record should be from, "" where that is so.
std::string difference(const Record& r, const Target& has, const Target& want, const std::string& device,
                       const Shape& within) {
  std::vector<std::string> found = target_differences(has, want);
  if (!device.empty()) found.push_back("timed on " + r.outcome.device + ", not on " + device);
  const int now = codegen_version(code_format(want));
  if (r.codegen != now)
    found.push_back("timed with code generator " + std::to_string(r.codegen) + ", now " + std::to_string(now));
  if (r.within != within) found.push_back("timed as " + place_text(r.within) + ", not as " + place_text(within));
  std::string text;
  for (const std::string& part : found) text += (text.empty() ? "" : ", ") + part;
  return text;
}

}  // namespace

Records::Records(std::vector<Record> records) {
  for (auto& record : records) add(std::move(record));
}

const Record& Records::add(Record&& record) {
  std::pmr::deque<Record>& records = kept_->records;
  auto place = by_key_.find(std::string_view(record.key));  // most are written as they are kept
  if (place == by_key_.end()) {
    bool is_new;
    std::tie(place, is_new) = by_key_.try_emplace(canonical_key(record.key));
    if (is_new) keys_.push_back(place->first);
  }
  if (!found_->usable.empty()) found_->usable.erase(place->first);  // also where nothing had been found yet
  place->second.push_back(records.size());
  if (records.empty() || records.back().target != record.target)
    if (const auto [target, unknown] = targets_.try_emplace(record.target); unknown)
      if (auto parsed = parse_target(record.target); parsed.ok()) target->second = std::move(*parsed);
  return records.emplace_back(std::move(record));
}

std::vector<const Record*> Records::of(std::string_view key) const {
  std::vector<const Record*> found;
  const auto counts = [&](const Record& r) {
    return emulated_ == EmulatedRecords::too || r.outcome.emulated() == (emulated_ == EmulatedRecords::alone);
  };
  if (auto it = by_key_.find(canonical_key(key)); it != by_key_.end())
    for (auto i : it->second)
      if (counts(kept_->records[i]) && counts_inputs(it->first, kept_->records[i])) found.push_back(&kept_->records[i]);
  return found;
}

void Records::count_inputs(std::optional<InputHashes> hashes) {
  inputs_.reset();
  if (hashes) {
    inputs_.emplace();
    for (auto& [key, hash] : *hashes) inputs_->emplace(canonical_key(key), std::move(hash));
  }
  found_->usable.clear();
}

bool Records::counts_inputs(const std::string& key, const Record& record) const {
  if (!inputs_) return true;
  const auto own = inputs_->find(key);
  return own == inputs_->end() ? record.inputs.empty() : record.inputs == own->second;
}

std::vector<std::string> Records::other_inputs(const std::vector<std::string>& keys) const {
  std::set<std::string> hashes;
  for (const std::string& key : keys)
    if (const auto it = by_key_.find(canonical_key(key)); it != by_key_.end())
      for (const std::size_t i : it->second)
        if (!counts_inputs(it->first, kept_->records[i])) hashes.insert(kept_->records[i].inputs.text());
  return {hashes.begin(), hashes.end()};
}

bool Records::is_of_other_device(const Record& r) const {
  return !device_.empty() && is_of_gpu(r) && without_number(r.outcome.device) != without_number(device_);
}

std::shared_ptr<const Records::List> Records::usable(std::string_view key, const Shape& within) const {
  const std::string canonical = canonical_key(key);
  {
    const std::lock_guard lock(found_->mutex);
    if (const std::shared_ptr<const List>& list = found_->usable[canonical][within]) return list;
  }
  auto found = std::make_shared<const List>(find_usable(canonical, within));  // of other tasks meanwhile by others
  const std::lock_guard lock(found_->mutex);
  return found_->usable[canonical][within] = std::move(found);
}

/// Those with a time that counts.
Records::List Records::find_usable(const std::string& key, const Shape& within) const {
  const auto candidates = of(key);
  std::set<std::string_view> wrong;
  std::set<std::pair<std::string_view, std::string_view>> failed;  // schedules and targets, as this very part
  // A schedule that was measured again (a winner is, alternately with the schedule to beat) counts with its last figure,
  // and falls when it failed.
  std::unordered_set<const Record*, HashOfSteps, SameFigure> later(candidates.size());
  const PlacementsAtHand at_hand(candidates);
  std::vector<const Record*> elsewhere;
  List usable;
  for (auto at = candidates.rbegin(); at != candidates.rend(); ++at) {
    const Record* r = *at;
    if (r->outcome.code == OutcomeCode::wrong_answer) wrong.insert(r->steps);
    if (at_hand.is_elsewhere(*r)) {
      elsewhere.push_back(r);
      continue;
    }
    if (!later.insert(r).second) continue;
    if (r->within == within && !r->outcome.ok()) failed.insert({r->steps, r->target});
    if (std::isfinite(r->outcome.best_seconds())) usable.push_back({r, false});
  }
  for (const Record* r : elsewhere)
    if (later.insert(r).second && std::isfinite(r->outcome.best_seconds())) usable.push_back({r, true});
  std::reverse(usable.begin(), usable.end());
  std::erase_if(usable, [&](const Usable& each) {
    const Record& r = *each.record;
    return wrong.contains(r.steps) || (r.within != within && failed.contains({r.steps, r.target}));
  });
  return usable;
}

namespace {

/// The target has the unit that the schedule's products are marked for. Without it they are plain loops, which are slow.
bool has_unit(const Target& target, std::string_view steps) {
  if (!target.is_cpu()) return true;
  const auto may = [&](bool has, Intrinsic intrinsic) {
    return has || steps.find(name_of(intrinsic)) == std::string_view::npos;
  };
  return may(target.cpu().bf16_tiles, Intrinsic::tile_bf16) && may(target.cpu().byte_tiles, Intrinsic::tile_u8);
}

}  // namespace

std::vector<const Record*> Records::ranking(std::string_view key, const Shape& within, const Target& target) const {
  List list = *usable(key, within);
  std::erase_if(list, [this, &target, text = to_string(target)](const Usable& each) {
    return each.record->target != text || is_of_other_device(*each.record) || !has_unit(target, each.record->steps);
  });
  const auto own = [&](const Usable& each) {
    return rank(*each.record, TargetDistance{}, false, each.elsewhere, within);
  };
  std::ranges::stable_sort(list, [&](const Usable& a, const Usable& b) { return own(a) < own(b); });
  std::vector<const Record*> records;
  for (const Usable& each : list) records.push_back(each.record);
  return records;
}

std::optional<RecordChoice> Records::best(std::string_view key, const Shape& within, const Target& target,
                                          const std::function<bool(const Record&)>& accepted) const {
  const Record* best = nullptr;
  const Target* best_target = nullptr;
  TargetDistance best_distance;
  Rank best_rank;
  const SharedText* text = nullptr;  // of the target of the record before: mostly there is one
  const std::optional<Target>* has = nullptr;
  std::optional<TargetDistance> distance;
  const std::shared_ptr<const List> list = usable(key, within);
  for (const auto& [r, elsewhere] : *list) {
    if (text == nullptr || *text != r->target) {
      text = &r->target;
      has = &targets_.at(*text);
      distance = *has ? target_distance(**has, target) : std::nullopt;
    }
    if (!distance || !has_unit(target, r->steps)) continue;
    const Rank own = rank(*r, *distance, is_of_other_device(*r), elsewhere, within);
    if (best && !(own < best_rank)) continue;
    if (!accepted || accepted(*r)) best = r, best_target = &**has, best_distance = *distance, best_rank = own;
  }
  if (!best) return std::nullopt;
  const bool other = is_of_other_device(*best);
  return RecordChoice{best, best_distance.none() && !other,
                      difference(*best, *best_target, target, other ? device_ : "", within)};
}

namespace {

template <typename Is>
const Plan* last_plan(const std::vector<Plan>& plans, std::string_view graph, std::string_view target, const Is& is) {
  for (auto plan = plans.rbegin(); plan != plans.rend(); ++plan)
    if (plan->graph == graph && plan->target == target && is(*plan)) return &*plan;
  return nullptr;
}

}  // namespace

const Plan* Records::plan_for(std::string_view graph, std::string_view target) const {
  return last_plan(plans_, graph, target, [](const Plan& plan) { return !plan.precision; });
}

const Plan* Records::lowered_plan_for(std::string_view graph, std::string_view target, std::string_view uniform) const {
  return last_plan(plans_, graph, target,
                   [&](const Plan& plan) { return plan.precision && plan.precision->uniform == uniform; });
}

const Plan* Records::last_lowered_plan_for(std::string_view graph, std::string_view target) const {
  return last_plan(plans_, graph, target, [](const Plan& plan) { return plan.precision.has_value(); });
}

const RangesOnSamples* Records::ranges_on_samples(std::string_view graph, std::string_view weights,
                                                  std::string_view samples, std::string_view target) const {
  for (const RangesOnSamples& each : values_ | std::views::reverse)
    if (each.graph == graph && each.weights == weights && each.samples == samples && each.target == target)
      return &each;
  return nullptr;
}

std::vector<const RangedRecord*> Records::ranged_of(std::string_view range, const Target& target) const {
  std::vector<const RangedRecord*> found;
  const std::string text = to_string(target);
  const bool alone = emulated_ == EmulatedRecords::alone;
  for (const RangedRecord& each : ranged_)
    if (each.range == range && each.record.target == text &&
        (emulated_ == EmulatedRecords::too || each.record.outcome.emulated() == alone))
      found.push_back(&each);
  const auto figure = [](const RangedRecord* r) {
    return std::pair(-r->record.codegen, cache_rank(r->record.outcome.cache));
  };
  const auto first = std::ranges::min_element(found, {}, figure);
  if (first == found.end()) return found;
  std::erase_if(found, [&, best = figure(*first)](const RangedRecord* r) { return figure(r) != best; });
  ProcessorPlacement at_hand;
  for (const RangedRecord* each : found)
    if (each->record.outcome.placement.is_known()) at_hand = each->record.outcome.placement;
  std::erase_if(found, [&](const RangedRecord* r) { return differ(r->record.outcome.placement, at_hand); });
  std::set<std::tuple<std::string_view, std::vector<std::int64_t>, std::vector<std::int64_t>>> later;
  std::vector<const RangedRecord*> last;
  for (const RangedRecord* each : found | std::views::reverse)
    if (later.insert({each->record.steps, each->from, each->at}).second) last.push_back(each);
  std::ranges::reverse(last);
  return last;
}

const NetworkAtSizes* Records::network_at_sizes(std::string_view graph, std::string_view ranges,
                                                std::string_view target) const {
  for (const NetworkAtSizes& each : networks_ | std::views::reverse)
    if (each.graph == graph && each.ranges == ranges && each.target == target) return &each;
  return nullptr;
}

}  // namespace whet
