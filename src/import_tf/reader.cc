#include "import_tf/reader.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/nearest.h"
#include "graph/graph.h"
#include "tf.pb.h"

namespace whet::tensorflow {
namespace {

template <typename Proto>
Result<Proto> parsed(std::string_view bytes, const std::string& what, const char* format) {
  Proto proto;
  const bool fits = bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (!fits) return Error{what + ": is larger than 2 GiB"};
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Error{what + ": is no valid " + format + " (damaged or cut off)"};
  return proto;
}

TfShape shape_of(const proto::TensorShapeProto& proto) {
  TfShape shape{!proto.unknown_rank(), {}};
  for (const auto& dimension : proto.dim()) shape.extents.push_back(std::max<std::int64_t>(dimension.size(), -1));
  return shape;
}

/// Numbers one by one; fewer than the tensor has elements: the last one stands for the rest.
template <typename Field>
void fill(Tensor& tensor, const Field& field) {
  for (std::int64_t i = 0; i < tensor.size() && !field.empty(); ++i) {
    const auto value = field.Get(static_cast<int>(std::min<std::int64_t>(i, field.size() - 1)));
    if constexpr (std::is_floating_point_v<decltype(value)>) {
      tensor.set(i, static_cast<double>(value));
    } else {
      tensor.set_integer(i, static_cast<std::int64_t>(value));
    }
  }
}

/// f16 and bfloat16 stand as the numbers of their bits.
void fill_half(Tensor& tensor, const proto::TensorProto& proto) {
  const int count = proto.half_val_size();
  for (std::int64_t i = 0; i < tensor.size() && count > 0; ++i) {
    const auto bits =
        static_cast<std::uint16_t>(proto.half_val(static_cast<int>(std::min<std::int64_t>(i, count - 1))));
    if (tensor.dtype() == DType::f16) {
      tensor.as<std::uint16_t>()[static_cast<std::size_t>(i)] = bits;
    } else {
      tensor.set(i, static_cast<double>(std::bit_cast<float>(std::uint32_t{bits} << 16)));
    }
  }
}

void fill_typed(Tensor& tensor, const proto::TensorProto& proto) {
  if (proto.dtype() == proto::DT_HALF || proto.dtype() == proto::DT_BFLOAT16) return fill_half(tensor, proto);
  switch (tensor.dtype()) {
    case DType::f64:
      return fill(tensor, proto.double_val());
    case DType::f32:
      return fill(tensor, proto.float_val());
    case DType::i64:
      return fill(tensor, proto.int64_val());
    case DType::boolean:
      return fill(tensor, proto.bool_val());
    default:
      return fill(tensor, proto.int_val());
  }
}

TfTensor tensor_of(const proto::TensorProto& proto) {
  const TfType type{proto.dtype()};
  if (proto.dtype() == proto::DT_STRING) return TfText{{proto.string_val().begin(), proto.string_val().end()}};
  const auto dtype = dtype_of(type);
  if (!dtype) return TfUnread{"is of type " + name_of(type) + ", which is not supported"};
  const Shape shape = shape_of(proto.tensor_shape()).extents;
  if (const Status status = check_shape("the constant", shape); !status.ok()) return TfUnread{status.error().message};
  if (!proto.tensor_content().empty()) {
    auto tensor = tensor_of_bytes(type, shape, proto.tensor_content(), "the constant");
    return tensor.ok() ? TfTensor(std::move(*tensor)) : TfTensor(TfUnread{tensor.error().message});
  }
  // One number may stand for many: what is made of it is a broadcast's size, not a file's.
  constexpr std::int64_t kMostMade = std::int64_t{1} << 26;
  if (num_elements(shape) > kMostMade) return TfUnread{"has " + std::to_string(num_elements(shape)) + " elements"};
  Tensor tensor(*dtype, shape);
  fill_typed(tensor, proto);
  return tensor;
}

TfList list_of(const proto::AttrValue::ListValue& proto) {
  TfList list;
  list.texts.assign(proto.s().begin(), proto.s().end());
  list.integers.assign(proto.i().begin(), proto.i().end());
  list.numbers.assign(proto.f().begin(), proto.f().end());
  for (const int type : proto.type()) list.types.push_back({type});
  for (const auto& shape : proto.shape()) list.shapes.push_back(shape_of(shape));
  for (const auto& function : proto.func()) list.functions.push_back(function.name());
  return list;
}

TfAttribute attribute_of(const proto::AttrValue& proto) {
  using Value = proto::AttrValue;
  switch (proto.value_case()) {
    case Value::kList:
      return list_of(proto.list());
    case Value::kS:
      return proto.s();
    case Value::kI:
      return static_cast<std::int64_t>(proto.i());
    case Value::kF:
      return static_cast<double>(proto.f());
    case Value::kB:
      return proto.b();
    case Value::kType:
      return TfType{proto.type()};
    case Value::kShape:
      return shape_of(proto.shape());
    case Value::kTensor:
      return tensor_of(proto.tensor());
    case Value::kFunc:
      return TfFunctionName{proto.func().name()};
    default:
      return {};
  }
}

/// Made constants of a whole file: a small one may name many large ones.
class Reader {
 public:
  explicit Reader(const std::string& what) : what_(what) {}

