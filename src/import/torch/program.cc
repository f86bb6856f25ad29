#include "import/torch/program.h"

namespace whet::torch {

std::optional<DType> dtype_of(ScalarType type) {
  switch (type.number) {
    case 1:
      return DType::u8;
    case 2:
      return DType::i8;
    case 4:
      return DType::i32;
    case 5:
      return DType::i64;
    case 6:
      return DType::f16;
    case 7:
    case 13:  // bf16
      return DType::f32;
    case 8:
      return DType::f64;
    case 12:
      return DType::boolean;
    default:
      return std::nullopt;
  }
}

std::optional<DType> type_of_parts(ScalarType type) {
  if (type.number == 9) return DType::f16;
  if (type.number == 10) return DType::f32;
  if (type.number == 11) return DType::f64;
  return std::nullopt;
}

std::string name_of(ScalarType type) {
  static constexpr const char* kNames[] = {"unknown",   "uint8",      "int8",    "int16",   "int32",
                                           "int64",     "float16",    "float32", "float64", "complex32",
                                           "complex64", "complex128", "bool",    "bfloat16"};
  const auto count = static_cast<std::int64_t>(std::size(kNames));
  if (type.number > 0 && type.number < count) return kNames[type.number];
  return type.number == 28 ? "uint16" : "number " + std::to_string(type.number);
}

std::string word_of(const std::string& op) {
  const std::size_t first = op.find('.'), second = op.find('.', first + 1);
  return first == std::string::npos ? op
                                    : op.substr(first + 1, second == std::string::npos ? second : second - first - 1);
}

void collect_names(const Argument& argument, std::vector<std::string>& names) {
  if (const Name* name = argument.name()) names.push_back(name->name);
  if (const auto* list = std::get_if<Arguments>(&argument.value))
    for (const Argument& each : *list) collect_names(each, names);
}

}  // namespace whet::torch
