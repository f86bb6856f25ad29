#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "import/testing/imported.h"
#include "import_tf/import_tensorflow.h"
#include "tensor/tensor.h"

/// GraphDefs and SavedModels, written by test code.
namespace whet::tensorflow {

/// What a reader makes of a file's bytes, or of a file; `what` begins messages.
inline Result<Graph> imported(const std::string& bytes, const std::string& what, const ImportOptions& options = {}) {
  return whet::imported(bytes.starts_with('\x08') ? read_saved_model : read_graph_def_model, {what, "", bytes},
                        options);
}
inline Result<Graph> imported_file(const std::string& path, const ImportOptions& options = {}) {
  const bool is_browser_model = path.ends_with(".json") || std::filesystem::exists(path + "/model.json");
  return whet::imported_file(is_browser_model ? read_tfjs_model : read_saved_model, path, options);
}

/// A message of protobuf that grows field by field.
class Message {
 public:
  Message& number(unsigned field, std::uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  Message& text(unsigned field, const std::string& value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes += value;
    return *this;
  }
  Message& real(unsigned field, float value) {
    varint(field << 3 | 5);
    char raw[4];
    std::memcpy(raw, &value, 4);
    bytes.append(raw, 4);
    return *this;
  }
  Message& message(unsigned field, const Message& value) { return text(field, value.bytes); }

  std::string bytes;

 private:
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
    bytes += static_cast<char>(value);
  }
};

inline int number_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 1;
    case DType::f64:
      return 2;
    case DType::i32:
      return 3;
    case DType::u8:
      return 4;
    case DType::i8:
      return 6;
    case DType::i64:
      return 9;
    case DType::boolean:
      return 10;
    case DType::f16:
      return 19;
    case DType::bf16:
      return 14;
    case DType::i16:
      return 5;
  }
  return 0;
}
inline Message shape_message(const Shape& shape) {
  Message message;
  for (const std::int64_t extent : shape) message.message(2, Message().number(1, static_cast<std::uint64_t>(extent)));
  return message;
}

/// Values of attributes.
inline Message of_type(DType dtype) { return Message().number(6, static_cast<std::uint64_t>(number_of(dtype))); }
inline Message of_text(const std::string& text) { return Message().text(2, text); }
inline Message of_integer(std::int64_t value) { return Message().number(3, static_cast<std::uint64_t>(value)); }
inline Message of_flag(bool value) { return Message().number(5, value ? 1 : 0); }
inline Message of_real(float value) { return Message().real(4, value); }
inline Message of_function(const std::string& name) { return Message().message(10, Message().text(1, name)); }
inline Message of_shape(const Shape& shape) { return Message().message(7, shape_message(shape)); }
inline Message of_integers(const std::vector<std::int64_t>& values) {
  Message list;
  for (const std::int64_t value : values) list.number(3, static_cast<std::uint64_t>(value));
  return Message().message(1, list);
}
inline Message of_reals(const std::vector<float>& values) {
  Message list;
  for (const float value : values) list.real(4, value);
  return Message().message(1, list);
}
inline Message of_types(const std::vector<DType>& types) {
  Message list;
  for (const DType type : types) list.number(6, static_cast<std::uint64_t>(number_of(type)));
  return Message().message(1, list);
}
inline Message of_tensor(const Tensor& tensor) {
  Message message;
  message.number(1, static_cast<std::uint64_t>(number_of(tensor.dtype()))).message(2, shape_message(tensor.shape()));
  message.text(4, std::string(static_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())));
  return Message().message(8, message);
}

using Attributes = std::vector<std::pair<std::string, Message>>;

inline Message node_message(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                            const Attributes& attributes = {}) {
  Message node;
  node.text(1, name).text(2, op);
  for (const std::string& input : inputs) node.text(3, input);
  for (const auto& [key, value] : attributes) node.message(5, Message().text(1, key).message(2, value));
  return node;
}

/// A graph, or the body of a function, that grows node by node.
class GraphWriter {
 public:
  GraphWriter& node(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                    const Attributes& attributes = {}) {
    nodes_.push_back(node_message(name, op, inputs, attributes));
    return *this;
  }
  GraphWriter& input(const std::string& name, const Shape& shape, DType dtype = DType::f32) {
    return node(name, "Placeholder", {}, {{"dtype", of_type(dtype)}, {"shape", of_shape(shape)}});
  }
  GraphWriter& constant(const std::string& name, const Tensor& tensor) {
    return node(name, "Const", {}, {{"dtype", of_type(tensor.dtype())}, {"value", of_tensor(tensor)}});
  }
  GraphWriter& integers(const std::string& name, const std::vector<std::int64_t>& values) {
    return constant(name, Tensor::of(DType::i32, {static_cast<std::int64_t>(values.size())}, values));
  }
  /// `results`: what each is, like "node:output:0".
  GraphWriter& function(const std::string& name, const std::vector<std::string>& arguments,
                        const std::vector<std::string>& results, const GraphWriter& body) {
    Message signature, function;
    signature.text(1, name);
    for (const std::string& argument : arguments) signature.message(2, Message().text(1, argument));
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::string result = "result_" + std::to_string(i);
      signature.message(3, Message().text(1, result));
      function.message(4, Message().text(1, result).text(2, results[i]));
    }
    function.message(1, signature);
    for (const Message& node : body.nodes_) function.message(3, node);
    functions_.push_back(function);
    return *this;
  }
  std::string bytes() const {
    Message graph, library;
    for (const Message& node : nodes_) graph.message(1, node);
    for (const Message& function : functions_) library.message(1, function);
    if (!functions_.empty()) graph.message(2, library);
    return graph.bytes;
  }

 private:
  std::vector<Message> nodes_, functions_;
};

/// Names of a signature's ends, and their values.
using EndNames = std::vector<std::pair<std::string, std::string>>;
inline Message signature_message(const EndNames& inputs, const EndNames& outputs) {
  Message signature;
  for (const auto& [ends, field] : {std::pair(inputs, 1u), std::pair(outputs, 2u)})
    for (const auto& [key, value] : ends)
      signature.message(field,
                        Message().text(1, key).message(2, Message().text(1, value).message(3, Message().number(3, 1))));
  return signature;
}
inline std::string saved_model(const GraphWriter& graph,
                               const std::vector<std::pair<std::string, Message>>& signatures) {
  Message meta;
  meta.message(1, Message().text(4, "serve")).text(2, graph.bytes());
  for (const auto& [key, signature] : signatures) meta.message(5, Message().text(1, key).message(2, signature));
  return Message().number(1, 1).message(2, meta).bytes;
}

}  // namespace whet::tensorflow
