#include <cmath>
#include <cstring>

#include "import_tf/tflite/rows.h"

namespace whet::tflite {

Result<Ints> custom_fields(const TfliteSite& site, std::size_t count) {
  const std::string_view bytes = site.operation().custom_options;
  std::vector<std::int32_t> fields(count);
  if (bytes.size() < count * sizeof(std::int32_t))
    return site.error("has " + std::to_string(bytes.size()) + " bytes of options; expected " +
                      std::to_string(count * sizeof(std::int32_t)) + " or more");
  std::memcpy(fields.data(), bytes.data(), count * sizeof(std::int32_t));
  return Ints(fields.begin(), fields.end());
}

Result<FlexMap> custom_map(const TfliteSite& site) {
  auto map = FlexMap::read(site.operation().custom_options);
  if (map) return std::move(*map);
  return site.error("has " + std::to_string(site.operation().custom_options.size()) +
                    " bytes of options, which are no FlexBuffers map");
}

Result<double> custom_number(const TfliteSite& site, const FlexMap& options, const std::string& name) {
  const std::optional<double> value = options.number(name);
  if (value && std::isfinite(*value)) return *value;
  return site.error("its option \"" + name + "\" is " + (value ? "not finite" : "left out") + "; expected a number");
}

Result<std::int64_t> custom_integer(const TfliteSite& site, const FlexMap& options, const std::string& name,
                                    std::int64_t low, std::int64_t high) {
  WHET_TRY(const double value, custom_number(site, options, name));
  if (value >= static_cast<double>(low) && value <= static_cast<double>(high)) return static_cast<std::int64_t>(value);
  return site.error("its option \"" + name + "\" is " + std::to_string(value) + "; expected " + std::to_string(low) +
                    " to " + std::to_string(high));
}

Result<Ints> custom_integers(const TfliteSite& site, const FlexMap& options, const std::string& name,
                             std::int64_t high) {
  const auto given = options.numbers(name);
  if (!given || given->empty())
    return site.error("its option \"" + name + "\" is left out; expected a list of numbers");
  Ints values;
  for (const double value : *given) {
    if (!(value >= 0 && value <= static_cast<double>(high)))
      return site.error("its option \"" + name + "\" has " + std::to_string(value) + "; expected 0 to " +
                        std::to_string(high));
    values.push_back(static_cast<std::int64_t>(value));
  }
  return values;
}

}  // namespace whet::tflite
