#include "import_onnx/reader.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_set>

#include "graph/graph.h"
#include "import_onnx/decode_tensor.h"
#include "import_onnx/held_types.h"

namespace whet {
namespace {

using onnx::TensorProto;

Result<std::shared_ptr<const OnnxSubgraph>> decode_subgraph(const onnx::GraphProto& proto, Beside& beside,
                                                            const std::string& what);

Result<OnnxAttribute> decode_attribute(const onnx::AttributeProto& proto, Beside& beside, const std::string& what) {
  using Proto = onnx::AttributeProto;
  OnnxAttribute attribute{proto.name(), {}};
  if (!proto.ref_attr_name().empty()) {
    attribute.value = OnnxAttribute::Reference{proto.ref_attr_name()};
    return attribute;
  }
  switch (proto.type()) {
    case Proto::INT:
      attribute.value = static_cast<std::int64_t>(proto.i());
      break;
    case Proto::FLOAT:
      attribute.value = static_cast<double>(proto.f());
      break;
    case Proto::STRING:
      attribute.value = proto.s();
      break;
    case Proto::INTS:
      attribute.value = std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end());
      break;
    case Proto::FLOATS:
      attribute.value = std::vector<double>(proto.floats().begin(), proto.floats().end());
      break;
    case Proto::STRINGS:
      attribute.value = std::vector<std::string>(proto.strings().begin(), proto.strings().end());
      break;
    case Proto::TENSOR: {
      WHET_TRY(attribute.value, decode_tensor(proto.t(), beside, what + ": attribute \"" + proto.name() + "\""));
      break;
    }
    case Proto::SPARSE_TENSOR: {
      WHET_TRY(attribute.value,
               decode_sparse(proto.sparse_tensor(), beside, what + ": attribute \"" + proto.name() + "\""));
      break;
    }
    case Proto::GRAPH: {
      WHET_TRY(attribute.value, decode_subgraph(proto.g(), beside, what));
      break;
    }
    default:
      attribute.value = OnnxAttribute::Other{Proto::AttributeType_Name(proto.type())};
  }
  return attribute;
}

void find_captured(const OnnxSubgraph& graph, std::vector<std::string>& captured);

std::string standard_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

/// The texts of a field that the protobuf classes do not know yet: they are of an older version of the standard.
template <typename Proto>
std::vector<std::string> newer_field(const Proto& proto, int number) {
  std::vector<std::string> texts;
  const auto& fields = proto.unknown_fields();
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    const bool text = field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED;
    if (text && field.number() == number) texts.push_back(field.length_delimited());
  }
  return texts;
}

template <typename Proto>
std::string overload_of(const Proto& proto, int number) {
  const std::vector<std::string> texts = newer_field(proto, number);
  return texts.empty() ? "" : texts.back();
}

Result<OnnxNode> decode_node(const onnx::NodeProto& proto, int index, Beside& beside) {
  OnnxNode node;
  node.name = proto.name();
  node.op = proto.op_type();
  node.domain = standard_domain(proto.domain());
  node.overload = overload_of(proto, 8);
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  const std::string what = node.name.empty() ? node.op + "_" + std::to_string(index) : node.name;
  for (const auto& attribute : proto.attribute()) {
    WHET_TRY(OnnxAttribute decoded, decode_attribute(attribute, beside, what));
    if (const auto* graph = std::get_if<std::shared_ptr<const OnnxSubgraph>>(&decoded.value)) {
      find_captured(**graph, node.captured);
    }
    node.attributes.push_back(std::move(decoded));
  }
  return node;
}

/// What a subgraph reads and does not define itself.
void find_captured(const OnnxSubgraph& graph, std::vector<std::string>& captured) {
  std::unordered_set<std::string> own(graph.inputs.begin(), graph.inputs.end());
  for (const NamedTensor& initializer : graph.initializers) own.insert(initializer.name);
  const auto read = [&](const std::string& name) {
    if (!name.empty() && own.insert(name).second) captured.push_back(name);
  };
  for (const OnnxNode& node : graph.nodes) {
    std::for_each(node.inputs.begin(), node.inputs.end(), read);
    std::for_each(node.captured.begin(), node.captured.end(), read);
    own.insert(node.outputs.begin(), node.outputs.end());
  }
  std::for_each(graph.outputs.begin(), graph.outputs.end(), read);
}

