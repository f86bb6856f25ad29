#include "tensor_files/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "graph/graph.h"
#include "tensor_files/file.h"
#include "tensor_files/zip.h"

namespace whet {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct TypeCode {
  std::string_view code;  ///< without the byte order
  DType dtype;
  /// Of integers that tensors do not have: reads the one in front of the bytes.
  std::int64_t (*read)(const char*) = nullptr;
  std::int64_t read_bytes = 0;

  std::int64_t bytes() const { return read != nullptr ? read_bytes : size_of(dtype); }
};

template <typename T>
std::int64_t read_as(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return static_cast<std::int64_t>(value);
}

/// Those that are written come first.
constexpr TypeCode kTypeCodes[] = {{"f4", DType::f32},
                                   {"f8", DType::f64},
                                   {"f2", DType::f16},
                                   {"i1", DType::i8},
                                   {"u1", DType::u8},
                                   {"i4", DType::i32},
                                   {"i8", DType::i64},
                                   {"b1", DType::boolean},
                                   {"i2", DType::i16},
                                   {"V2", DType::bf16},
                                   {"u2", DType::i32, read_as<std::uint16_t>, 2},
                                   {"u4", DType::i64, read_as<std::uint32_t>, 4},
                                   {"u8", DType::i64, read_as<std::uint64_t>, 8}};

struct Header {
  const TypeCode* code = nullptr;
  Shape shape;
};

/// Reads the header's Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& what) : text_(text), what_(what) {}

  Result<Header> read() {
    if (!accept('{')) return malformed();
    while (!accept('}')) {
      const auto key = quoted();
      if (!key || !accept(':')) return malformed();
      if (*key == "descr") {
        WHET_RETURN_IF_ERROR(read_dtype());
      } else if (*key == "fortran_order") {
        WHET_RETURN_IF_ERROR(read_order());
      } else if (*key == "shape") {
        WHET_RETURN_IF_ERROR(read_shape());
      } else {
        return malformed();
      }
      accept(',');
    }
    if (!code_ || !order_ || !shape_) return malformed();
    WHET_RETURN_IF_ERROR(check_shape(what_, *shape_));
    return Header{code_, *shape_};
  }

 private:
  Error malformed() const { return Error{what_ + ": the .npy header is damaged"}; }

  Status read_dtype() {
    const auto code = quoted();
    if (!code) return Error{what_ + ": structured arrays are not supported"};
    if (std::ranges::any_of(*code, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }))
      return malformed();  // messages quote it
    const bool ordered = !code->empty() && std::strchr("<>|=", code->front()) != nullptr;
    const std::string_view kind = ordered ? code->substr(1) : *code;
    for (const TypeCode& known : kTypeCodes) {
      if (kind != known.code) continue;
      if (code->front() == '>' && known.bytes() > 1) {
        return Error{what_ + ": the array is big endian (\"" + std::string(*code) + "\"); expected little endian"};
      }
      code_ = &known;
      return ok_status();
    }
    return Error{what_ + ": the element type is \"" + std::string(*code) +
                 "\"; expected f4, f8, f2, i1, u1, i2, u2, i4, u4, i8, u8, b1 or V2 (bf16)"};
  }

  Status read_order() {
    if (accept("True")) return Error{what_ + ": the array is in Fortran order; save it in C order"};
    if (!accept("False")) return malformed();
    order_ = true;
    return ok_status();
  }

  Status read_shape() {
    Shape shape;
    if (!accept('(')) return malformed();
    while (!accept(')')) {
      std::int64_t extent = 0;
      skip_spaces();
      const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (code != std::errc() || shape.size() >= 64) return malformed();
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      shape.push_back(extent);
      accept(',');
    }
    shape_ = shape;
    return ok_status();
  }

  void skip_spaces() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) text_.remove_prefix(1);
  }
  bool accept(std::string_view word) {
    skip_spaces();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  bool accept(char c) { return accept(std::string_view(&c, 1)); }
  std::optional<std::string_view> quoted() {
    skip_spaces();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return inside;
  }

  std::string_view text_;
  const std::string& what_;
  const TypeCode* code_ = nullptr;
  std::optional<bool> order_;
  std::optional<Shape> shape_;
};