  Result<TfGraph> graph_of(proto::GraphDef& proto) {
    TfGraph graph;
    WHET_TRY(graph.nodes, nodes_of(*proto.mutable_node()));
    for (auto& function : *proto.mutable_library()->mutable_function()) {
      WHET_TRY(TfFunction read, function_of(function));
      const std::string name = read.name;
      graph.functions.emplace(name, std::move(read));
    }
    return graph;
  }

 private:
  template <typename List>
  Result<std::vector<TfNode>> nodes_of(List& list) {
    std::vector<TfNode> nodes;
    for (auto& proto : list) {
      TfNode node{proto.name(), proto.op(), {}, {}, {}};
      for (const std::string& input : proto.input()) {
        if (input.starts_with("^")) {
          node.controls.push_back(input.substr(1));
        } else {
          node.inputs.push_back(input);
        }
      }
      for (auto& [key, value] : *proto.mutable_attr()) {
        TfAttribute attribute = attribute_of(value);
        WHET_RETURN_IF_ERROR(spend(attribute));
        node.attributes.emplace(key, std::move(attribute));
        value.Clear();  // a constant's bytes are not needed twice
      }
      nodes.push_back(std::move(node));
    }
    return nodes;
  }

  Status spend(const TfAttribute& attribute) {
    constexpr std::int64_t kMostBytes = std::int64_t{4} << 30;
    const auto* value = std::get_if<TfTensor>(&attribute);
    const Tensor* tensor = value == nullptr ? nullptr : std::get_if<Tensor>(value);
    if (tensor != nullptr) held_ += tensor->bytes();
    if (held_ <= kMostBytes) return ok_status();
    return Error{what_ + ": its constants take more than 4 GiB"};
  }

  Result<TfFunction> function_of(proto::FunctionDef& proto) {
    TfFunction function;
    function.name = proto.signature().name();
    for (const auto& argument : proto.signature().input_arg()) function.arguments.push_back(argument.name());
    for (const auto& result : proto.signature().output_arg()) {
      const auto found = proto.ret().find(result.name());
      function.results.push_back(found == proto.ret().end() ? "" : found->second);
    }
    WHET_TRY(function.nodes, nodes_of(*proto.mutable_node_def()));
    return function;
  }

  const std::string& what_;
  std::int64_t held_ = 0;
};

/// In the order of their names, which is the same for every reading.
std::vector<TfEnd> ends_of(const google::protobuf::Map<std::string, proto::TensorInfo>& map) {
  std::vector<TfEnd> ends;
  for (const auto& [key, info] : map)
    ends.push_back({key, info.name(), TfType{info.dtype()}, shape_of(info.tensor_shape())});
  std::sort(ends.begin(), ends.end(), [](const TfEnd& a, const TfEnd& b) { return a.key < b.key; });
  return ends;
}
TfSignature signature_of(const proto::SignatureDef& proto) {
  return {ends_of(proto.inputs()), ends_of(proto.outputs())};
}

template <typename Proto>
Status read_json(const std::string& text, Proto& proto, const std::string& what) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &proto, options);
  if (status.ok()) return ok_status();
  return Error{what + ": its graph is no valid GraphDef: " + std::string(status.message()).substr(0, 200)};
}

}  // namespace

