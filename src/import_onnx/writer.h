#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// A file of ONNX that is being written: its nodes in order, its constants, and the names that are taken.
class OnnxWriter {
 public:
  OnnxWriter(const std::string& graph, int opset);

  /// A name that begins so and that nothing has, which is taken then.
  std::string unique(const std::string& wanted);
  void take(const std::string& name) { names_.insert(name); }

  onnx::NodeProto& add_node(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                            const std::string& output);
  void add_constant(const std::string& name, const Tensor&);
  void add_input(const Value&);
  void add_output(const Value&);

  /// Errors: more than 2 GiB.
  Result<std::string> bytes() const;

 private:
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }

  onnx::ModelProto model_;
  std::unordered_set<std::string> names_;
};

/// Attributes of a node.
void set_attribute(onnx::NodeProto&, const char* key, std::int64_t value);
void set_attribute(onnx::NodeProto&, const char* key, double value);
void set_attribute(onnx::NodeProto&, const char* key, const char* value);
void set_attribute(onnx::NodeProto&, const char* key, const std::vector<std::int64_t>& values);

}  // namespace whet
