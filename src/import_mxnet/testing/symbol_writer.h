#pragma once

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "import/testing/imported.h"
#include "import_mxnet/import_mxnet.h"
#include "json/json.h"
#include "tensor/tensor.h"

/// Symbols and parameters of MXNet, written by test code.
namespace whet::mxnet {

/// What a reader makes of a file's bytes, or of a file; `what` begins messages.
inline Result<Graph> imported(const std::string& bytes, const std::string& what, const ImportOptions& options = {}) {
  return whet::imported(read_mxnet_model, {what, "", bytes}, options);
}
inline Result<Graph> imported_file(const std::string& path, const ImportOptions& options = {}) {
  return whet::imported_file(read_mxnet_model, path, options);
}

class SymbolWriter {
 public:
  using Attributes = std::vector<std::pair<std::string, std::string>>;

  /// Gives the node's number.
  int node(const std::string& op, const std::string& name, const std::vector<int>& inputs,
           const Attributes& attributes = {}) {
    Json list = Json::array(), values = Json::object();
    for (const int input : inputs) list.add(Json::array().add(input % 1000000).add(input / 1000000).add(0));
    for (const auto& [key, value] : attributes) values.set(key, value);
    nodes_.add(Json::object().set("op", op).set("name", name).set(field, values).set("inputs", list));
    return count_++;
  }
  int null(const std::string& name) { return node("null", name, {}); }
  /// Result `i` of a node as an input.
  static int result(int node, int i) { return node + 1000000 * i; }
  std::string json(const std::vector<int>& heads) const {
    Json list = Json::array();
    for (const int head : heads) list.add(Json::array().add(head % 1000000).add(head / 1000000).add(0));
    return dump(Json::object().set("nodes", nodes_).set("arg_nodes", Json::array()).set("heads", list));
  }

  std::string field = "attrs";  ///< "param" and "attr" in older files

 private:
  Json nodes_ = Json::array();
  int count_ = 0;
};

/// A .params file; `version`: 0 to 3.
inline std::string params_bytes(const std::vector<std::pair<std::string, Tensor>>& tensors, int version = 2) {
  std::string bytes;
  const auto put = [&](std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
  };
  const auto flag = [](DType dtype) {
    switch (dtype) {
      case DType::f64:
        return 1;
      case DType::f16:
        return 2;
      case DType::i32:
        return 4;
      default:
        return 0;
    }
  };
  put(0x112, 8);
  put(0, 8);
  put(tensors.size(), 8);
  for (const auto& [name, tensor] : tensors) {
    if (version > 0) put(0xF993fac7 + static_cast<std::uint64_t>(version), 4);
    if (version >= 2) put(0, 4);
    put(tensor.shape().size(), 4);
    for (const std::int64_t extent : tensor.shape()) put(static_cast<std::uint64_t>(extent), version > 0 ? 8 : 4);
    put(1, 4);
    put(0, 4);
    put(static_cast<std::uint64_t>(flag(tensor.dtype())), 4);
    bytes.append(static_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes()));
  }
  put(tensors.size(), 8);
  for (const auto& [name, tensor] : tensors) {
    put(name.size(), 8);
    bytes += name;
  }
  return bytes;
}

}  // namespace whet::mxnet
