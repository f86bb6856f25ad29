#include "records/error_line.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace whet {
namespace {

/// Older readers take an error for one of bf16, which alone they know.
constexpr int kErrorVersion = 4, kOfOtherTypes = 5;
constexpr std::array kStored = {"bf16", "i16", "u8"};

/// Reads members that are texts and not empty; false where one is none.
template <std::size_t N>
bool read_texts(JsonView from, const std::pair<const char*, std::string*> (&texts)[N], const std::string& of,
                std::string& why) {
  for (const auto& [name, text] : texts) {
    if (!from[name].is_string() || from[name].string().empty()) {
      why = "\"" + std::string(name) + "\" of " + of + " is no text";
      return false;
    }
    *text = from[name].string();
  }
  return true;
}

bool is_error(JsonView value) { return value.is_number() && std::isfinite(value.number()) && value.number() >= 0; }

}  // namespace

std::string to_line(const LayerError& e) {
  Json error = Json::object();
  error.set("graph", e.graph).set("weights", e.weights).set("samples", e.samples).set("node", e.node);
  error.set("of", e.product ? "product" : "reads").set("l2", e.error).set("worst", e.worst);
  const bool is_usual = e.stored == kStored.front();
  if (!is_usual) error.set("stored", e.stored);
  if (!e.by.empty()) error.set("by", e.by);
  return dump(Json::object()
                  .set("v", is_usual ? kErrorVersion : kOfOtherTypes)
                  .set("error", error)
                  .set("target", e.target)
                  .set("whet", e.whet)
                  .set("at", e.at));
}

std::variant<LayerError, std::string> layer_error_of(JsonView line) {
  const JsonView from = line["error"];
  LayerError error;
  const std::pair<const char*, std::string*> texts[] = {
      {"graph", &error.graph}, {"weights", &error.weights}, {"samples", &error.samples}, {"node", &error.node}};
  std::string why;
  if (!read_texts(from, texts, "an error", why)) return why;
  if (!line["target"].is_string()) return std::string("\"target\" of an error is no text");
  error.target = line["target"].string();
  const std::string of(from["of"].string_or(""));
  if (of != "product" && of != "reads") return std::string("\"of\" of an error is neither product nor reads");
  error.product = of == "product";
  if (!is_error(from["l2"]) || !is_error(from["worst"])) return std::string("\"l2\" or \"worst\" is no error");
  error.error = from["l2"].number(), error.worst = from["worst"].number();
  if (!from["stored"].is_null()) {
    error.stored = from["stored"].string_or("");
    if (std::ranges::find(kStored, error.stored) == kStored.end())
      return std::string("\"stored\" of an error is neither bf16 nor i16 nor u8");
  }
  error.by = from["by"].string_or("");
  error.whet = line["whet"].string_or("");
  error.at = line["at"].string_or("");
  return error;
}

std::string to_line(const RangesOnSamples& ranges) {
  Json values = Json::object();
  values.set("graph", ranges.graph).set("weights", ranges.weights).set("samples", ranges.samples);
  if (!ranges.rule.empty()) values.set("rule", ranges.rule);
  values.set("ranges", to_json(ranges.values));
  return dump(Json::object()
                  .set("v", kOfOtherTypes)
                  .set("values", values)
                  .set("target", ranges.target)
                  .set("whet", ranges.whet)
                  .set("at", ranges.at));
}

std::variant<RangesOnSamples, std::string> ranges_on_samples_of(JsonView line) {
  const JsonView from = line["values"];
  RangesOnSamples found;
  const std::pair<const char*, std::string*> texts[] = {
      {"graph", &found.graph}, {"weights", &found.weights}, {"samples", &found.samples}};
  std::string why;
  if (!read_texts(from, texts, "ranges", why)) return why;
  if (!line["target"].is_string()) return std::string("\"target\" of ranges is no text");
  found.target = line["target"].string();
  std::optional<ValueRanges> values = value_ranges_of(from["ranges"]);
  if (!values) return std::string("\"ranges\" is no list of values with finite numbers, the least first");
  found.values = std::move(*values);
  found.rule = from["rule"].string_or("");
  found.whet = line["whet"].string_or("");
  found.at = line["at"].string_or("");
  return found;
}

Json to_json(const ValueRanges& ranges) {
  Json list = Json::array();
  for (const auto& [name, range] : ranges)
    list.add(Json::object().set("value", name).set("least", range.least).set("most", range.most));
  return list;
}

std::optional<ValueRanges> value_ranges_of(JsonView list) {
  if (!list.is_array()) return std::nullopt;
  ValueRanges ranges;
  for (const JsonView item : list.items()) {
    const JsonView name = item["value"], least = item["least"], most = item["most"];
    if (!name.is_string() || name.string().empty() || !least.is_number() || !most.is_number()) return std::nullopt;
    const ValueRange range{least.number(), most.number()};
    if (!std::isfinite(range.least) || !std::isfinite(range.most) || range.least > range.most) return std::nullopt;
    ranges[std::string(name.string())] = range;
  }
  return ranges;
}

}  // namespace whet
