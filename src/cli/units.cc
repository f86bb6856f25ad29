#include "cli/units.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/table.h"

namespace whet {
namespace {

/// A unit that differs more from the one that decides is named.
constexpr double kOdd = 0.07;

}  // namespace

std::string units_report(const std::vector<UnitReport>& units, double seconds) {
  if (units.size() < 2) return "";
  Table table({{"Device", false}, {"Jobs"}, {"Candidates"}, {"Failed"}, {"Lost"}, {"Busy"}, {"Its times"}});
  std::string odd;
  for (const UnitReport& unit : units) {
    table.add({unit.name, std::to_string(unit.jobs), std::to_string(unit.candidates), std::to_string(unit.failed),
               std::to_string(unit.losses), fmt::format("{:.0f}%", seconds > 0 ? 100 * unit.busy_seconds / seconds : 0),
               fmt::format("x {:.3f}", unit.factor)});
    if (unit.drained)
      odd += unit.name + " got no more candidates: it failed far more often than the others\n";
    else if (std::abs(unit.factor - 1) > kOdd)
      odd +=
          fmt::format("{} is {:.0f}% {} than the device that decides: its times rank by their champion's beside them\n",
                      unit.name, 100 * std::abs(unit.factor - 1), unit.factor > 1 ? "slower" : "faster");
  }
  return table.to_text() + odd;
}

std::string shares_report(const std::vector<UnitShare>& shares) {
  if (shares.empty()) return "";
  Table table({{"Unit", false}, {"Jobs"}, {"Candidates"}, {"Failed"}, {"Lost"}, {"Its times"}});
  for (const UnitShare& share : shares)
    table.add({share.unit, std::to_string(share.jobs), std::to_string(share.candidates), std::to_string(share.failed),
               std::to_string(share.losses), share.factor > 0 ? fmt::format("x {:.3f}", share.factor) : "–"});
  return table.to_text();
}

}  // namespace whet
