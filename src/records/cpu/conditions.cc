#include "records/cpu/conditions.h"

#include <cstdint>
#include <limits>
#include <utility>

namespace whet {

Json to_json(const RunConditions& c) {
  Json cores = Json::array();
  for (const std::uint32_t core : c.cores) cores.add(static_cast<std::int64_t>(core));
  Json out = Json::object().set("unit", c.unit).set("cores", std::move(cores));
  if (!c.governor.empty()) out.set("governor", c.governor);
  if (c.ghz > 0) out.set("ghz", c.ghz);
  if (c.celsius != 0) out.set("celsius", c.celsius);
  if (c.throttled) out.set("throttled", true);
  return out;
}

std::string read_conditions(JsonView device, RunConditions& out) {
  out.unit = device["unit"].string_or("");
  out.governor = device["governor"].string_or("");
  out.ghz = device["ghz"].number_or(0);
  out.celsius = device["celsius"].number_or(0);
  out.throttled = device["throttled"].bool_or(false);
  if (!(out.ghz >= 0)) return "\"device.ghz\" is no clock";
  if (!device["cores"].is_array()) return "";
  for (const JsonView core : device["cores"].items()) {
    if (!core.is_integer() || core.integer() < 0 || core.integer() > std::numeric_limits<std::int32_t>::max())
      return "\"device.cores\" has an element that is no core";
    out.cores.push_back(static_cast<std::uint32_t>(core.integer()));
  }
  return "";
}

}  // namespace whet
