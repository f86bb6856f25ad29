#include "records/record_base.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "artifact/code_format.h"
#include "artifact/kernel.h"
#include "base/check.h"
#include "base/counted.h"
#include "records/base_line.h"
#include "records/record_line.h"

namespace whet {
namespace {

/// Of the lines that were skipped, those that notes name.
constexpr int kMostNamed = 3;

/// The network of an origin that is called "resnet50" or "resnet50 batch 8".
std::string_view without_batch(std::string_view origin) { return origin.substr(0, origin.find(" batch ")); }

/// Processors whose schedules another one may take unmeasured: bench/base/run on `runs` with the base that `taught` made took no
/// network longer than 1.03 x its default schedules (docs/decisions/record-base.md).
struct MeasuredPair {
  std::string_view taught, runs;
};
constexpr MeasuredPair kMeasuredPairs[] = {{"icelake-client", "sapphirerapids"}};

bool serves(const CpuTarget& taught, const CpuTarget& runs) {
  const auto is_pair = [&](const MeasuredPair& pair) { return pair.taught == taught.mcpu && pair.runs == runs.mcpu; };
  return taught.mattr == runs.mattr && (taught.mcpu == runs.mcpu || std::ranges::any_of(kMeasuredPairs, is_pair));
}

/// What an origin adds to the distance of its entries.
struct Origin {
  double distance = 0;
  bool own = true;
};
/// Nothing where its entries are of no use.
std::optional<Origin> seen_from(const Target& want, const BaseOrigin& origin, const std::optional<Target>& has) {
  if (!has) return std::nullopt;
  const std::optional<TargetDistance> found = target_distance(*has, want);
  if (!found) return std::nullopt;
  const auto& [isa, kind, threads] = found->differences;
  const bool other = origin.foreign || (has->is_cpu() ? !serves(has->cpu(), want.cpu()) : isa > 0);
  const bool older = origin.codegen != codegen_version(code_format(want));
  return Origin{(other ? 1 : 0) + (kind > 0 ? 1 : 0) + (older ? 1 : 0) + 0.5 * threads / std::log(2.0),
                kind == 0 && threads == 0 && !other && !older};
}

}  // namespace

RecordBase::RecordBase(std::string name, std::string made, std::vector<BaseOrigin> origins, std::vector<BaseTask> tasks)
    : name_(std::move(name)), made_(std::move(made)) {
  const std::vector<std::size_t> places = add_origins(std::move(origins));
  for (BaseTask& task : tasks)
    for (BaseEntry& entry : task.entries) {
      WHET_CHECK(entry.origin < places.size(), "an entry of a base has no origin");
      entry.origin = places[entry.origin];
    }
  const auto same = [](const BaseTask& task) { return std::tie(task.anchor, task.over_parts); };
  std::ranges::stable_sort(tasks, {}, same);
  for (BaseTask& task : tasks) {
    if (tasks_.empty() || same(tasks_.back()) != same(task))
      tasks_.push_back(std::move(task));
    else
      std::ranges::move(task.entries, std::back_inserter(tasks_.back().entries));
  }
  const auto order = [](const BaseEntry& entry) {
    return std::tuple<std::size_t, double, const Candidate&, const std::map<std::string, std::int64_t>&>(
        entry.origin, -entry.gain, entry.candidate, entry.extents);
  };
  for (BaseTask& task : tasks_) {
    std::ranges::sort(task.entries, {}, order);
    const auto equal = std::ranges::unique(task.entries);
    task.entries.erase(equal.begin(), equal.end());
  }
}

std::vector<std::size_t> RecordBase::add_origins(std::vector<BaseOrigin> origins) {
  std::vector<std::size_t> places;
  std::map<BaseOrigin, std::size_t> known;
  for (BaseOrigin& origin : origins) {
    const auto [there, is_new] = known.try_emplace(origin, origins_.size());
    places.push_back(there->second);
    if (!is_new) continue;
    Result<Target> target = parse_target(origin.target);
    targets_.push_back(target.ok() ? std::optional(std::move(*target)) : std::nullopt);
    origins_.push_back(std::move(origin));
  }
  return places;
}

std::string RecordBase::name() const {
  if (name_.empty()) return "";
  std::set<std::string_view> networks;
  for (const BaseOrigin& origin : origins_) networks.insert(without_batch(origin.network));
  return name_ + " " + made_ + " (" + counted(static_cast<std::int64_t>(networks.size()), "network") + ")";
}

RecordBase RecordBase::unusable(std::string note) {
  RecordBase base;
  base.notes_.push_back(std::move(note));
  return base;
}

std::string RecordBase::text() const {
  std::string text = to_line(BaseHead{name_, made_, origins_}) + "\n";
  for (const BaseTask& task : tasks_) text += to_line(task) + "\n";
  return text;
}

RecordBase RecordBase::joined(const std::vector<const RecordBase*>& bases) {
  std::string name, made;
  std::vector<BaseOrigin> origins;
  std::vector<BaseTask> tasks;
  std::vector<std::string> notes;
  for (const RecordBase* base : bases) {
    if (name.empty()) name = base->name_;
    made = std::max(made, base->made_);
    for (BaseTask task : base->tasks_) {
      for (BaseEntry& entry : task.entries) entry.origin += origins.size();
      tasks.push_back(std::move(task));
    }
    origins.insert(origins.end(), base->origins_.begin(), base->origins_.end());
    notes.insert(notes.end(), base->notes_.begin(), base->notes_.end());
  }
  RecordBase base(std::move(name), std::move(made), std::move(origins), std::move(tasks));
  base.notes_ = std::move(notes);
  return base;
}

RecordBase RecordBase::without(std::string_view network) const {
  const auto leaves_out = [&](const BaseOrigin& origin) {
    return origin.network == network || without_batch(origin.network) == network;
  };
  std::vector<BaseOrigin> origins;
  std::vector<std::optional<std::size_t>> places;
  for (const BaseOrigin& origin : origins_) {
    places.push_back(leaves_out(origin) ? std::nullopt : std::optional(origins.size()));
    if (places.back()) origins.push_back(origin);
  }
  std::vector<BaseTask> tasks;
  for (BaseTask task : tasks_) {
    std::erase_if(task.entries, [&](const BaseEntry& entry) { return !places[entry.origin]; });
    for (BaseEntry& entry : task.entries) entry.origin = *places[entry.origin];
    if (!task.entries.empty()) tasks.push_back(std::move(task));
  }
  return {name_, made_, std::move(origins), std::move(tasks)};
}

namespace {

/// Reads the lines of a base one by one.
class BaseText {
 public:
  explicit BaseText(const std::string& what) : what_(what) {}

