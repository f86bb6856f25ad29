#pragma once

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "import/file_model.h"
#include "tensor/tensor.h"

/// An ONNX file as plain structs: the places (with export) that see protobuf are reader.cc and decode_tensor.cc.
namespace whet {

struct OnnxSubgraph;

struct OnnxAttribute {
  std::string name;
  /// Stands for kinds that no importer reads (lists of graphs, types): their name.
  struct Other {
    std::string kind;
  };
  /// In the body of a function: what the call gives under this name.
  struct Reference {
    std::string name;
  };
  std::variant<std::int64_t, double, std::string, Tensor, std::vector<std::int64_t>, std::vector<double>,
               std::vector<std::string>, Other, std::shared_ptr<const OnnxSubgraph>, Reference>
      value;
};

struct OnnxNode {
  std::string name;  ///< may be empty
  std::string op, domain;
  std::vector<std::string> inputs, outputs;  ///< "" where an optional one is left out
  std::vector<OnnxAttribute> attributes;
  std::vector<std::string> captured;  ///< names that its subgraphs read from around them
  std::string overload;               ///< which one of several functions of the same name; mostly empty
};

/// The body of an If, a Loop, a Scan or a function. Its nodes are in order.
struct OnnxSubgraph {
  std::vector<OnnxNode> nodes;
  std::vector<NamedTensor> initializers;
  std::vector<std::string> inputs, outputs;
};

struct OnnxFunctionName {
  std::string domain, op, overload;
  friend auto operator<=>(const OnnxFunctionName&, const OnnxFunctionName&) = default;
};

/// An operator that the model itself defines. A node that names it stands for the body.
struct OnnxFunction {
  std::int64_t opset = 0;               ///< of the standard's operators in the body
  std::vector<std::string> attributes;  ///< that a call may give; those left out and without a default are absent
  std::vector<OnnxAttribute> defaults;
  OnnxSubgraph body;
};

using OnnxDimension = FileDimension;
using OnnxInput = FileInput;

struct OnnxModel {
  std::string graph_name;
  std::int64_t opset = 0;  ///< of the standard's operators
  std::vector<OnnxNode> nodes;
  std::vector<NamedTensor> initializers;
  std::vector<OnnxInput> inputs;  ///< without those that are initializers
  std::vector<std::string> outputs;
  std::map<OnnxFunctionName, OnnxFunction> functions;
  std::map<std::string, std::int64_t> held_types;  ///< of constants and inputs that are held in a wider type
  bool native_types = false;                       ///< BFLOAT16 and INT16 are taken as they are
};

/// The operator as messages have it: "Relu", "com.acme.Gelu3".
std::string full_name(const OnnxNode&);
/// The function of the model that a node calls, or null where it names an operator of the standard.
const OnnxFunction* called_function(const OnnxModel&, const OnnxNode&);

/// Reads a model from the bytes of a file, which are freed before its tensors are decoded; `directory` holds external data,
/// `what` begins messages. Errors name the file, and the tensor or node at fault. `native_types`: dtype_of_onnx.
Result<OnnxModel> parse_onnx(std::string bytes, const std::string& directory, const std::string& what,
                             bool native_types = false);
/// One serialized TensorProto.
Result<NamedTensor> parse_tensor_proto(std::string_view bytes, const std::string& what, bool native_types = false);

/// The standard's number of an element type, and back; none where the other side has no such type. Types that whet does not
/// have are held in wider ones: INT4 in i8, UINT4 in u8, UINT16 in i32, UINT32 and UINT64 in i64; and so are INT16 in i32 and
/// BFLOAT16 in f32, unless these are taken as they are: `native_types`.
int onnx_type(DType);
std::optional<DType> dtype_of_onnx(std::int64_t number, bool native_types);
/// "FLOAT", "INT64", ...; the number where it has no name.
std::string onnx_type_name(std::int64_t number);

}  // namespace whet
