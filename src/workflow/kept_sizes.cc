#include "workflow/kept_sizes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "compute/size.h"
#include "plan/plan.h"
#include "transfer/across_sizes.h"
#include "workflow/cut_sizes.h"
#include "workflow/range_choice.h"

namespace whet {
namespace {

using TimedPoints = std::vector<const TimedAtSizes*>;

/// Values of a size that one of both libraries has.
struct KeptSpan {
  std::int64_t low = 0, high = kLargestSize;
  bool is_untuned = false;
};

/// By the values of the points, at each of which untuned kernels are kept or not: each has those that are nearest by the logarithm.
std::vector<KeptSpan> spans_of(const std::map<std::int64_t, bool>& kept) {
  std::vector<KeptSpan> spans;
  std::int64_t last = 0;
  for (const auto& [value, is_untuned] : kept) {
    if (spans.empty()) {
      spans.push_back({0, kLargestSize, is_untuned});
    } else if (spans.back().is_untuned != is_untuned) {
      spans.back().high = last_before(last, value);
      spans.push_back({spans.back().high + 1, kLargestSize, is_untuned});
    }
    last = value;
  }
  return spans;
}

/// The points by their values of the size of which they have most; where several have one value, one of them is enough to keep it.
std::pair<std::size_t, std::map<std::int64_t, bool>> kept_by_value(const TimedPoints& points) {
  std::pair<std::size_t, std::map<std::int64_t, bool>> best;
  for (std::size_t k = 0; k < points.front()->at.size(); ++k) {
    std::map<std::int64_t, bool> kept;
    for (const TimedAtSizes* point : points) kept[point->at[k]] |= point->keeps_untuned;
    if (kept.size() > best.second.size()) best = {k, std::move(kept)};
  }
  return best;
}

std::vector<VariantPiece> as_untuned(std::vector<VariantPiece> pieces) {
  for (VariantPiece& piece : pieces) piece.untuned = true;
  return pieces;
}

/// The parts of pieces that have these values of size `k`.
void add_clipped(const std::vector<VariantPiece>& from, std::size_t k, const SizeRange& range, const KeptSpan& span,
                 std::vector<VariantPiece>& pieces) {
  for (VariantPiece piece : from) {
    piece.boxes = clipped(std::move(piece.boxes), k, range, span.low, span.high);
    if (!piece.boxes.empty()) pieces.push_back(std::move(piece));
  }
}

}  // namespace

const NetworkAtSizes* timed_network(const Records& records, const Family& family, const Target& target) {
  if (records.networks().empty() || family.variants.empty()) return nullptr;
  return records.network_at_sizes(hash_of(family.variants.back().fused), to_text(family.sizes), to_string(target));
}

void keep_untuned(const std::vector<TimedAtSizes>& points, const Family& family, const FamilyPieces& untuned,
                  FamilyPieces& pieces) {
  TimedPoints compared;
  for (const TimedAtSizes& point : points)
    if (point.untuned > 0 && check_values(family.sizes, point.at).ok()) compared.push_back(&point);
  const bool all = std::ranges::all_of(compared, &TimedAtSizes::keeps_untuned);
  if (compared.empty() || std::ranges::none_of(compared, &TimedAtSizes::keeps_untuned)) return;
  for (std::size_t v = 0; v < family.variants.size(); ++v) {
    const std::vector<VariantPiece> own = as_untuned(untuned[v]);
    TimedPoints here;
    for (const TimedAtSizes* point : compared)
      if (has_point(family.variants[v], point->at)) here.push_back(point);
    if (all) {
      pieces[v] = own;
    } else if (!here.empty()) {
      const auto [k, kept] = kept_by_value(here);
      std::vector<VariantPiece> parts;
      for (const KeptSpan& span : spans_of(kept))
        add_clipped(span.is_untuned ? own : pieces[v], k, family.sizes[k], span, parts);
      pieces[v] = std::move(parts);
    }
  }
}

namespace {

/// The sizes of the network at which untuned kernels are kept.
std::string kept_text(const NetworkAtSizes& timed, const Family& family) {
  std::string text;
  for (const TimedAtSizes& point : timed.points)
    if (point.keeps_untuned && check_values(family.sizes, point.at).ok())
      text += (text.empty() ? "" : "; ") + to_text(family.sizes, point.at);
  return text;
}

/// Whether kernels of the family's tasks were timed for ranges behind the line.
bool is_outdated(const NetworkAtSizes& timed, const Records& records, const Family& family) {
  std::set<std::string> newer;
  for (const RangedRecord& each : records.ranged())
    if (each.record.target == timed.target && each.record.at.text() > timed.at) newer.insert(each.range);
  if (newer.empty()) return false;
  return std::ranges::any_of(family.variants, [&](const Variant& variant) {
    return std::ranges::any_of(variant.tasks, [&](const SizedTask& task) {
      return !task.sizes.empty() && newer.contains(range_id(task.task.dag));
    });
  });
}

}  // namespace

std::string keep_untuned(const Records& records, const Family& family, const std::vector<WantedSize>& sizes,
                         const TuningSizeOptions& options, const Target& target, const SpaceOptions& schedules,
                         FamilyPieces& pieces) {
  const NetworkAtSizes* timed = timed_network(records, family, target);
  const std::string kept = timed == nullptr ? "" : kept_text(*timed, family);
  if (kept.empty()) return "";
  if (is_outdated(*timed, records, family))
    return "Kernels for ranges were timed since the network was slower by those of the records at " + kept +
           ": whet tune compares it again";
  keep_untuned(timed->points, family, untuned_choice(family, sizes, options, target, schedules), pieces);
  return "Untuned kernels are kept near " + kept + ": the network was slower by those of the records";
}

}  // namespace whet
