#include "import_onnx/decode_tensor.h"

#include <onnx/onnx_pb.h>

#include <bit>
#include <cstring>
#include <filesystem>

#include "import_onnx/held_types.h"
#include "import_onnx/reader.h"

namespace whet {
namespace {

using onnx::TensorProto;

struct ExternalData {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

std::optional<std::uint64_t> parse_count(const std::string& text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  std::uint64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

Result<ExternalData> external_data(const TensorProto& proto, const std::string& what) {
  ExternalData data;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") data.location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    const auto count = parse_count(entry.value());
    if (!count) {
      return Error{what + ": the " + entry.key() + " of its external data is \"" + entry.value() +
                   "\"; expected a number of bytes"};
    }
    if (entry.key() == "offset") data.offset = *count;
    if (entry.key() == "length") data.length = count;
  }
  // A model may come from anywhere: it reads files beside it, nothing else.
  const std::filesystem::path location(data.location);
  bool inside = !data.location.empty() && location.is_relative();
  for (const auto& part : location) inside = inside && part != "..";
  if (inside) return data;
  return Error{what + ": its external data is in \"" + data.location + "\"; expected a file below the model's folder"};
}

template <typename T, typename Field>
void copy_field(const Field& field, Tensor& tensor) {
  auto out = tensor.as<T>();
  for (int i = 0; i < field.size(); ++i) out[static_cast<std::size_t>(i)] = static_cast<T>(field.Get(i));
}

/// Elements in the field that the standard assigns to the type.
std::int64_t typed_count(const TensorProto& proto, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return proto.float_data_size();
    case DType::f64:
      return proto.double_data_size();
    case DType::i64:
      return proto.int64_data_size();
    default:
      return proto.int32_data_size();
  }
}

void copy_typed(const TensorProto& proto, Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::f32:
      return copy_field<float>(proto.float_data(), tensor);
    case DType::f64:
      return copy_field<double>(proto.double_data(), tensor);
    case DType::i64:
      return copy_field<std::int64_t>(proto.int64_data(), tensor);
    case DType::i32:
      return copy_field<std::int32_t>(proto.int32_data(), tensor);
    case DType::f16:  // the bits of the half
    case DType::bf16:
    case DType::i16:
      return copy_field<std::uint16_t>(proto.int32_data(), tensor);
    default:
      return copy_field<std::uint8_t>(proto.int32_data(), tensor);
  }
}

Error wrong_count(const std::string& what, const TensorType& type, std::size_t found, std::size_t wanted,
                  const char* unit) {
  return Error{what + ": " + to_string(type) + " needs " + std::to_string(wanted) + unit + "; the file holds " +
               std::to_string(found)};
}

bool is_of_4_bits(int type) { return type == kUint4 || type == kInt4; }

/// Bits of an element in the file: types that whet does not have are held in wider ones.
std::int64_t stored_bits(const TensorProto& proto, DType held) {
  switch (proto.data_type()) {
    case kUint4:
    case kInt4:
      return 4;
    case TensorProto::INT16:
    case TensorProto::UINT16:
    case TensorProto::BFLOAT16:
      return 16;
    case TensorProto::UINT32:
      return 32;
    default:
      return 8 * size_of(held);
  }
}
/// Of all elements; two of 4 bits are a byte.
std::size_t stored_bytes(const TensorProto& proto, const TensorType& type) {
  return static_cast<std::size_t>((num_elements(type.shape) * stored_bits(proto, type.dtype) + 7) / 8);
}

/// The bits of an element in its held type.
void widen(int type, std::uint64_t bits, std::int64_t at, Tensor& tensor) {
  if (type == TensorProto::BFLOAT16) {
    tensor.as<float>()[static_cast<std::size_t>(at)] = std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
  } else if (type == TensorProto::INT16) {
    tensor.set_integer(at, static_cast<std::int16_t>(bits));
  } else if (type == kInt4) {
    tensor.set_integer(at, static_cast<std::int64_t>(bits) - (bits < 8 ? 0 : 16));
  } else {
    tensor.set_integer(at, static_cast<std::int64_t>(bits));
  }
}

/// Elements of a type that whet does not have; the first of two of 4 bits is the lower half of their byte.
Tensor widened_bytes(const TensorProto& proto, const TensorType& type, std::string_view bytes) {
  Tensor tensor(type.dtype, type.shape);
  const bool halves = is_of_4_bits(proto.data_type());
  const auto size = static_cast<std::size_t>((stored_bits(proto, type.dtype) + 7) / 8);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + static_cast<std::size_t>(halves ? i / 2 : i) * size, size);
    widen(proto.data_type(), !halves ? bits : i % 2 == 0 ? bits & 15 : bits >> 4, i, tensor);
  }
  return tensor;
}

/// The same from the field that the standard assigns to the type; "" where it has another number of values.
std::optional<Tensor> widened_field(const TensorProto& proto, const TensorType& type) {
  const std::int64_t bits = stored_bits(proto, type.dtype);
  const bool small = bits <= 16;
  const std::int64_t count = small ? proto.int32_data_size() : proto.uint64_data_size();
  if (count != (bits == 4 ? (num_elements(type.shape) + 1) / 2 : num_elements(type.shape))) return std::nullopt;
  if (bits == 4) {
    std::string bytes;
    for (const std::int32_t pair : proto.int32_data()) bytes += static_cast<char>(pair);
    return widened_bytes(proto, type, bytes);
  }
  Tensor tensor(type.dtype, type.shape);
  for (int i = 0; i < count; ++i)
    widen(proto.data_type(), small ? static_cast<std::uint16_t>(proto.int32_data(i)) : proto.uint64_data(i), i, tensor);
  return tensor;
}

