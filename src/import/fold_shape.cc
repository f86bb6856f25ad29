#include "import/fold_shape.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace whet {
namespace {

using Inputs = std::vector<const Tensor*>;
using Folded = Result<std::optional<Tensor>>;

/// Wrapping arithmetic: overflow in a file's numbers is no undefined behaviour here.
std::int64_t wrap(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }

std::int64_t saturate(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 9.2e18) return std::numeric_limits<std::int64_t>::max();
  if (value <= -9.2e18) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  std::uint64_t result = 1, factor = bits(base);
  for (; exponent > 0; exponent >>= 1, factor *= factor) {
    if ((exponent & 1) != 0) result *= factor;
  }
  return wrap(result);
}

/// The strides that read `shape` as if it were broadcast to `to`.
std::vector<std::int64_t> broadcast_strides(const Shape& shape, const Shape& to) {
  const auto own = row_major_strides(shape);
  std::vector<std::int64_t> strides(to.size(), 0);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1) strides[to.size() - shape.size() + i] = own[i];
  }
  return strides;
}

/// Visits the elements of `shape` in order; gives each operand's offset to `visit(i, offsets)`.
template <typename Visit>
void walk(const Shape& shape, const std::vector<std::vector<std::int64_t>>& strides, std::vector<std::int64_t> offsets,
          Visit visit) {
  std::vector<std::int64_t> index(shape.size(), 0);
  const std::int64_t count = num_elements(shape);
  for (std::int64_t i = 0; i < count; ++i) {
    visit(i, offsets);
    for (std::size_t d = shape.size(); d-- > 0;) {
      ++index[d];
      for (std::size_t k = 0; k < offsets.size(); ++k) offsets[k] += strides[k][d];
      if (index[d] < shape[d]) break;
      for (std::size_t k = 0; k < offsets.size(); ++k) offsets[k] -= strides[k][d] * shape[d];
      index[d] = 0;
    }
  }
}

void copy_element(Tensor& to, std::int64_t i, const Tensor& from, std::int64_t j) {
  const auto size = static_cast<std::size_t>(size_of(to.dtype()));
  std::memcpy(static_cast<char*>(to.data()) + static_cast<std::size_t>(i) * size,
              static_cast<const char*>(from.data()) + static_cast<std::size_t>(j) * size, size);
}

Tensor strided_copy(const Tensor& from, const TensorType& result, std::int64_t base,
                    const std::vector<std::int64_t>& strides) {
  Tensor to(result.dtype, result.shape);
  walk(result.shape, {strides}, {base}, [&](std::int64_t i, const auto& at) { copy_element(to, i, from, at[0]); });
  return to;
}

/// One fold: the node's name for messages, its operands and its result's type.
struct Fold {
  const std::string& node;
  const Inputs& in;
  const TensorType& result;

  Folded operator()(const UnaryOperator& op) const {
    Tensor out(result.dtype, result.shape);
    for (std::int64_t i = 0; i < out.size(); ++i) {
      if (is_float(result.dtype)) {
        const auto value = real(op.kind, in[0]->get(i));
        if (!value) return std::optional<Tensor>();
        out.set(i, *value);
      } else {
        out.set_integer(i, whole(op.kind, in[0]->integer(i)));
      }
    }
    return std::optional(out);
  }

  Folded operator()(const BinaryOperator& op) const {
    Tensor out(result.dtype, result.shape);
    const bool floats = is_float(in[0]->dtype());
    bool divides_by_zero = false;
    walk(result.shape,
         {broadcast_strides(in[0]->shape(), result.shape), broadcast_strides(in[1]->shape(), result.shape)}, {0, 0},
         [&](std::int64_t i, const auto& at) {
           if (floats) {
             out.set(i, real(op.kind, in[0]->get(at[0]), in[1]->get(at[1])));
             return;
           }
           const std::int64_t a = in[0]->integer(at[0]), b = in[1]->integer(at[1]);
           const bool divides = op.kind == BinaryKind::div || op.kind == BinaryKind::mod;
           divides_by_zero = divides_by_zero || (divides && b == 0);
           if (!divides || b != 0) out.set_integer(i, whole(op.kind, a, b));
         });
    if (divides_by_zero) return Error{node + ": divides an integer by zero"};
    return std::optional(out);
  }

  Folded operator()(const WhereOperator&) const {
    Tensor out(result.dtype, result.shape);
    std::vector<std::vector<std::int64_t>> strides;
    for (const Tensor* t : in) strides.push_back(broadcast_strides(t->shape(), result.shape));
    walk(result.shape, strides, {0, 0, 0}, [&](std::int64_t i, const auto& at) {
      const std::size_t side = in[0]->integer(at[0]) != 0 ? 1 : 2;
      copy_element(out, i, *in[side], at[side]);
    });
    return std::optional(out);
  }

