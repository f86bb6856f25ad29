#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "import/zoo/zoo.h"
#include "tensor/tensor.h"

namespace whet {

/// What an operator computes, in the notation of docs/formats/dag.md, with what docs/operators/own.md adds to it.
struct OperatorDefinition {
  std::string file;  ///< begins messages about the text
  std::string text;
};
/// By the names of operators as messages have them: "com.acme.Gelu3".
using OperatorDefinitions = std::map<std::string, OperatorDefinition>;

/// How a model is imported: `import_model`.
struct ImportOptions {
  /// Binds the dimensions of inputs: `--shape name=1x3x224x224`. Fixed dimensions of the file must agree.
  std::map<std::string, Shape> shapes;
  /// Fixed dimensions of inputs that `shapes` binds to another extent, by input. What the nodes hold besides stays.
  std::map<std::string, std::set<std::size_t>> opened;
  /// Known values of inputs. One that decides a shape (of Reshape, Slice, Expand, ...) is folded into the graph as a
  /// constant and is no input any more; the others change nothing but bind their input's dimensions.
  std::map<std::string, Tensor> values;
  /// Values of a file that are the outputs instead of its own: `--until boxes --until scores`. Empty: its own.
  std::vector<std::string> until;
  /// Which of several functions or programs of a file: `--entry NAME`. Empty: the only one, or the usual one.
  std::string entry;
  /// Tensors of bf16 and i16 are that: inputs, outputs, weights and all between. Else they are held in f32 and i32.
  bool native_types = false;
  /// Operators that whet does not read, or is to read otherwise: `--define com.acme.Gelu3=gelu3.dag`.
  OperatorDefinitions definitions = {};
  /// For "zoo:NAME".
  ZooOptions zoo;
};

}  // namespace whet
