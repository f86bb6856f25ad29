#include "import_onnx/writer.h"

#include <limits>

#include "import_onnx/reader.h"

namespace whet {
namespace {

using onnx::AttributeProto;

void describe(onnx::ValueInfoProto& info, const Value& value) {
  info.set_name(value.name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_type(value.type.dtype));
  type.mutable_shape();  // a scalar has a shape too
  for (std::int64_t extent : value.type.shape) type.mutable_shape()->add_dim()->set_dim_value(extent);
}

AttributeProto& attribute(onnx::NodeProto& node, const char* key, AttributeProto::AttributeType type) {
  AttributeProto& made = *node.add_attribute();
  made.set_name(key);
  made.set_type(type);
  return made;
}

}  // namespace

OnnxWriter::OnnxWriter(const std::string& graph, int opset) {
  model_.set_ir_version(8);
  model_.set_producer_name("whet");
  model_.add_opset_import()->set_version(opset);
  this->graph().set_name(graph);
}

std::string OnnxWriter::unique(const std::string& wanted) {
  std::string candidate = wanted;
  for (int i = 1; !names_.insert(candidate).second; ++i) candidate = wanted + "_" + std::to_string(i);
  return candidate;
}

onnx::NodeProto& OnnxWriter::add_node(const std::string& name, const std::string& op,
                                      const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto& node = *graph().add_node();
  node.set_op_type(op);
  node.set_name(name);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

void OnnxWriter::add_constant(const std::string& name, const Tensor& tensor) {
  auto& out = *graph().add_initializer();
  out.set_name(name);
  out.set_data_type(onnx_type(tensor.dtype()));
  for (std::int64_t extent : tensor.shape()) out.add_dims(extent);
  out.set_raw_data(tensor.data(), static_cast<std::size_t>(tensor.bytes()));
}

void OnnxWriter::add_input(const Value& value) { describe(*graph().add_input(), value); }

void OnnxWriter::add_output(const Value& value) { describe(*graph().add_output(), value); }

Result<std::string> OnnxWriter::bytes() const {
  if (model_.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return Error{"the network is larger than 2 GiB, which an ONNX file cannot hold"};
  }
  return model_.SerializeAsString();
}

void set_attribute(onnx::NodeProto& node, const char* key, std::int64_t value) {
  attribute(node, key, AttributeProto::INT).set_i(value);
}
void set_attribute(onnx::NodeProto& node, const char* key, double value) {
  attribute(node, key, AttributeProto::FLOAT).set_f(static_cast<float>(value));
}
void set_attribute(onnx::NodeProto& node, const char* key, const char* value) {
  attribute(node, key, AttributeProto::STRING).set_s(value);
}
void set_attribute(onnx::NodeProto& node, const char* key, const std::vector<std::int64_t>& values) {
  AttributeProto& list = attribute(node, key, AttributeProto::INTS);
  for (std::int64_t value : values) list.add_ints(value);
}

}  // namespace whet
