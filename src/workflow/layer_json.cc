#include "workflow/layer_json.h"

#include <optional>

namespace whet {
namespace {

Json known_ms(double seconds) { return seconds > 0 ? Json(seconds * 1e3) : Json(); }
Json error_json(const std::optional<double>& error) { return error ? Json(*error) : Json(); }

}  // namespace

Json to_json(const std::vector<LayerPrecision>& layers) {
  Json list = Json::array();
  for (const LayerPrecision& layer : layers) {
    Json kernels = Json::array();
    for (const LoweredWay& way : layer.ways)
      kernels.add(
          Json::object().set("forms", way.forms).set("ms", known_ms(way.seconds)).set("error", error_json(way.error)));
    list.add(Json::object()
                 .set("layer", layer.node)
                 .set("is", layer.is)
                 .set("numbers", layer.numbers)
                 .set("lowered", layer.lowered)
                 .set("ms", known_ms(layer.seconds))
                 .set("f32_ms", known_ms(layer.usual_seconds))
                 .set("error", error_json(layer.error))
                 .set("share", layer.share)
                 .set("saves_us", layer.saves * 1e6)
                 .set("why", layer.why)
                 .set("kernels", std::move(kernels)));
  }
  return list;
}

}  // namespace whet