std::string shape_literal(const Shape& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::string type_literal(DType dtype) {
  for (const TypeCode& known : kTypeCodes) {
    if (known.dtype == dtype) return (size_of(dtype) == 1 ? "|" : "<") + std::string(known.code);
  }
  WHET_CHECK(false, "every dtype has a code");
  return "";
}

std::string without_ending(const std::string& name, std::string_view ending) {
  return name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : name;
}

Result<Tensor> widened(const TypeCode& code, const TensorType& type, const char* bytes, const std::string& what) {
  Tensor tensor(type.dtype, type.shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const std::int64_t value = code.read(bytes + i * code.bytes());
    if (value < 0 && code.code == "u8")
      return Error{what + ": element " + std::to_string(i) + " is " +
                   std::to_string(static_cast<std::uint64_t>(value)) +
                   "; u8 is read as i64, which ends at 9223372036854775807"};
    tensor.set_integer(i, value);
  }
  return tensor;
}

}  // namespace

Result<Tensor> parse_npy(std::string_view bytes, const std::string& what) {
  if (bytes.size() < 10 || !bytes.starts_with(kMagic)) return Error{what + ": not a .npy file"};
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  const std::size_t version = byte(6), length_bytes = version == 1 ? 2 : 4;
  if (version < 1 || version > 3) return Error{what + ": .npy version " + std::to_string(version) + " is unknown"};
  if (bytes.size() < 8 + length_bytes) return Error{what + ": the .npy header is cut off"};
  std::size_t header = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) header |= byte(8 + i) << (8 * i);
  const std::size_t begin = 8 + length_bytes;
  if (header > bytes.size() - begin) return Error{what + ": the .npy header is cut off"};
  WHET_TRY(const Header read, HeaderReader(bytes.substr(begin, header), what).read());
  const TensorType type{read.code->dtype, read.shape};
  const std::size_t data = bytes.size() - begin - header;
  const std::size_t wanted = static_cast<std::size_t>(num_elements(type.shape) * read.code->bytes());
  if (data != wanted) {
    return Error{what + ": " + to_string(type) + " needs " + std::to_string(wanted) + " bytes; the file holds " +
                 std::to_string(data)};
  }
  if (read.code->read != nullptr) return widened(*read.code, type, bytes.data() + begin + header, what);
  Tensor tensor(type.dtype, type.shape);
  std::memcpy(tensor.data(), bytes.data() + begin + header, wanted);
  if (type.dtype == DType::boolean) {
    for (std::uint8_t& b : tensor.as<std::uint8_t>()) b = b != 0;
  }
  return tensor;
}

std::string format_npy(const Tensor& tensor) {
  std::string header = "{'descr': '" + type_literal(tensor.dtype()) +
                       "', 'fortran_order': False, 'shape': " + shape_literal(tensor.shape()) + ", }";
  // The data begins at a multiple of 64 bytes; the header ends with a newline.
  header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  bytes += header;
  bytes.append(static_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes()));
  return bytes;
}

Result<std::vector<NamedTensor>> parse_npz(std::string_view bytes, const std::string& what) {
  WHET_TRY(const std::vector<ZipMember> members, parse_zip(bytes, what));
  std::vector<NamedTensor> tensors;
  for (const ZipMember& member : members) {
    WHET_TRY(const std::string content, unzip(member, what));
    WHET_TRY(Tensor tensor, parse_npy(content, what + ": member \"" + member.name + "\""));
    tensors.push_back({without_ending(member.name, ".npy"), std::move(tensor)});
  }
  return tensors;
}

Result<std::string> format_npz(const std::vector<NamedTensor>& tensors) {
  ZipWriter zip;
  for (const NamedTensor& named : tensors) WHET_RETURN_IF_ERROR(zip.add(named.name + ".npy", format_npy(named.tensor)));
  return std::move(zip).finish();
}

Status save_npy(const std::string& path, const Tensor& tensor) { return write_file(path, format_npy(tensor)); }

Status save_npz(const std::string& path, const std::vector<NamedTensor>& tensors) {
  WHET_TRY(const std::string bytes, format_npz(tensors));
  return write_file(path, bytes);
}

}  // namespace whet
