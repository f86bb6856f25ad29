#include "workflow/exact_sizes.h"

#include <algorithm>
#include <utility>

#include "workflow/cut_sizes.h"
#include "workflow/kept_sizes.h"

namespace whet {

std::vector<SizeBox> without_point(const SizeBox& box, const SizeValues& at, const std::vector<SizeRange>& sizes) {
  if (!contains(box, at)) return {box};
  std::vector<SizeBox> parts;
  SizeBox rest = box;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    SizeBox below = rest, above = rest;
    below.high[k] = at[k] - sizes[k].step;
    above.low[k] = at[k] + sizes[k].step;
    for (const SizeBox* part : {&below, &above})
      if (part->low[k] <= part->high[k]) parts.push_back(*part);
    rest.low[k] = rest.high[k] = at[k];
  }
  return parts;
}

Status add_exact_sizes(const std::vector<SizeValues>& points, const ReadAtSizes& read, Family& family,
                       FamilyPieces& pieces) {
  FamilyOptions how;
  how.in_place = InPlaceParts::all;
  for (const SizeValues& at : points) {
    const auto variant =
        std::ranges::find_if(family.variants, [&](const Variant& each) { return has_point(each, at); });
    if (variant == family.variants.end()) continue;
    std::vector<SizeRange> alone;
    for (std::size_t k = 0; k < at.size(); ++k) alone.push_back({family.sizes[k].name, at[k], at[k], 1});
    WHET_TRY(Family exact, find_family(alone, read, how));
    std::vector<VariantPiece>& own = pieces[static_cast<std::size_t>(variant - family.variants.begin())];
    for (VariantPiece& piece : own) {
      std::vector<SizeBox> boxes;
      for (const SizeBox& box : piece.boxes)
        for (SizeBox& part : without_point(box, at, family.sizes)) boxes.push_back(std::move(part));
      piece.boxes = std::move(boxes);
      if (piece.at == at) piece.at.clear();
    }
    std::erase_if(own, [](const VariantPiece& piece) { return piece.boxes.empty(); });
    family.variants.insert(family.variants.begin(), std::move(exact.variants.front()));
    pieces.insert(pieces.begin(), {VariantPiece{{{at, at}}}});
  }
  return ok_status();
}

std::vector<SizeValues> hot_sizes(const Records& records, const Family& family, const Target& target) {
  std::vector<SizeValues> hot;
  const NetworkAtSizes* known = timed_network(records, family, target);
  if (known == nullptr) return hot;
  constexpr std::size_t kMost = 3;  // as a run of the tuner writes
  for (const TimedAtSizes& each : known->points)
    if (each.hot && hot.size() < kMost && check_values(family.sizes, each.at).ok() &&
        std::ranges::find(hot, each.at) == hot.end())
      hot.push_back(each.at);
  return hot;
}

}  // namespace whet
