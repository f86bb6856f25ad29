#include "passes/host_tensor.h"

#include <algorithm>
#include <cstring>

namespace whet {
namespace {

/// How the elements are walked: the result's innermost dimension in blocks, and inside a block the others in the
/// source's order. So reads run along a few sequential streams and every write fills a cache line; turning the weights
/// of a convolution one element after the other instead takes ten times as long.
struct Walk {
  struct Loop {
    std::int64_t extent, from_stride, to_stride;
  };
  std::vector<Loop> loops;  ///< outermost first, without the blocked dimension
  Loop inner{1, 0, 0};

  Walk(const Shape& shape, const std::vector<std::int64_t>& strides) {
    const std::vector<std::int64_t> to = row_major_strides(shape);
    for (std::size_t d = 0; d < shape.size(); ++d) loops.push_back({shape[d], strides[d], to[d]});
    if (loops.empty()) return;
    inner = loops.back();
    loops.pop_back();
    std::stable_sort(loops.begin(), loops.end(),
                     [](const Loop& a, const Loop& b) { return a.from_stride > b.from_stride; });
  }
};

constexpr std::int64_t kBlock = 16;

template <std::size_t Bytes>
void copy_block(const std::byte* from, std::byte* to, const Walk& walk, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    std::memcpy(to + static_cast<std::size_t>(i) * Bytes,
                from + static_cast<std::size_t>(i * walk.inner.from_stride) * Bytes, Bytes);
  }
}

template <std::size_t Bytes>
void copy_loops(const std::byte* from, std::byte* to, const Walk& walk, std::size_t depth, std::int64_t begin,
                std::int64_t end) {
  if (depth == walk.loops.size()) return copy_block<Bytes>(from, to, walk, begin, end);
  const Walk::Loop& loop = walk.loops[depth];
  for (std::int64_t i = 0; i < loop.extent; ++i) {
    copy_loops<Bytes>(from + static_cast<std::size_t>(i * loop.from_stride) * Bytes,
                      to + static_cast<std::size_t>(i * loop.to_stride) * Bytes, walk, depth + 1, begin, end);
  }
}

template <std::size_t Bytes>
void permute(const std::byte* from, std::byte* to, const Shape& shape, const std::vector<std::int64_t>& strides) {
  if (num_elements(shape) == 0) return;
  const Walk walk(shape, strides);
  for (std::int64_t begin = 0; begin < walk.inner.extent; begin += kBlock) {
    copy_loops<Bytes>(from, to, walk, 0, begin, std::min(begin + kBlock, walk.inner.extent));
  }
}

/// `x` with `strides` instead of its own, as a tensor of the shape `type` has.
Tensor copied(const Tensor& x, const TensorType& type, const std::vector<std::int64_t>& strides) {
  Tensor result(type.dtype, type.shape);
  const auto* from = static_cast<const std::byte*>(x.data());
  auto* to = static_cast<std::byte*>(result.data());
  switch (size_of(x.dtype())) {
    case 1:
      permute<1>(from, to, type.shape, strides);
      break;
    case 2:
      permute<2>(from, to, type.shape, strides);
      break;
    case 4:
      permute<4>(from, to, type.shape, strides);
      break;
    default:
      permute<8>(from, to, type.shape, strides);
      break;
  }
  return result;
}

}  // namespace

Tensor transposed(const Tensor& x, const std::vector<std::int64_t>& perm) {
  const std::vector<std::int64_t> in_strides = row_major_strides(x.shape());
  TensorType type{x.dtype(), {}};
  std::vector<std::int64_t> strides;
  for (std::int64_t p : perm) {
    type.shape.push_back(x.shape()[static_cast<std::size_t>(p)]);
    strides.push_back(in_strides[static_cast<std::size_t>(p)]);
  }
  return Tensor::later(type, [x, type, strides = std::move(strides)] { return copied(x, type, strides); });
}

Tensor extended(const Tensor& x, const Shape& shape) {
  WHET_CHECK(shape.size() == x.shape().size() && !shape.empty());
  Tensor result(x.dtype(), shape);
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  const std::int64_t row = x.shape().back(), bytes = row * size_of(x.dtype());
  for (std::int64_t r = 0; r < (row == 0 ? 0 : x.size() / row); ++r) {
    std::int64_t to = 0, rest = r;
    for (std::size_t d = shape.size() - 1; d-- > 0; rest /= x.shape()[d]) to += rest % x.shape()[d] * strides[d];
    std::memcpy(static_cast<std::byte*>(result.data()) + to * size_of(x.dtype()),
                static_cast<const std::byte*>(x.data()) + r * bytes, static_cast<std::size_t>(bytes));
  }
  return result;
}

Tensor stored_as(const Tensor& x, DType to) {
  return Tensor::later({to, x.shape()}, [x, to] {
    Tensor stored(to, x.shape());
    for (std::int64_t i = 0; i < x.size(); ++i) stored.set(i, x.get(i));
    return stored;
  });
}

std::optional<double> uniform_value(const Tensor& x) {
  if (x.size() == 0) return std::nullopt;
  const double first = x.get(0);
  for (std::int64_t i = 1; i < x.size(); ++i) {
    if (x.get(i) != first) return std::nullopt;
  }
  return first;
}

}  // namespace whet
