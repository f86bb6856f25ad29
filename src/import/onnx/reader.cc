#include "import/onnx/reader.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_set>

#include "graph/graph.h"
#include "import/weight_files.h"

namespace whet {
namespace {

using onnx::TensorProto;

/// What lies beside the model, and the tensors that were read of it.
struct Beside {
  std::string directory;
  WeightFiles files;
  std::map<std::tuple<std::string, std::uint64_t, std::int32_t, Shape>, Tensor> tensors;
};

struct ExternalData {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

std::optional<std::uint64_t> parse_count(const std::string& text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  std::uint64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

Result<ExternalData> external_data(const TensorProto& proto, const std::string& what) {
  ExternalData data;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") data.location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    const auto count = parse_count(entry.value());
    if (!count) {
      return Error{what + ": the " + entry.key() + " of its external data is \"" + entry.value() +
                   "\"; expected a number of bytes"};
    }
    if (entry.key() == "offset") data.offset = *count;
    if (entry.key() == "length") data.length = *count;
  }
  // A model may come from anywhere: it reads files beside it, nothing else.
  const std::filesystem::path location(data.location);
  bool inside = !data.location.empty() && location.is_relative();
  for (const auto& part : location) inside = inside && part != "..";
  if (inside) return data;
  return Error{what + ": its external data is in \"" + data.location + "\"; expected a file below the model's folder"};
}

template <typename T, typename Field>
void copy_field(const Field& field, Tensor& tensor) {
  auto out = tensor.as<T>();
  for (int i = 0; i < field.size(); ++i) out[static_cast<std::size_t>(i)] = static_cast<T>(field.Get(i));
}

/// Elements in the field that the standard assigns to the type.
std::int64_t typed_count(const TensorProto& proto, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return proto.float_data_size();
    case DType::f64:
      return proto.double_data_size();
    case DType::i64:
      return proto.int64_data_size();
    default:
      return proto.int32_data_size();
  }
}

void copy_typed(const TensorProto& proto, Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::f32:
      return copy_field<float>(proto.float_data(), tensor);
    case DType::f64:
      return copy_field<double>(proto.double_data(), tensor);
    case DType::i64:
      return copy_field<std::int64_t>(proto.int64_data(), tensor);
    case DType::i32:
      return copy_field<std::int32_t>(proto.int32_data(), tensor);
    case DType::f16:  // the bits of the half
      return copy_field<std::uint16_t>(proto.int32_data(), tensor);
    default:
      return copy_field<std::uint8_t>(proto.int32_data(), tensor);
  }
}

Error wrong_count(const std::string& what, const TensorType& type, std::size_t found, std::size_t wanted,
                  const char* unit) {
  return Error{what + ": " + to_string(type) + " needs " + std::to_string(wanted) + unit + "; the file holds " +
               std::to_string(found)};
}

/// Bytes of an element in the file: types that whet does not have are held in wider ones.
std::int64_t stored_bytes(const TensorProto& proto, DType held) {
  switch (proto.data_type()) {
    case TensorProto::INT16:
    case TensorProto::UINT16:
    case TensorProto::BFLOAT16:
      return 2;
    case TensorProto::UINT32:
      return 4;
    default:
      return size_of(held);
  }
}

/// The bits of an element in its held type.
void widen(int type, std::uint64_t bits, std::int64_t at, Tensor& tensor) {
  if (type == TensorProto::BFLOAT16) {
    tensor.as<float>()[static_cast<std::size_t>(at)] = std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
  } else if (type == TensorProto::INT16) {
    tensor.set_integer(at, static_cast<std::int16_t>(bits));
  } else {
    tensor.set_integer(at, static_cast<std::int64_t>(bits));
  }
}

/// Elements of a type that whet does not have.
Tensor widened_bytes(const TensorProto& proto, const TensorType& type, std::string_view bytes) {
  Tensor tensor(type.dtype, type.shape);
  const auto size = static_cast<std::size_t>(stored_bytes(proto, type.dtype));
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + static_cast<std::size_t>(i) * size, size);
    widen(proto.data_type(), bits, i, tensor);
  }
  return tensor;
}