Result<std::shared_ptr<const OnnxSubgraph>> decode_subgraph(const onnx::GraphProto& proto, Beside& beside,
                                                            const std::string& what) {
  auto graph = std::make_shared<OnnxSubgraph>();
  for (const auto& initializer : proto.initializer()) {
    WHET_TRY(Tensor tensor, decode_tensor(initializer, beside, what + ": initializer \"" + initializer.name() + "\""));
    graph->initializers.push_back({initializer.name(), std::move(tensor)});
  }
  for (const auto& sparse : proto.sparse_initializer()) {
    const std::string& name = sparse.values().name();
    WHET_TRY(Tensor tensor, decode_sparse(sparse, beside, what + ": sparse initializer \"" + name + "\""));
    graph->initializers.push_back({name, std::move(tensor)});
  }
  for (int i = 0; i < proto.node_size(); ++i) {
    WHET_TRY(OnnxNode node, decode_node(proto.node(i), i, beside));
    graph->nodes.push_back(std::move(node));
  }
  for (const auto& input : proto.input()) graph->inputs.push_back(input.name());
  for (const auto& output : proto.output()) graph->outputs.push_back(output.name());
  return std::shared_ptr<const OnnxSubgraph>(std::move(graph));
}

OnnxInput decode_input(const onnx::ValueInfoProto& proto, bool native_types) {
  OnnxInput input{proto.name(), std::nullopt, std::nullopt};
  // An optional input is there.
  const onnx::TypeProto& given =
      proto.type().has_optional_type() ? proto.type().optional_type().elem_type() : proto.type();
  input.is_sequence = given.has_sequence_type();
  const auto& type = input.is_sequence ? given.sequence_type().elem_type().tensor_type() : given.tensor_type();
  input.dtype = dtype_of_onnx(type.elem_type(), native_types);
  if (!type.has_shape()) return input;
  input.dimensions.emplace();
  for (const auto& dim : type.shape().dim()) {
    OnnxDimension dimension;
    // -1 and 0 are how some exporters write "unknown".
    if (dim.has_dim_value() && dim.dim_value() != 0 && dim.dim_value() != -1) dimension.extent = dim.dim_value();
    if (dim.has_dim_param()) dimension.symbol = dim.dim_param();
    input.dimensions->push_back(dimension);
  }
  return input;
}

template <typename Proto>
Result<std::int64_t> standard_opset(const Proto& proto, const std::string& what, std::int64_t fallback = 0) {
  std::int64_t opset = fallback;
  for (const auto& import : proto.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") opset = import.version();
  }
  if (opset >= 1 && opset <= 24) return opset;
  return Error{what + ": uses operator set " + std::to_string(opset) + " of ONNX; 1 to 24 are supported"};
}

/// `opset`: the model's, for a function that names none.
Result<OnnxFunction> decode_function(const onnx::FunctionProto& proto, const std::string& what, std::int64_t opset,
                                     Beside& beside) {
  OnnxFunction function;
  WHET_TRY(function.opset, standard_opset(proto, what, opset));
  function.attributes.assign(proto.attribute().begin(), proto.attribute().end());
  for (const std::string& bytes : newer_field(proto, 11)) {
    onnx::AttributeProto attribute;
    if (!attribute.ParseFromString(bytes)) return Error{what + ": a default of its attributes is damaged"};
    WHET_TRY(OnnxAttribute decoded, decode_attribute(attribute, beside, what));
    function.defaults.push_back(std::move(decoded));
  }
  for (int i = 0; i < proto.node_size(); ++i) {
    WHET_TRY(OnnxNode node, decode_node(proto.node(i), i, beside));
    function.body.nodes.push_back(std::move(node));
  }
  function.body.inputs.assign(proto.input().begin(), proto.input().end());
  function.body.outputs.assign(proto.output().begin(), proto.output().end());
  return function;
}

Status decode_functions(const onnx::ModelProto& proto, Beside& beside, OnnxModel& model) {
  for (const auto& function : proto.functions()) {
    const OnnxFunctionName name{standard_domain(function.domain()), function.name(), overload_of(function, 13)};
    const std::string what = "function \"" + function.name() + "\"";
    WHET_TRY(OnnxFunction decoded, decode_function(function, what, model.opset, beside));
    if (!model.functions.emplace(name, std::move(decoded)).second) return Error{what + " occurs twice in the file"};
  }
  return ok_status();
}

