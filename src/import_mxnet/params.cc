#include "import_mxnet/params.h"

#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include "base/nearest.h"
#include "graph/graph.h"

namespace whet::mxnet {
namespace {

constexpr std::uint32_t kVersion1 = 0xF993fac8, kVersion2 = 0xF993fac9, kVersion3 = 0xF993faca;
constexpr std::uint64_t kList = 0x112;

struct Flag {
  const char* name;
  std::optional<DType> dtype;
  std::size_t bytes;
};
constexpr std::size_t kBfloat16 = 12;
const Flag kFlags[] = {{"float32", DType::f32, 4}, {"float64", DType::f64, 8},  {"float16", DType::f16, 2},
                       {"uint8", DType::u8, 1},    {"int32", DType::i32, 4},    {"int8", DType::i8, 1},
                       {"int64", DType::i64, 8},   {"bool", DType::boolean, 1}, {"int16", {}, 2},
                       {"uint16", {}, 2},          {"uint32", {}, 4},           {"uint64", {}, 8},
                       {"bfloat16", DType::f32, 2}};

/// Numbers one after the other; the first that is not there ends the reading.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  T number() {
    T value{};
    take(sizeof(T)).copy(reinterpret_cast<char*>(&value), sizeof(T));
    return value;
  }
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) {
      is_cut_off = true;
      return {};
    }
    const std::string_view part = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return part;
  }
  std::size_t left() const { return rest_.size(); }

  bool is_cut_off = false;

 private:
  std::string_view rest_;
};

class ParamsReader {
 public:
  ParamsReader(std::string_view bytes, const std::string& what) : in_(bytes), what_(what) {}

  Result<std::map<std::string, Tensor>> read() {
    if (in_.number<std::uint64_t>() != kList) return Error{what_ + ": is no list of MXNet's parameters"};
    in_.number<std::uint64_t>();
    const auto count = in_.number<std::uint64_t>();
    std::vector<Tensor> tensors;
    if (count > in_.left()) return cut_off();
    for (std::uint64_t i = 0; i < count; ++i) {
      WHET_TRY(Tensor tensor, array(i));
      tensors.push_back(std::move(tensor));
    }
    const auto names = in_.number<std::uint64_t>();
    if (in_.is_cut_off || names > in_.left()) return cut_off();
    const bool numbered = names == 0;  // a plain list: tensors are called "0", "1", ...
    if (names != count && !numbered)
      return Error{what_ + ": has " + std::to_string(count) + " tensors and " + std::to_string(names) + " names"};
    std::map<std::string, Tensor> named;
    for (Tensor& tensor : tensors) {
      std::string name = numbered ? std::to_string(named.size()) : std::string(in_.take(in_.number<std::uint64_t>()));
      if (name.starts_with("arg:") || name.starts_with("aux:")) name.erase(0, 4);
      named.emplace(std::move(name), std::move(tensor));
    }
    if (in_.is_cut_off) return cut_off();
    return named;
  }

 private:
  Error cut_off() const { return Error{what_ + ": is damaged or cut off"}; }

  /// The extents of an array; none where it holds nothing.
  Result<std::optional<Shape>> extents(std::uint32_t word, const std::string& at) {
    constexpr std::uint32_t kMostRank = 32;
    const bool is_old = word != kVersion1 && word != kVersion2 && word != kVersion3;
    const std::uint32_t rank = is_old ? word : in_.number<std::uint32_t>();
    const bool is_nothing = word == kVersion3 ? rank == 0xFFFFFFFF : rank == 0;
    if (is_nothing) return std::optional<Shape>();
    if (rank > kMostRank) return Error{at + " has " + std::to_string(rank) + " dimensions"};
    Shape shape;
    for (std::uint32_t d = 0; d < rank; ++d)
      shape.push_back(is_old ? std::int64_t{in_.number<std::uint32_t>()} : in_.number<std::int64_t>());
    if (in_.is_cut_off) return cut_off();
    WHET_RETURN_IF_ERROR(check_shape(at, shape));
    return std::optional(std::move(shape));
  }

  Result<Tensor> array(std::uint64_t i) {
    const std::string at = what_ + ": tensor " + std::to_string(i);
    const auto word = in_.number<std::uint32_t>();
    if (word == kVersion2 || word == kVersion3) {
      const auto storage = in_.number<std::int32_t>();
      if (storage != 0 && !in_.is_cut_off) return Error{at + " is sparse, which is not supported"};
    }
    WHET_TRY(const std::optional<Shape> shape, extents(word, at));
    if (!shape) return Tensor();
    in_.number<std::int64_t>();  // the device that it was on
    const auto flag = in_.number<std::uint32_t>();
    if (in_.is_cut_off) return cut_off();
    if (flag >= std::size(kFlags) || !kFlags[flag].dtype)
      return Error{at + " is of type " + (flag < std::size(kFlags) ? kFlags[flag].name : std::to_string(flag)) +
                   ", which is not supported"};
    const std::string_view data = in_.take(static_cast<std::uint64_t>(num_elements(*shape)) * kFlags[flag].bytes);
    if (in_.is_cut_off) return cut_off();
    Tensor tensor(*kFlags[flag].dtype, *shape);
    if (flag == kBfloat16) {
      for (std::size_t k = 0; k < data.size() / 2; ++k) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, data.data() + 2 * k, 2);
        tensor.as<float>()[k] = std::bit_cast<float>(std::uint32_t{bits} << 16);
      }
      return tensor;
    }
    if (!data.empty()) std::memcpy(tensor.data(), data.data(), data.size());
    if (tensor.dtype() == DType::boolean)
      for (std::uint8_t& truth : tensor.as<std::uint8_t>()) truth = truth != 0;
    return tensor;
  }

  Cursor in_;
  const std::string& what_;
};

}  // namespace

Result<std::map<std::string, Tensor>> parse_params(std::string_view bytes, const std::string& what) {
  return ParamsReader(bytes, what).read();
}

}  // namespace whet::mxnet