/// The same from the field that the standard assigns to the type; "" where it has another number of values.
std::optional<Tensor> widened_field(const TensorProto& proto, const TensorType& type) {
  const bool small = stored_bytes(proto, type.dtype) == 2;
  const std::int64_t count = small ? proto.int32_data_size() : proto.uint64_data_size();
  if (count != num_elements(type.shape)) return std::nullopt;
  Tensor tensor(type.dtype, type.shape);
  for (int i = 0; i < count; ++i)
    widen(proto.data_type(), small ? static_cast<std::uint16_t>(proto.int32_data(i)) : proto.uint64_data(i), i, tensor);
  return tensor;
}

bool is_held_wider(int type) {
  return type == TensorProto::INT16 || type == TensorProto::UINT16 || type == TensorProto::UINT32 ||
         type == TensorProto::UINT64 || type == TensorProto::BFLOAT16;
}

Result<Tensor> tensor_of_bytes(const TensorProto& proto, const TensorType& type, std::string_view bytes,
                               const std::string& what) {
  if (is_held_wider(proto.data_type())) {
    const auto wanted = static_cast<std::size_t>(num_elements(type.shape) * stored_bytes(proto, type.dtype));
    if (bytes.size() != wanted) return wrong_count(what, type, bytes.size(), wanted, " bytes");
    return widened_bytes(proto, type, bytes);
  }
  const auto wanted = static_cast<std::size_t>(num_elements(type.shape) * size_of(type.dtype));
  if (bytes.size() != wanted) return wrong_count(what, type, bytes.size(), wanted, " bytes");
  Tensor tensor(type.dtype, type.shape);
  if (wanted > 0) std::memcpy(tensor.data(), bytes.data(), wanted);
  return tensor;
}

/// Tensors of the same bytes share them.
Result<Tensor> external_tensor(const TensorProto& proto, const TensorType& type, Beside& beside,
                               const std::string& what) {
  WHET_TRY(const ExternalData data, external_data(proto, what));
  const auto wanted = static_cast<std::uint64_t>(num_elements(type.shape) * stored_bytes(proto, type.dtype));
  if (data.length && *data.length != wanted) return wrong_count(what, type, *data.length, wanted, " bytes");
  const auto place = std::make_tuple(data.location, data.offset, proto.data_type(), type.shape);
  if (const auto known = beside.tensors.find(place); known != beside.tensors.end()) return known->second;
  const std::string path = (std::filesystem::path(beside.directory) / data.location).string();
  auto bytes = beside.files.read(path, data.offset, wanted);
  if (!bytes.ok()) return Error{what + ": " + bytes.error().message};
  WHET_TRY(Tensor tensor, tensor_of_bytes(proto, type, *bytes, what));
  return beside.tensors.emplace(place, std::move(tensor)).first->second;
}

/// Memory is allotted only once the file is known to hold that much.
Result<Tensor> decode_elements(const TensorProto& proto, const TensorType& type, Beside& beside,
                               const std::string& what) {
  if (proto.data_location() == TensorProto::EXTERNAL) return external_tensor(proto, type, beside, what);
  if (proto.has_raw_data()) return tensor_of_bytes(proto, type, proto.raw_data(), what);
  if (is_held_wider(proto.data_type())) {
    if (auto tensor = widened_field(proto, type)) return *std::move(tensor);
    return Error{what + ": " + to_string(type) + " does not have " + std::to_string(num_elements(type.shape)) +
                 " values in the field of its type"};
  }
  const std::int64_t count = typed_count(proto, type.dtype), wanted = num_elements(type.shape);
  if (count != wanted) {
    return wrong_count(what, type, static_cast<std::size_t>(count), static_cast<std::size_t>(wanted), " values");
  }
  Tensor tensor(type.dtype, type.shape);
  copy_typed(proto, tensor);
  return tensor;
}

Result<Tensor> decode_tensor(const TensorProto& proto, Beside& beside, const std::string& what) {
  const auto dtype = dtype_of_onnx(proto.data_type());
  if (!dtype) {
    return Error{what + ": its type is " + onnx_type_name(proto.data_type()) +
                 "; expected FLOAT, DOUBLE, FLOAT16, INT8, UINT8, INT32, INT64 or BOOL"};
  }
  const TensorType type{*dtype, Shape(proto.dims().begin(), proto.dims().end())};
  WHET_RETURN_IF_ERROR(check_shape(what, type.shape));
  WHET_TRY(Tensor tensor, decode_elements(proto, type, beside, what));
  if (*dtype == DType::boolean) {
    for (std::uint8_t& b : tensor.as<std::uint8_t>()) b = b != 0;
  }
  return tensor;
}

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
  for (int i = 0; i < proto.node_size(); ++i) {
    WHET_TRY(OnnxNode node, decode_node(proto.node(i), i, beside));
    graph->nodes.push_back(std::move(node));
  }
  for (const auto& input : proto.input()) graph->inputs.push_back(input.name());
  for (const auto& output : proto.output()) graph->outputs.push_back(output.name());
  return std::shared_ptr<const OnnxSubgraph>(std::move(graph));
}