Result<OnnxModel> decode_model(onnx::ModelProto& proto, Beside& beside, const std::string& what) {
  if (!proto.has_graph()) return Error{what + ": not an ONNX model (it holds no graph)"};
  OnnxModel model;
  model.native_types = beside.native_types;
  const auto is_held = [&](int type) { return is_held_wider(type, beside.native_types); };
  model.graph_name = proto.graph().name();
  WHET_TRY(model.opset, standard_opset(proto, what));
  auto& graph = *proto.mutable_graph();
  std::unordered_set<std::string> initialized;
  for (auto& initializer : *graph.mutable_initializer()) {
    const std::string who = "initializer \"" + initializer.name() + "\"";
    if (!initialized.insert(initializer.name()).second) return Error{who + " occurs twice in the file"};
    WHET_TRY(Tensor tensor, decode_tensor(initializer, beside, who));
    model.initializers.push_back({initializer.name(), std::move(tensor)});
    if (is_held(initializer.data_type())) model.held_types[initializer.name()] = initializer.data_type();
    initializer.Clear();  // its bytes are not needed twice
  }
  for (const auto& sparse : graph.sparse_initializer()) {
    const std::string name = sparse.values().name(), who = "sparse initializer \"" + name + "\"";
    if (!initialized.insert(name).second) return Error{who + " occurs twice in the file"};
    WHET_TRY(Tensor tensor, decode_sparse(sparse, beside, who));
    model.initializers.push_back({name, std::move(tensor)});
    if (is_held(sparse.values().data_type())) model.held_types[name] = sparse.values().data_type();
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    WHET_TRY(OnnxNode node, decode_node(graph.node(i), i, beside));
    for (const auto& attribute : graph.node(i).attribute())
      if (node.op == "Constant" && !node.outputs.empty() && is_held(attribute.t().data_type()))
        model.held_types[node.outputs[0]] = attribute.t().data_type();
    model.nodes.push_back(std::move(node));
  }
  for (const auto& input : graph.input()) {  // old files list initializers as inputs too
    if (initialized.contains(input.name())) continue;
    model.inputs.push_back(decode_input(input, beside.native_types));
    const int type = input.type().tensor_type().elem_type();
    if (is_held(type)) model.held_types[input.name()] = type;
  }
  for (const auto& output : graph.output()) model.outputs.push_back(output.name());
  WHET_RETURN_IF_ERROR(decode_functions(proto, beside, model));
  return model;
}

Result<onnx::ModelProto> parse_model_proto(std::string_view bytes, const std::string& what) {
  onnx::ModelProto proto;
  if (bytes.empty()) return Error{what + ": the file is empty"};
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return Error{what + ": the file is larger than 2 GiB; save its weights as external data"};
  }
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Error{what + ": not a valid ONNX file (damaged or cut off)"};
  }
  return proto;
}

}  // namespace

std::string full_name(const OnnxNode& node) { return node.domain.empty() ? node.op : node.domain + "." + node.op; }

const OnnxFunction* called_function(const OnnxModel& model, const OnnxNode& node) {
  if (model.functions.empty()) return nullptr;
  const auto found = model.functions.find({node.domain, node.op, node.overload});
  return found == model.functions.end() ? nullptr : &found->second;
}

Result<OnnxModel> parse_onnx(std::string bytes, const std::string& directory, const std::string& what,
                             bool native_types) {
  WHET_TRY(onnx::ModelProto proto, parse_model_proto(bytes, what));
  std::string().swap(bytes);
  Beside beside{.directory = directory, .native_types = native_types};
  return decode_model(proto, beside, what);
}

Result<NamedTensor> parse_tensor_proto(std::string_view bytes, const std::string& what, bool native_types) {
  TensorProto proto;
  const bool fits = bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (!fits || !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Error{what + ": not a valid TensorProto (damaged or cut off)"};
  }
  if (proto.data_location() == TensorProto::EXTERNAL) return Error{what + ": external data is not supported here"};
  Beside nothing{.native_types = native_types};
  WHET_TRY(Tensor tensor, decode_tensor(proto, nothing, what));
  return NamedTensor{proto.name(), std::move(tensor)};
}

int onnx_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return TensorProto::FLOAT;
    case DType::f64:
      return TensorProto::DOUBLE;
    case DType::f16:
      return TensorProto::FLOAT16;
    case DType::i8:
      return TensorProto::INT8;
    case DType::u8:
      return TensorProto::UINT8;
    case DType::i32:
      return TensorProto::INT32;
    case DType::i64:
      return TensorProto::INT64;
    case DType::boolean:
      return TensorProto::BOOL;
    case DType::bf16:
      return TensorProto::BFLOAT16;
    case DType::i16:
      return TensorProto::INT16;
  }
  return TensorProto::UNDEFINED;
}

std::optional<DType> dtype_of_onnx(std::int64_t number, bool native_types) {
  if (!native_types && number == TensorProto::INT16) return DType::i32;
  if (!native_types && number == TensorProto::BFLOAT16) return DType::f32;
  for (const DType dtype : kDTypes)
    if (onnx_type(dtype) == number) return dtype;
  if (number == TensorProto::UINT16) return DType::i32;
  if (number == TensorProto::UINT32 || number == TensorProto::UINT64) return DType::i64;
  if (number == kUint4 || number == kInt4) return number == kUint4 ? DType::u8 : DType::i8;
  return std::nullopt;
}

std::string onnx_type_name(std::int64_t number) {
  if (number == kUint4 || number == kInt4) return number == kUint4 ? "UINT4" : "INT4";
  const auto small = static_cast<int>(number);
  return small == number && TensorProto::DataType_IsValid(small)
             ? TensorProto::DataType_Name(static_cast<TensorProto::DataType>(small))
             : "number " + std::to_string(number);
}

}  // namespace whet
