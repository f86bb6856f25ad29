#include "import/zoo/seeded.h"

namespace whet {

Tensor seeded_uniform(const Shape& shape, Rng& rng, double low, double high) {
  const TensorType type{DType::f32, shape};
  const auto draw = [type, low, high, own = rng]() mutable {
    Tensor tensor(type.dtype, type.shape);
    for (float& value : tensor.as<float>()) value = static_cast<float>(own.uniform(low, high));
    return tensor;
  };
  rng.skip(num_elements(shape));
  return Tensor::later(type, draw);
}

}  // namespace whet
