#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "tensor/tensor.h"

/// A TensorFlow graph as its file has it, free of protobuf.
namespace whet::tensorflow {

/// The file's number of a type of elements; references to variables of TensorFlow 1 (+100) are what they refer to.
struct TfType {
  int number = 0;
};
std::optional<DType> dtype_of(TfType);  ///< bfloat16 is computed as f32
TfType type_of(DType);
std::string name_of(TfType);

struct TfShape {
  bool has_rank = true;
  Shape extents;  ///< -1: open
};

struct TfFunctionName {
  std::string name;
};

/// A tensor; texts; or why it is neither.
struct TfText {
  std::vector<std::string> elements;
};
struct TfUnread {
  std::string reason;
};
using TfTensor = std::variant<Tensor, TfText, TfUnread>;

struct TfList {
  std::vector<std::string> texts;
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
  std::vector<TfType> types;
  std::vector<TfShape> shapes;
  std::vector<std::string> functions;
};

using TfAttribute = std::variant<std::monostate, std::string, std::int64_t, double, bool, TfType, TfShape, TfTensor,
                                 TfFunctionName, TfList>;

struct TfNode {
  std::string name, op;
  /// As the file writes them: "node", "node:1", in functions "argument" or "node:output:0". Behind inlining: names of values,
  /// which are "node" (its first result) or "node:1".
  std::vector<std::string> inputs;
  /// Nodes that run before. Behind inlining: the results of Switches that decide whether those run.
  std::vector<std::string> controls;
  std::map<std::string, TfAttribute> attributes;

  const TfAttribute* find(const std::string& attribute) const {
    const auto found = attributes.find(attribute);
    return found == attributes.end() ? nullptr : &found->second;
  }
};

struct TfFunction {
  std::string name;
  std::vector<std::string> arguments;
  std::vector<std::string> results;  ///< what each is, as inputs of nodes are written
  std::vector<TfNode> nodes;
};

struct TfEnd {
  std::string key;    ///< its name for users
  std::string value;  ///< "node:0"
  TfType type;
  TfShape shape;
};
struct TfSignature {
  std::vector<TfEnd> inputs, outputs;
};

/// A GraphDef with its functions, and the signatures and variables that its files add.
struct TfGraph {
  std::vector<TfNode> nodes;
  std::map<std::string, TfFunction> functions;
  std::map<std::string, TfSignature> signatures;
  std::string restore_node;  ///< reads the variables; empty: nothing does
};

/// What an operator's result called `name` (of several tensors: `index`) is among its results.
std::size_t result_place(const TfNode&, const std::string& name, std::size_t index);
/// How many results a node has, as far as its attributes say.
std::size_t result_count(const TfNode&);
/// How many of them are answers: not what only training reads.
std::size_t answer_count(const TfNode&);
/// "node" for the first result, else "node:1".
std::string value_name(const std::string& node, std::size_t result);

}  // namespace whet::tensorflow
