#include "runtime/strided_copy.h"

#include <string.h>

#include "artifact/model_format.h"

namespace whet {
namespace {

template <typename T>
void copy_row(void* to, const char* from, std::int64_t count, std::int64_t stride) {
  T* out = static_cast<T*>(to);
  for (std::int64_t i = 0; i < count; ++i) {
    T element;
    memcpy(&element, from + i * stride, sizeof(T));  // the source may be unaligned
    out[i] = element;
  }
}

void copy_row(void* to, const char* from, std::int64_t count, std::int64_t stride, std::int64_t element_bytes) {
  if (stride == element_bytes) {
    memcpy(to, from, static_cast<std::size_t>(count * element_bytes));
  } else if (element_bytes == 1) {
    copy_row<std::uint8_t>(to, from, count, stride);
  } else if (element_bytes == 2) {
    copy_row<std::uint16_t>(to, from, count, stride);
  } else if (element_bytes == 4) {
    copy_row<std::uint32_t>(to, from, count, stride);
  } else {
    copy_row<std::uint64_t>(to, from, count, stride);
  }
}

}  // namespace

bool is_contiguous(const std::int64_t* shape, const std::int64_t* strides, std::uint32_t rank,
                   std::int64_t element_bytes) {
  std::int64_t expected = element_bytes;
  for (std::uint32_t d = rank; d-- > 0;) {
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

void copy_strided(void* to, const void* from, const std::int64_t* shape, const std::int64_t* strides,
                  std::uint32_t rank, std::int64_t element_bytes) {
  // Neighbouring dimensions that lie as one become one, so that rows are as long as they can be.
  std::int64_t extent[kMaxRank + 1], stride[kMaxRank + 1];
  std::uint32_t dims = 0;
  for (std::uint32_t d = 0; d < rank; ++d) {
    if (shape[d] == 0) return;
    if (shape[d] == 1) continue;
    if (dims > 0 && stride[dims - 1] == shape[d] * strides[d]) {
      extent[dims - 1] *= shape[d];
      stride[dims - 1] = strides[d];
    } else {
      extent[dims] = shape[d];
      stride[dims++] = strides[d];
    }
  }
  if (dims == 0) {
    extent[0] = 1;
    stride[0] = element_bytes;
    dims = 1;
  }
  const std::int64_t row = extent[dims - 1];
  std::int64_t index[kMaxRank + 1] = {};
  const char* source = static_cast<const char*>(from);
  char* target = static_cast<char*>(to);
  while (true) {
    copy_row(target, source, row, stride[dims - 1], element_bytes);
    target += row * element_bytes;
    std::uint32_t d = dims - 1;
    while (d-- > 0) {
      source += stride[d];
      if (++index[d] < extent[d]) break;
      source -= extent[d] * stride[d];
      index[d] = 0;
    }
    if (d == ~std::uint32_t{0}) return;
  }
}

}  // namespace whet