Result<TfGraph> parse_graph_def(std::string_view bytes, const std::string& what) {
  WHET_TRY(proto::GraphDef proto, parsed<proto::GraphDef>(bytes, what, "GraphDef"));
  return Reader(what).graph_of(proto);
}

Result<TfGraph> parse_saved_model(std::string_view bytes, const std::string& what) {
  WHET_TRY(proto::SavedModel proto, parsed<proto::SavedModel>(bytes, what, "SavedModel"));
  proto::MetaGraphDef* chosen = nullptr;
  for (auto& meta : *proto.mutable_meta_graphs()) {
    const auto& tags = meta.meta_info_def().tags();
    const bool serves = std::find(tags.begin(), tags.end(), "serve") != tags.end();
    if (chosen == nullptr || serves) chosen = &meta;
    if (serves) break;
  }
  if (chosen == nullptr) return Error{what + ": holds no graph"};
  WHET_TRY(TfGraph graph, Reader(what).graph_of(*chosen->mutable_graph_def()));
  for (const auto& [key, signature] : chosen->signature_def()) graph.signatures[key] = signature_of(signature);
  graph.restore_node = chosen->saver_def().restore_op_name();
  return graph;
}

Result<TfGraph> parse_graph_json(const std::string& text, const std::string& what) {
  proto::GraphDef proto;
  WHET_RETURN_IF_ERROR(read_json(text, proto, what));
  return Reader(what).graph_of(proto);
}

Result<TfSignature> parse_signature_json(const std::string& text, const std::string& what) {
  proto::SignatureDef proto;
  WHET_RETURN_IF_ERROR(read_json(text, proto, what));
  return signature_of(proto);
}

Result<BundleEntry> parse_bundle_entry(std::string_view bytes, const std::string& what) {
  WHET_TRY(const proto::BundleEntryProto proto, parsed<proto::BundleEntryProto>(bytes, what, "entry of a checkpoint"));
  return BundleEntry{TfType{proto.dtype()}, shape_of(proto.shape()), proto.shard_id(), proto.offset(), proto.size()};
}

Result<std::int64_t> parse_bundle_header(std::string_view bytes, const std::string& what) {
  WHET_TRY(const proto::BundleHeaderProto proto,
           parsed<proto::BundleHeaderProto>(bytes, what, "header of a checkpoint"));
  if (proto.endianness() != 0) return Error{what + ": its numbers are big-endian, which is not supported"};
  if (proto.num_shards() >= 1 && proto.num_shards() <= 99999) return std::int64_t{proto.num_shards()};
  return Error{what + ": says that it has " + std::to_string(proto.num_shards()) + " files of data"};
}

Result<std::vector<std::pair<std::string, std::string>>> parse_object_graph(std::string_view bytes,
                                                                            const std::string& what) {
  WHET_TRY(const proto::TrackableObjectGraph proto,
           parsed<proto::TrackableObjectGraph>(bytes, what, "graph of objects"));
  std::vector<std::pair<std::string, std::string>> names;
  for (const auto& node : proto.nodes())
    for (const auto& attribute : node.attributes())
      names.emplace_back(attribute.full_name(), attribute.checkpoint_key());
  return names;
}

Result<Tensor> tensor_of_bytes(TfType type, const Shape& shape, std::string_view bytes, const std::string& what) {
  const auto dtype = dtype_of(type);
  if (!dtype) return Error{what + " is of type " + name_of(type) + ", which is not supported"};
  WHET_RETURN_IF_ERROR(check_shape(what, shape));
  const bool widened = name_of(type) == "bfloat16";
  const std::int64_t each = widened ? 2 : size_of(*dtype);
  if (static_cast<std::uint64_t>(num_elements(shape) * each) != bytes.size())
    return Error{what + " is " + name_of(type) + "[" + to_string(shape) + "] in " + std::to_string(bytes.size()) +
                 " bytes"};
  Tensor tensor(*dtype, shape);
  if (widened) {
    for (std::size_t i = 0; i < bytes.size() / 2; ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, bytes.data() + 2 * i, 2);
      tensor.as<float>()[i] = std::bit_cast<float>(std::uint32_t{bits} << 16);
    }
    return tensor;
  }
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  if (*dtype == DType::boolean)
    for (std::uint8_t& truth : tensor.as<std::uint8_t>()) truth = truth != 0;
  return tensor;
}

}  // namespace whet::tensorflow
