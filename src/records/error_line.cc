#include "records/error_line.h"

#include <cmath>
#include <utility>

namespace whet {
namespace {

constexpr int kErrorVersion = 4;

bool is_error(JsonView value) { return value.is_number() && std::isfinite(value.number()) && value.number() >= 0; }

}  // namespace

std::string to_line(const LayerError& e) {
  Json error = Json::object();
  error.set("graph", e.graph).set("weights", e.weights).set("samples", e.samples).set("node", e.node);
  error.set("of", e.product ? "product" : "reads").set("l2", e.error).set("worst", e.worst);
  return dump(Json::object()
                  .set("v", kErrorVersion)
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
  for (const auto& [name, text] : texts) {
    if (!from[name].is_string() || from[name].string().empty())
      return "\"" + std::string(name) + "\" of an error is no text";
    *text = from[name].string();
  }
  if (!line["target"].is_string()) return std::string("\"target\" of an error is no text");
  error.target = line["target"].string();
  const std::string of(from["of"].string_or(""));
  if (of != "product" && of != "reads") return std::string("\"of\" of an error is neither product nor reads");
  error.product = of == "product";
  if (!is_error(from["l2"]) || !is_error(from["worst"])) return std::string("\"l2\" or \"worst\" is no error");
  error.error = from["l2"].number(), error.worst = from["worst"].number();
  error.whet = line["whet"].string_or("");
  error.at = line["at"].string_or("");
  return error;
}

}  // namespace whet
