#include "import_torch/program.h"

namespace whet::torch {

std::optional<DType> dtype_of(ScalarType type, bool native_types) {
  if (native_types && type.number == 3) return DType::i16;
  if (native_types && type.number == 13) return DType::bf16;
  switch (type.number) {
    case 1:
      return DType::u8;
    case 2:
      return DType::i8;
    case 3:  // int16
    case 4:
    case 28:  // uint16
      return DType::i32;
    case 5:
      return DType::i64;
    case 6:
      return DType::f16;
    case 7:
    case 13:  // bf16
    case 29:  // float8_e4m3fn
    case 30:  // float8_e5m2
      return DType::f32;
    case 8:
      return DType::f64;
    case 12:
      return DType::boolean;
    default:
      return std::nullopt;
  }
}

ScalarType script_type(std::int64_t number) { return {number == 15 ? 13 : number + 1}; }

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
  if (type.number == 29) return "float8_e4m3fn";
  if (type.number == 30) return "float8_e5m2";
  return type.number == 28 ? "uint16" : "number " + std::to_string(type.number);
}

FileInput input_like(const std::string& name, const Tensor& tensor) {
  FileInput input{name, tensor.dtype(), std::vector<FileDimension>{}};
  for (const std::int64_t extent : tensor.shape()) input.dimensions->push_back({extent, ""});
  return input;
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

namespace {

void rename(Argument& argument, const std::map<std::string, std::string>& names) {
  if (auto* name = std::get_if<Name>(&argument.value)) {
    const auto found = names.find(name->name);
    if (found != names.end()) name->name = found->second;
  }
  if (auto* list = std::get_if<Arguments>(&argument.value))
    for (Argument& each : *list) rename(each, names);
}

}  // namespace

void rename_reads(TorchProgram& program, const std::map<std::string, std::string>& names) {
  for (TorchNode& node : program.nodes)
    for (auto& [name, argument] : node.arguments) rename(argument, names);
  for (Name& output : program.outputs)
    if (const auto found = names.find(output.name); found != names.end()) output.name = found->second;
}

Error at_line(const TorchNode& node, Error error) {
  if (node.line.empty() || error.message.find(" (line ") != std::string::npos) return error;
  error.message += " (" + node.line + ")";
  return error;
}

}  // namespace whet::torch
