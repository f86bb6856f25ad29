#include "import_onnx/byte_writer.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace whet {

std::string ByteWriter::constant(const std::string& wanted, const Tensor& tensor) {
  const std::string made = writer_.unique(wanted);
  writer_.add_constant(made, tensor);
  return made;
}

std::string ByteWriter::rounded(const std::string& name, const ByteScale& bytes) {
  if (const auto known = rounded_.find(name); known != rounded_.end()) return known->second;
  Tensor zero_point(DType::u8, {});
  zero_point.set_integer(0, bytes.zero);
  const std::string scale = constant(name + "/scale", Tensor::of<double>(DType::f32, {}, {bytes.scale}));
  const std::string zero = constant(name + "/zero_point", zero_point);
  const std::string whole = writer_.unique(name + "/bytes"), wide = writer_.unique(name + "/dequantized");
  writer_.add_node(whole, "QuantizeLinear", {name, scale, zero}, whole);
  writer_.add_node(wide, "DequantizeLinear", {whole, scale, zero}, wide);
  return rounded_[name] = wide;
}

std::string ByteWriter::widened(const std::string& stem, const Tensor& whole, const std::vector<double>& scales,
                                std::int64_t axis) {
  const Shape channels = {static_cast<std::int64_t>(scales.size())};
  const std::string from = constant(stem + "_quantized", whole);
  const std::string scale = constant(stem + "_scale", Tensor::of<double>(DType::f32, channels, scales));
  const std::string zero = constant(stem + "_zero_point", Tensor(whole.dtype(), channels));
  const std::string wide = writer_.unique(stem + "_dequantized");
  set_attribute(writer_.add_node(wide, "DequantizeLinear", {from, scale, zero}, wide), "axis", axis);
  return wide;
}

std::string ByteWriter::weights(const std::string& stem, const Tensor& whole, const std::vector<double>& scales,
                                std::int64_t axis) {
  return widened(stem + "/weight", whole, scales, axis);
}

std::string ByteWriter::bias(const std::string& stem, const Tensor& bias, const std::vector<double>& units) {
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  Tensor whole(DType::i32, bias.shape());
  for (std::int64_t i = 0; i < whole.size(); ++i) {
    const double steps = std::nearbyint(bias.get(i) / units[static_cast<std::size_t>(i)]);
    whole.set_integer(i, static_cast<std::int64_t>(std::clamp(steps, -kMost, kMost)));
  }
  return widened(stem + "/bias", whole, units, 0);
}

}  // namespace whet
