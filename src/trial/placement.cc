#include "trial/placement.h"

#include <algorithm>
#include <cmath>

namespace whet {
namespace {

constexpr double kOtherPlacement = 2;

}  // namespace

bool differ(const ProcessorPlacement& a, const ProcessorPlacement& b) {
  if (!a.is_known() || !b.is_known()) return false;
  const auto [least, most] = std::minmax(a.round_trip_ns, b.round_trip_ns);
  return most >= kOtherPlacement * least;
}

std::string to_text(const ProcessorPlacement& placement) {
  if (!placement.is_known()) return "not known";
  return std::to_string(std::lround(placement.round_trip_ns)) + " ns there and back";
}

void PlacementTimes::see(const ProcessorPlacement& placement, double now) {
  if (!placement.is_known()) return;
  if (last_ >= 0) parts_[static_cast<std::size_t>(last_)].seconds += now - since_;
  since_ = now;
  last_ = find(placement);
  if (last_ >= 0) return;
  last_ = static_cast<int>(parts_.size());
  parts_.push_back({placement, 0});
}

int PlacementTimes::find(const ProcessorPlacement& placement) const {
  if (!placement.is_known()) return -1;
  const auto found = std::ranges::find_if(parts_, [&](const Part& part) { return !differ(part.placement, placement); });
  return found == parts_.end() ? -1 : static_cast<int>(found - parts_.begin());
}

double PlacementTimes::share(const Part& part) const {
  double all = 0;
  for (const Part& each : parts_) all += each.seconds;
  return all > 0 ? part.seconds / all : 1 / static_cast<double>(parts_.size());
}

std::string to_text(const PlacementTimes& times) {
  std::vector<PlacementTimes::Part> parts = times.parts();
  std::ranges::sort(parts, {}, [](const auto& part) { return part.placement.round_trip_ns; });
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string name = i == 0 ? "near" : i + 1 == parts.size() ? "far" : "between";
    text += (i == 0 ? "" : ", ") + name + " (" + to_text(parts[i].placement) + ") " +
            std::to_string(std::lround(100 * times.share(parts[i]))) + "%" + (i == 0 ? " of the time" : "");
  }
  return text;
}

}  // namespace whet
