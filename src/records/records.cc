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
using Rank = std::tuple<bool, bool, double, int, int, double, bool>;

Rank rank(const Record& r, const Target& has, const Target& want) {
  const double threads = std::fabs(std::log(static_cast<double>(std::max(1, has.threads)) / std::max(1, want.threads)));
  return {!same_isa(has, want), has.cores != want.cores, threads,        -r.codegen,
          cache_rank(r.cache),  r.ranked_seconds(),      r.ranks_as == 0};
}

/// What a measured time belongs to.
std::tuple<std::string_view, std::string_view, std::string_view, int> figure_key(const Record& r) {
  return {r.steps, r.target, r.cache, r.codegen};
}

std::string isa_text(const Target& t) {
  std::string text = t.mcpu;
  for (const auto& feature : t.mattr) text += " " + feature;
  return text;
}
const char* cores_text(CoreKind kind) { return kind == CoreKind::big ? "big" : "little"; }

std::string difference(const Record& r, const Target& has, const Target& want) {
  std::string text;
  const auto say = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (!same_isa(has, want)) say("measured on " + isa_text(has) + ", not " + isa_text(want));
  if (has.cores != want.cores)
    say("measured on " + std::string(cores_text(has.cores)) + " cores, not " + cores_text(want.cores));
  if (has.threads != want.threads)
    say("tuned for " + std::to_string(has.threads) + " threads, not " + std::to_string(want.threads));
  const int now = codegen_version(code_format(want));
  if (r.codegen != now) say("timed with code generator " + std::to_string(r.codegen) + ", now " + std::to_string(now));
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
  return records_.emplace_back(std::move(record));
}

std::vector<const Record*> Records::of(std::string_view key) const {
  std::vector<const Record*> found;
  if (auto it = by_key_.find(canonical_key(key)); it != by_key_.end())
    for (auto i : it->second) found.push_back(&records_[i]);
  return found;
}

const Target* Records::target_of(const std::string& text) const {
  auto [it, fresh] = targets_.try_emplace(text);
  if (fresh)
    if (auto parsed = parse_target(text); parsed.ok()) it->second = std::move(*parsed);
  return it->second ? &*it->second : nullptr;
}

/// Those with a time that counts.
std::vector<const Record*> Records::usable(std::string_view key) const {
  auto candidates = of(key);
  std::set<std::string_view> wrong;
  // A schedule that was measured again (a winner is, in turn with the schedule to beat) stands by its last figure, and
  // falls when it failed.
  std::map<std::tuple<std::string_view, std::string_view, std::string_view, int>, const Record*> last;
  for (const Record* r : candidates) {
    if (r->outcome.code == OutcomeCode::wrong_answer) wrong.insert(r->steps);
    last[figure_key(*r)] = r;
  }
  std::erase_if(candidates, [&](const Record* r) {
    return !std::isfinite(r->outcome.best_seconds()) || wrong.count(r->steps) || last[figure_key(*r)] != r;
  });
  return candidates;
}

std::vector<const Record*> Records::ranking(std::string_view key, const Target& target) const {
  std::vector<const Record*> list = usable(key);
  std::erase_if(list, [text = to_string(target)](const Record* r) { return r->target != text; });
  std::stable_sort(list.begin(), list.end(), [&](const Record* a, const Record* b) {
    return rank(*a, target, target) < rank(*b, target, target);
  });
  return list;
}

std::optional<RecordChoice> Records::best(std::string_view key, const Target& target,
                                          const std::function<bool(const Record&)>& accepted) const {
  const Record* best = nullptr;
  const Target* best_target = nullptr;
  for (const Record* r : usable(key)) {
    if (accepted && !accepted(*r)) continue;
    const Target* has = target_of(r->target);
    if (!has || has->kind != target.kind || has->vector_bytes != target.vector_bytes) continue;
    if (!best || rank(*r, *has, target) < rank(*best, *best_target, target)) best = r, best_target = has;
  }
  if (!best) return std::nullopt;
  const bool exact =
      same_isa(*best_target, target) && best_target->cores == target.cores && best_target->threads == target.threads;
  return RecordChoice{best, exact, difference(*best, *best_target, target)};
}

}  // namespace whet