  Folded operator()(const CastOperator& op) const {
    Tensor out(op.to, result.shape);
    for (std::int64_t i = 0; i < out.size(); ++i) {
      if (is_float(op.to)) {
        out.set(i, in[0]->get(i));
      } else if (op.to == DType::boolean) {
        out.set(i, in[0]->get(i) != 0);
      } else {
        out.set_integer(i, is_float(in[0]->dtype()) ? saturate(in[0]->get(i)) : in[0]->integer(i));
      }
    }
    return std::optional(out);
  }

  Folded operator()(const ReduceOperator& op) const {
    const bool known = op.kind == ReduceKind::sum || op.kind == ReduceKind::prod || op.kind == ReduceKind::max ||
                       op.kind == ReduceKind::min;
    if (!known || is_float(result.dtype)) return std::optional<Tensor>();
    Tensor out(result.dtype, result.shape);
    std::vector<bool> begun(static_cast<std::size_t>(out.size()), false);
    // Strides of the result under the input's index: 0 along the reduced dimensions.
    const Shape& from = in[0]->shape();
    std::vector<std::int64_t> strides(from.size(), 0);
    std::int64_t stride = 1;
    for (std::size_t d = from.size(); d-- > 0;) {
      if (std::binary_search(op.axes.begin(), op.axes.end(), static_cast<std::int64_t>(d))) continue;
      strides[d] = stride;
      stride *= from[d];
    }
    walk(from, {strides}, {0}, [&](std::int64_t i, const auto& at) {
      const std::int64_t value = in[0]->integer(i);
      const auto k = static_cast<std::size_t>(at[0]);
      out.set_integer(at[0], begun[k] ? whole(combiner(op.kind), out.integer(at[0]), value) : value);
      begun[k] = true;
    });
    return std::optional(out);
  }

  Folded operator()(const TransposeOperator& op) const {
    const auto own = row_major_strides(in[0]->shape());
    std::vector<std::int64_t> strides;
    for (std::int64_t d : op.perm) strides.push_back(own[static_cast<std::size_t>(d)]);
    return std::optional(strided_copy(*in[0], result, 0, strides));
  }

  Folded operator()(const ReshapeOperator& op) const { return std::optional(in[0]->reshaped(op.shape)); }

  Folded operator()(const ExpandOperator&) const {
    return std::optional(strided_copy(*in[0], result, 0, broadcast_strides(in[0]->shape(), result.shape)));
  }

  Folded operator()(const SliceOperator& op) const {
    auto strides = row_major_strides(in[0]->shape());
    std::int64_t base = 0;
    for (std::size_t d = 0; d < strides.size(); ++d) {
      base += op.starts[d] * strides[d];
      strides[d] *= op.steps[d];
    }
    return std::optional(strided_copy(*in[0], result, base, strides));
  }

  Folded operator()(const ConcatOperator& op) const {
    Tensor out(result.dtype, result.shape);
    const auto strides = row_major_strides(result.shape);
    std::int64_t base = 0;
    for (const Tensor* part : in) {
      walk(part->shape(), {strides}, {base},
           [&](std::int64_t i, const auto& at) { copy_element(out, at[0], *part, i); });
      base += part->shape()[static_cast<std::size_t>(op.axis)] * strides[static_cast<std::size_t>(op.axis)];
    }
    return std::optional(out);
  }

  Folded operator()(const GatherOperator& op) const {
    Tensor out(result.dtype, result.shape);
    const Shape& data = in[0]->shape();
    const auto axis = static_cast<std::size_t>(op.axis);
    const std::int64_t extent = data[axis];
    const std::int64_t inner = num_elements(Shape(data.begin() + op.axis + 1, data.end()));
    const std::int64_t outer = num_elements(Shape(data.begin(), data.begin() + op.axis)), picks = in[1]->size();
    for (std::int64_t k = 0; k < picks; ++k) {
      std::int64_t index = in[1]->integer(k);
      if (index < -extent || index >= extent) {
        return Error{node + ": takes element " + std::to_string(index) + " of a dimension of extent " +
                     std::to_string(extent)};
      }
      if (index < 0) index += extent;
      for (std::int64_t o = 0; o < outer; ++o) {
        for (std::int64_t i = 0; i < inner; ++i) {
          copy_element(out, (o * picks + k) * inner + i, *in[0], (o * extent + index) * inner + i);
        }
      }
    }
    return std::optional(out);
  }

  /// No other operator computes shapes.
  template <typename Other>
  Folded operator()(const Other&) const {
    return std::optional<Tensor>();
  }