OnnxInput decode_input(const onnx::ValueInfoProto& proto) {
  OnnxInput input{proto.name(), std::nullopt, std::nullopt};
  // An optional input is there.
  const onnx::TypeProto& given =
      proto.type().has_optional_type() ? proto.type().optional_type().elem_type() : proto.type();
  input.is_sequence = given.has_sequence_type();
  const auto& type = input.is_sequence ? given.sequence_type().elem_type().tensor_type() : given.tensor_type();
  input.dtype = dtype_of_onnx(type.elem_type());
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
  model.graph_name = proto.graph().name();
  WHET_TRY(model.opset, standard_opset(proto, what));
  auto& graph = *proto.mutable_graph();
  if (graph.sparse_initializer_size() > 0) return Error{what + ": sparse initializers are not supported"};
  std::unordered_set<std::string> initialized;
  for (auto& initializer : *graph.mutable_initializer()) {
    const std::string who = "initializer \"" + initializer.name() + "\"";
    if (!initialized.insert(initializer.name()).second) return Error{who + " occurs twice in the file"};
    WHET_TRY(Tensor tensor, decode_tensor(initializer, beside, who));
    model.initializers.push_back({initializer.name(), std::move(tensor)});
    if (is_held_wider(initializer.data_type())) model.held_types[initializer.name()] = initializer.data_type();
    initializer.Clear();  // its bytes are not needed twice
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    WHET_TRY(OnnxNode node, decode_node(graph.node(i), i, beside));
    model.nodes.push_back(std::move(node));
  }
  for (const auto& input : graph.input()) {  // old files list initializers as inputs too
    if (initialized.contains(input.name())) continue;
    model.inputs.push_back(decode_input(input));
    const int type = input.type().tensor_type().elem_type();
    if (is_held_wider(type)) model.held_types[input.name()] = type;
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

const OnnxFunction* called_function(const OnnxModel& model, const OnnxNode& node) {
  if (model.functions.empty()) return nullptr;
  const auto found = model.functions.find({node.domain, node.op, node.overload});
  return found == model.functions.end() ? nullptr : &found->second;
}

Result<OnnxModel> parse_onnx(std::string bytes, const std::string& directory, const std::string& what) {
  WHET_TRY(onnx::ModelProto proto, parse_model_proto(bytes, what));
  std::string().swap(bytes);
  Beside beside{directory, {}, {}};
  return decode_model(proto, beside, what);
}

Result<NamedTensor> parse_tensor_proto(std::string_view bytes, const std::string& what) {
  TensorProto proto;
  const bool fits = bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (!fits || !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Error{what + ": not a valid TensorProto (damaged or cut off)"};
  }
  if (proto.data_location() == TensorProto::EXTERNAL) return Error{what + ": external data is not supported here"};
  Beside nothing;
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
  }
  return TensorProto::UNDEFINED;
}

std::optional<DType> dtype_of_onnx(std::int64_t number) {
  for (DType dtype :
       {DType::f32, DType::f64, DType::f16, DType::i8, DType::u8, DType::i32, DType::i64, DType::boolean}) {
    if (onnx_type(dtype) == number) return dtype;
  }
  if (number == TensorProto::INT16 || number == TensorProto::UINT16) return DType::i32;
  if (number == TensorProto::UINT32 || number == TensorProto::UINT64) return DType::i64;
  if (number == TensorProto::BFLOAT16) return DType::f32;
  return std::nullopt;
}

std::string onnx_type_name(std::int64_t number) {
  const auto small = static_cast<int>(number);
  return small == number && TensorProto::DataType_IsValid(small)
             ? TensorProto::DataType_Name(static_cast<TensorProto::DataType>(small))
             : "number " + std::to_string(number);
}

}  // namespace whet
