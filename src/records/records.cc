#include "records/records.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "artifact/code_format.h"
#include "records/record_line.h"

namespace whet {
namespace {

bool same_isa(const Target& a, const Target& b) {
  return a.kind == b.kind && a.mcpu == b.mcpu &&
         std::multiset<std::string>(a.mattr.begin(), a.mattr.end()) ==
             std::multiset<std::string>(b.mattr.begin(), b.mattr.end());
}

int cache_rank(const std::string& cache) { return cache == "network" ? 0 : cache == "warm" ? 1 : 2; }

/// How far a record's target is from the one wanted, and which of two usable records goes first: smaller is better.
using Rank = std::tuple<bool, bool, double, int, int, int, double, bool>;

int within_rank(const Shape& has, const Shape& want) { return has == want ? 0 : has.empty() ? 1 : 2; }

Rank rank(const Record& r, const Target& has, const Target& want, const Shape& within) {
  const double threads = std::fabs(std::log(static_cast<double>(std::max(1, has.threads)) / std::max(1, want.threads)));
  return {!same_isa(has, want),          has.cores != want.cores, threads,        -r.codegen, cache_rank(r.cache),
          within_rank(r.within, within), r.ranked_seconds(),      r.ranks_as == 0};
}

/// What a measured time belongs to.
using FigureKey = std::tuple<std::string_view, std::string_view, std::string_view, int, Shape>;
FigureKey figure_key(const Record& r) { return {r.steps, r.target, r.cache, r.codegen, r.within}; }

std::string isa_text(const Target& t) {
  std::string text = t.mcpu;
  for (const auto& feature : t.mattr) text += " " + feature;
  return text;
}
const char* cores_text(CoreKind kind) { return kind == CoreKind::big ? "big" : "little"; }

std::string place_text(const Shape& within) { return within.empty() ? "a whole" : "a part of " + to_string(within); }

std::string difference(const Record& r, const Target& has, const Target& want, const Shape& within) {
  std::string text;
  const auto say = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (!same_isa(has, want)) say("measured on " + isa_text(has) + ", not " + isa_text(want));
  if (has.cores != want.cores)
    say("measured on " + std::string(cores_text(has.cores)) + " cores, not " + cores_text(want.cores));
  if (has.threads != want.threads)
    say("tuned for " + std::to_string(has.threads) + " threads, not " + std::to_string(want.threads));
  const int now = codegen_version(code_format(want));
  if (r.codegen != now) say("timed with code generator " + std::to_string(r.codegen) + ", now " + std::to_string(now));
  if (r.within != within) say("timed as " + place_text(r.within) + ", not as " + place_text(within));
  return text;
}

}  // namespace

Records::Records(std::vector<Record> records) {
  for (auto& record : records) add(std::move(record));
}

const Record& Records::add(Record record) {
  const auto [place, fresh] = by_key_.try_emplace(canonical_key(record.key));
  if (fresh) keys_.push_back(place->first);
  place->second.push_back(records_.size());
  if (const auto [target, unknown] = targets_.try_emplace(record.target); unknown)
    if (auto parsed = parse_target(record.target); parsed.ok()) target->second = std::move(*parsed);
  return records_.emplace_back(std::move(record));
}

std::vector<const Record*> Records::of(std::string_view key) const {
  std::vector<const Record*> found;
  if (auto it = by_key_.find(canonical_key(key)); it != by_key_.end())
    for (auto i : it->second) found.push_back(&records_[i]);
  return found;
}

/// Those with a time that counts.
std::vector<const Record*> Records::usable(std::string_view key, const Shape& within) const {
  auto candidates = of(key);
  std::set<std::string_view> wrong;
  std::set<std::pair<std::string_view, std::string_view>> failed;  // schedules and targets, as this very part
  // A schedule that was measured again (a winner is, in turn with the schedule to beat) stands by its last figure, and
  // falls when it failed.
  std::map<FigureKey, const Record*> last;
  for (const Record* r : candidates) {
    if (r->outcome.code == OutcomeCode::wrong_answer) wrong.insert(r->steps);
    last[figure_key(*r)] = r;
  }
  for (const auto& [figure, r] : last)
    if (r->within == within && !r->outcome.ok()) failed.insert({r->steps, r->target});
  std::erase_if(candidates, [&](const Record* r) {
    return !std::isfinite(r->outcome.best_seconds()) || wrong.count(r->steps) || last[figure_key(*r)] != r ||
           (r->within != within && failed.contains({r->steps, r->target}));
  });
  return candidates;
}

std::vector<const Record*> Records::ranking(std::string_view key, const Shape& within, const Target& target) const {
  std::vector<const Record*> list = usable(key, within);
  std::erase_if(list, [text = to_string(target)](const Record* r) { return r->target != text; });
  std::stable_sort(list.begin(), list.end(), [&](const Record* a, const Record* b) {
    return rank(*a, target, target, within) < rank(*b, target, target, within);
  });
  return list;
}

std::optional<RecordChoice> Records::best(std::string_view key, const Shape& within, const Target& target,
                                          const std::function<bool(const Record&)>& accepted) const {
  const Record* best = nullptr;
  const Target* best_target = nullptr;
  for (const Record* r : usable(key, within)) {
    if (accepted && !accepted(*r)) continue;
    const std::optional<Target>& has = targets_.at(r->target);
    if (!has || has->kind != target.kind || has->vector_bytes != target.vector_bytes) continue;
    if (!best || rank(*r, *has, target, within) < rank(*best, *best_target, target, within))
      best = r, best_target = &*has;
  }
  if (!best) return std::nullopt;
  const bool exact =
      same_isa(*best_target, target) && best_target->cores == target.cores && best_target->threads == target.threads;
  return RecordChoice{best, exact, difference(*best, *best_target, target, within)};
}

}  // namespace whet