  std::string name, made;
  std::vector<BaseOrigin> origins;
  std::vector<BaseTask> tasks;
  std::vector<std::string> notes;

  Status line(std::string_view text) {
    ++number_;
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    if (text.find_first_not_of(" \t\r") == text.npos) return ok_status();
    if (!json_.parse(text).ok() || !json_.root().is_object()) return skip("is no JSON object"), ok_status();
    const JsonView line = json_.root();
    if (!is_of_base(line)) return ok_status();  // a record, say
    const std::int64_t version = line["v"].integer_or(0);
    if (version > kRecordVersion && line.has("base"))
      return Error{what_ + ": is of base format " + std::to_string(version) + "; this whet reads " +
                   std::to_string(kRecordVersion) + "; default schedules are used"};
    if (version < kBaseVersion || version > kRecordVersion) return skip("is of another version"), ok_status();
    auto parsed = base_line_of(line);
    if (auto* head = std::get_if<BaseHead>(&parsed)) return add(std::move(*head)), ok_status();
    if (auto* task = std::get_if<BaseTask>(&parsed)) return add(std::move(*task)), ok_status();
    const std::string& why = std::get<std::string>(parsed);
    if (line.has("base")) return Error{what_ + ": line " + std::to_string(number_) + ", the head of a base, " + why};
    return skip(why), ok_status();
  }
  Status finish() {
    if (!has_head_) return Error{what_ + ": holds no record base"};
    if (skipped_ > kMostNamed) notes.push_back(what_ + ": " + counted(skipped_ - kMostNamed, "more line") + " skipped");
    return ok_status();
  }

 private:
  /// The origins of the tasks behind a head are those of that head: files may be put one behind the other.
  void add(BaseHead head) {
    if (!has_head_) name = std::move(head.name);
    made = std::max(made, head.made);
    first_ = origins.size();
    origins.insert(origins.end(), head.origins.begin(), head.origins.end());
    has_head_ = true;
  }
  void add(BaseTask task) {
    for (BaseEntry& entry : task.entries) {
      entry.origin += first_;
      if (entry.origin >= origins.size()) return skip("names an origin that the base does not have");
    }
    tasks.push_back(std::move(task));
  }
  void skip(const std::string& why) {
    if (++skipped_ <= kMostNamed)
      notes.push_back(what_ + ": line " + std::to_string(number_) + " " + why + "; skipped");
  }

  const std::string& what_;
  JsonDocument json_;
  std::int64_t number_ = 0;
  int skipped_ = 0;
  bool has_head_ = false;
  std::size_t first_ = 0;  ///< of the origins of the last head
};

}  // namespace

Result<RecordBase> RecordBase::parse(std::string_view text, const std::string& what) {
  if (text.size() > kMostBytes) return Error{what + ": is larger than 64 MiB, which no record base is"};
  BaseText lines(what);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    WHET_RETURN_IF_ERROR(lines.line(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  WHET_RETURN_IF_ERROR(lines.finish());
  RecordBase base(std::move(lines.name), std::move(lines.made), std::move(lines.origins), std::move(lines.tasks));
  base.notes_ = std::move(lines.notes);
  return base;
}

bool RecordBase::serves(const Target& target) const {
  return std::ranges::any_of(
      targets_, [&](const std::optional<Target>& has) { return has && target_distance(*has, target).has_value(); });
}

std::vector<NearEntry> RecordBase::near(const Anchor& anchor, const Target& target, std::size_t most) const {
  std::vector<std::optional<Origin>> origins;
  origins.reserve(origins_.size());
  for (std::size_t i = 0; i < origins_.size(); ++i) origins.push_back(seen_from(target, origins_[i], targets_[i]));
  std::vector<NearEntry> found;
  const auto of_kind = std::ranges::equal_range(tasks_, std::string_view(anchor.kind), {}, [](const BaseTask& task) {
    return std::string_view(task.anchor.kind);
  });
  for (const BaseTask& task : of_kind) {
    const double distance = anchor_distance(anchor, task.anchor);
    if (!std::isfinite(distance)) continue;
    for (const BaseEntry& entry : task.entries)
      if (const std::optional<Origin>& origin = origins[entry.origin])
        found.push_back({&task, &entry, distance + origin->distance, origin->own});
  }
  const auto first = [](const NearEntry& a, const NearEntry& b) {
    if (a.own != b.own) return a.own;
    return a.distance != b.distance ? a.distance < b.distance : a.entry->gain > b.entry->gain;
  };
  std::ranges::stable_sort(found, first);
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace whet