 private:
  static BinaryKind combiner(ReduceKind kind) {
    return kind == ReduceKind::sum    ? BinaryKind::add
           : kind == ReduceKind::prod ? BinaryKind::mul
           : kind == ReduceKind::max  ? BinaryKind::max
                                      : BinaryKind::min;
  }

  static std::int64_t whole(UnaryKind kind, std::int64_t a) {
    switch (kind) {
      case UnaryKind::relu:
        return std::max<std::int64_t>(a, 0);
      case UnaryKind::abs:
        return a < 0 ? wrap(-bits(a)) : a;
      case UnaryKind::neg:
        return wrap(-bits(a));
      case UnaryKind::sign:
        return a > 0 ? 1 : a < 0 ? -1 : 0;
      case UnaryKind::logical_not:
        return a == 0 ? 1 : 0;
      default:
        WHET_CHECK(false, "inference allows this operator on floats alone");
        return 0;
    }
  }

  static std::optional<double> real(UnaryKind kind, double a) {
    switch (kind) {
      case UnaryKind::relu:
        return std::max(a, 0.0);
      case UnaryKind::abs:
        return std::abs(a);
      case UnaryKind::neg:
        return -a;
      case UnaryKind::sign:
        return a > 0 ? 1.0 : a < 0 ? -1.0 : 0.0;
      case UnaryKind::floor:
        return std::floor(a);
      case UnaryKind::ceil:
        return std::ceil(a);
      case UnaryKind::round:
        return std::nearbyint(a);
      case UnaryKind::sqrt:
        return std::sqrt(a);
      case UnaryKind::reciprocal:
        return 1 / a;
      default:
        return std::nullopt;
    }
  }

  static std::int64_t whole(BinaryKind kind, std::int64_t a, std::int64_t b) {
    switch (kind) {
      case BinaryKind::add:
        return wrap(bits(a) + bits(b));
      case BinaryKind::sub:
        return wrap(bits(a) - bits(b));
      case BinaryKind::mul:
        return wrap(bits(a) * bits(b));
      case BinaryKind::div:
        return b == -1 ? wrap(-bits(a)) : a / b;
      case BinaryKind::mod:  // the sign of the divisor
        return b == -1 ? 0 : (a % b != 0 && (a % b < 0) != (b < 0)) ? a % b + b : a % b;
      case BinaryKind::pow:
        return integer_power(a, b);
      case BinaryKind::min:
        return std::min(a, b);
      case BinaryKind::max:
        return std::max(a, b);
      case BinaryKind::less:
        return a < b;
      case BinaryKind::less_equal:
        return a <= b;
      case BinaryKind::greater:
        return a > b;
      case BinaryKind::greater_equal:
        return a >= b;
      case BinaryKind::equal:
        return a == b;
      case BinaryKind::logical_and:
        return a != 0 && b != 0;
      case BinaryKind::logical_or:
        return a != 0 || b != 0;
      case BinaryKind::logical_xor:
        return (a != 0) != (b != 0);
    }
    return 0;
  }

  static double real(BinaryKind kind, double a, double b) {
    switch (kind) {
      case BinaryKind::add:
        return a + b;
      case BinaryKind::sub:
        return a - b;
      case BinaryKind::mul:
        return a * b;
      case BinaryKind::div:
        return a / b;
      case BinaryKind::mod:  // the sign of the dividend
        return std::fmod(a, b);
      case BinaryKind::pow:
        return std::pow(a, b);
      case BinaryKind::min:
        return std::min(a, b);
      case BinaryKind::max:
        return std::max(a, b);
      case BinaryKind::less:
        return a < b;
      case BinaryKind::less_equal:
        return a <= b;
      case BinaryKind::greater:
        return a > b;
      case BinaryKind::greater_equal:
        return a >= b;
      case BinaryKind::equal:
        return a == b;
      default:
        WHET_CHECK(false, "inference allows logic on booleans alone");
        return 0;
    }
  }
};

bool small_enough(const Operator& op, const Inputs& inputs, const TensorType& result) {
  if (std::holds_alternative<ReshapeOperator>(op)) return true;  // shares the bytes
  bool floats = is_float(result.dtype);
  std::int64_t largest = num_elements(result.shape);
  for (const Tensor* input : inputs) {
    floats = floats || is_float(input->dtype());
    largest = std::max(largest, input->size());
  }
  return largest <= (floats ? kMaxFoldedFloats : kMaxFoldedElements);
}

}  // namespace

Result<std::optional<Tensor>> fold_shape(const std::string& node, const Operator& op,
                                         const std::vector<const Tensor*>& inputs, const TensorType& result) {
  if (!small_enough(op, inputs, result)) return std::optional<Tensor>();
  return std::visit(Fold{node, inputs, result}, op);
}

}  // namespace whet
