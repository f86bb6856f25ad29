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
    table.add({shortened(unit.name, 32), std::to_string(unit.jobs), std::to_string(unit.candidates),
               std::to_string(unit.failed), std::to_string(unit.losses),
               fmt::format("{:.0f}%", seconds > 0 ? 100 * unit.busy_seconds / seconds : 0),
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

Json to_json(const std::vector<UnitReport>& units) {
  Json list = Json::array();
  for (const UnitReport& unit : units)
    list.add(Json::object()
                 .set("name", unit.name)
                 .set("jobs", unit.jobs)
                 .set("candidates", unit.candidates)
                 .set("failed", unit.failed)
                 .set("lost", unit.losses)
                 .set("busy_seconds", unit.busy_seconds)
                 .set("factor", unit.factor)
                 .set("drained", unit.drained));
  return list;
}

}  // namespace whet