Result<Tensor> tensor_of_bytes(const TensorProto& proto, const TensorType& type, std::string_view bytes,
                               bool native_types, const std::string& what) {
  const std::size_t wanted = stored_bytes(proto, type);
  if (bytes.size() != wanted) return wrong_count(what, type, bytes.size(), wanted, " bytes");
  if (is_held_wider(proto.data_type(), native_types)) return widened_bytes(proto, type, bytes);
  Tensor tensor(type.dtype, type.shape);
  if (wanted > 0) std::memcpy(tensor.data(), bytes.data(), wanted);
  return tensor;
}

/// Tensors of the same bytes share them.
Result<Tensor> external_tensor(const TensorProto& proto, const TensorType& type, Beside& beside,
                               const std::string& what) {
  WHET_TRY(const ExternalData data, external_data(proto, what));
  const std::uint64_t wanted = stored_bytes(proto, type);
  if (data.length && *data.length != wanted) return wrong_count(what, type, *data.length, wanted, " bytes");
  const auto place = std::make_tuple(data.location, data.offset, proto.data_type(), type.shape);
  if (const auto known = beside.tensors.find(place); known != beside.tensors.end()) return known->second;
  const std::string path = (std::filesystem::path(beside.directory) / data.location).string();
  auto bytes = beside.files.read(path, data.offset, wanted);
  if (!bytes.ok()) return Error{what + ": " + bytes.error().message};
  WHET_TRY(Tensor tensor, tensor_of_bytes(proto, type, *bytes, beside.native_types, what));
  return beside.tensors.emplace(place, std::move(tensor)).first->second;
}

/// Memory is allotted only once the file is known to hold that much.
Result<Tensor> decode_elements(const TensorProto& proto, const TensorType& type, Beside& beside,
                               const std::string& what) {
  if (proto.data_location() == TensorProto::EXTERNAL) return external_tensor(proto, type, beside, what);
  if (proto.has_raw_data()) return tensor_of_bytes(proto, type, proto.raw_data(), beside.native_types, what);
  if (is_held_wider(proto.data_type(), beside.native_types)) {
    if (auto tensor = widened_field(proto, type)) return *std::move(tensor);
    return Error{what + ": " + to_string(type) + " does not have " + std::to_string(num_elements(type.shape)) +
                 " values in the field of its type"};
  }
  const std::int64_t count = typed_count(proto, type.dtype), wanted = num_elements(type.shape);
  if (count != wanted) {
    return wrong_count(what, type, static_cast<std::size_t>(count), static_cast<std::size_t>(wanted), " values");
  }
  Tensor tensor(type.dtype, type.shape);
  copy_typed(proto, tensor);
  return tensor;
}

}  // namespace

bool is_held_wider(int type, bool native_types) {
  if (type == TensorProto::INT16 || type == TensorProto::BFLOAT16) return !native_types;
  return type == TensorProto::UINT16 || type == TensorProto::UINT32 || type == TensorProto::UINT64 ||
         is_of_4_bits(type);
}

Result<Tensor> decode_tensor(const TensorProto& proto, Beside& beside, const std::string& what) {
  const auto dtype = dtype_of_onnx(proto.data_type(), beside.native_types);
  if (!dtype) {
    return Error{what + ": its type is " + onnx_type_name(proto.data_type()) +
                 "; expected FLOAT, DOUBLE, FLOAT16, INT8, UINT8, INT32, INT64 or BOOL"};
  }
  const TensorType type{*dtype, Shape(proto.dims().begin(), proto.dims().end())};
  WHET_RETURN_IF_ERROR(check_shape(what, type.shape));
  WHET_TRY(Tensor tensor, decode_elements(proto, type, beside, what));
  if (*dtype == DType::boolean) {
    for (std::uint8_t& b : tensor.as<std::uint8_t>()) b = b != 0;
  }
  return tensor;
}

/// Places are numbers of elements in row-major order [n], or one for each dimension [n, rank].
Result<Tensor> decode_sparse(const onnx::SparseTensorProto& proto, Beside& beside, const std::string& what) {
  WHET_TRY(const Tensor values, decode_tensor(proto.values(), beside, what + ": its values"));
  WHET_TRY(const Tensor places, decode_tensor(proto.indices(), beside, what + ": its places"));
  const Shape shape(proto.dims().begin(), proto.dims().end());
  WHET_RETURN_IF_ERROR(check_shape(what, shape));
  const std::int64_t count = values.size(), size = num_elements(shape);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const bool whole = places.shape() == Shape{count};
  if (values.shape().size() != 1 || places.dtype() != DType::i64 || (!whole && places.shape() != Shape{count, rank}))
    return Error{what + ": has places " + to_string(places.type()) + " of values " + to_string(values.type()) +
                 " in a tensor of " + to_string(shape)};
  beside.sparse_bytes -= size * size_of(values.dtype());
  if (beside.sparse_bytes < 0) return Error{what + ": " + to_string(shape) + " is too large for a sparse tensor"};
  Tensor dense(values.dtype(), shape);
  const auto bytes = static_cast<std::size_t>(size_of(dense.dtype()));
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t place = whole ? places.integer(i) : 0;
    bool inside = place >= 0 && place < size;
    for (std::int64_t d = 0; !whole && d < rank; ++d) {
      const std::int64_t at = places.integer(i * rank + d), extent = shape[static_cast<std::size_t>(d)];
      inside = inside && at >= 0 && at < extent;
      place = place * extent + (inside ? at : 0);
    }
    if (!inside) return Error{what + ": value " + std::to_string(i) + " is outside of " + to_string(shape)};
    std::memcpy(static_cast<char*>(dense.data()) + static_cast<std::size_t>(place) * bytes,
                static_cast<const char*>(values.data()) + static_cast<std::size_t>(i) * bytes, bytes);
  }
  return dense;
}

}  // namespace whet
