#include "import_tf/tfjs.h"

#include <algorithm>
#include <filesystem>

#include "base/nearest.h"
#include "graph/graph.h"
#include "import_tf/reader.h"
#include "json/json.h"
#include "tensor_files/file.h"

namespace whet::tensorflow {
namespace {

TfType type_called(const std::string& name) {
  for (int number = 1; number < 24; ++number)
    if (name_of({number}) == name) return {number};
  return {0};
}

/// A weight of the manifest: what it is, and how it is stored.
struct WeightForm {
  std::string name;
  TfType type, stored;
  Shape shape;
  bool affine = false;
  double scale = 1, least = 0;
};

std::int64_t bytes_of(TfType type) {
  const std::string name = name_of(type);
  if (name == "uint16" || name == "bfloat16") return 2;
  const auto dtype = dtype_of(type);
  return dtype ? size_of(*dtype) : 0;
}

Result<WeightForm> form_of(const Json& entry, const std::string& what) {
  WeightForm form;
  form.name = entry["name"].string_or("");
  form.type = form.stored = type_called(entry["dtype"].string_or(""));
  const std::string at = what + ": the weight " + in_quotes(form.name);
  if (!entry["shape"].is_array()) return Error{at + " has no shape"};
  for (const Json& extent : entry["shape"].items()) form.shape.push_back(extent.integer_or(-1));
  WHET_RETURN_IF_ERROR(check_shape(at, form.shape));
  const Json& quantization = entry["quantization"];
  if (quantization.is_object()) {
    form.stored = type_called(quantization["dtype"].string_or(""));
    form.affine = quantization["scale"].is_number();
    form.scale = quantization["scale"].number_or(1);
    form.least = quantization["min"].number_or(0);
  }
  if (bytes_of(form.stored) == 0 || !dtype_of(form.type))
    return Error{at + " is stored as " + in_quotes(entry["dtype"].string_or("")) + ", which is not supported"};
  return form;
}

/// Numbers that mean number * scale + least; or the type's own, in fewer bits.
Result<Tensor> weight_of(const WeightForm& form, std::string_view bytes, const std::string& what) {
  const std::string stored = name_of(form.stored);
  if (!form.affine && stored == name_of(form.type)) return tensor_of_bytes(form.type, form.shape, bytes, what);
  Tensor tensor(*dtype_of(form.type), form.shape);
  if (!form.affine && stored != "float16") return Error{what + " is stored as " + stored + ", which is not supported"};
  if (!form.affine) {
    WHET_TRY(const Tensor half, tensor_of_bytes(form.stored, form.shape, bytes, what));
    for (std::int64_t i = 0; i < half.size(); ++i) tensor.set(i, half.get(i));
    return tensor;
  }
  if (stored != "uint8" && stored != "uint16")
    return Error{what + " is stored as " + stored + "; expected uint8 or uint16"};
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const auto at = static_cast<std::size_t>(i) * static_cast<std::size_t>(bytes_of(form.stored));
    unsigned number = static_cast<unsigned char>(bytes[at]);
    if (stored == "uint16") number |= static_cast<unsigned>(static_cast<unsigned char>(bytes[at + 1])) << 8;
    tensor.set(i, number * form.scale + form.least);
  }
  return tensor;
}

/// Files of weights beside the model, each read once however often it is named.
class Shards {
 public:
  Shards(std::string folder, const std::string& what) : folder_(std::move(folder)), what_(what) {}

  /// The first `wanted` bytes of a group's files one behind the other; fewer where they end.
  Result<std::string> bytes_of(const Json& group, std::uint64_t wanted) {
    std::string bytes;
    if (!group["paths"].is_array()) return bytes;
    for (const Json& entry : group["paths"].items()) {
      WHET_TRY(const std::string* shard, shard_called(entry.string_or("")));
      const std::uint64_t part = std::min<std::uint64_t>(shard->size(), wanted - bytes.size());
      given_ += part;
      if (given_ > held_ * kMostTimes) return Error{what_ + ": names its files of weights too often"};
      bytes.append(*shard, 0, part);
    }
    return bytes;
  }

 private:
  static constexpr std::uint64_t kMostTimes = 4;

  Result<const std::string*> shard_called(const std::string& path) {
    const std::filesystem::path file(path);
    const bool leads_out = file.is_absolute() || path.find("..") != std::string::npos || path.empty();
    if (leads_out) return Error{what_ + ": names the file of weights " + in_quotes(path) + ", which is not beside it"};
    const std::string full = (std::filesystem::path(folder_) / file).string();
    std::error_code code;
    const std::string key = std::filesystem::canonical(full, code).string();
    const auto known = shards_.find(key);
    if (!code && known != shards_.end()) return &known->second;
    WHET_TRY(std::string bytes, read_file(full));
    held_ += bytes.size();
    return &shards_.emplace(key, std::move(bytes)).first->second;
  }

  std::string folder_;
  const std::string& what_;
  std::map<std::string, std::string> shards_;
  std::uint64_t held_ = 0, given_ = 0;  ///< bytes of all shards, and those of groups
};

Result<std::vector<WeightForm>> forms_of(const Json& group, const std::string& what) {
  std::vector<WeightForm> forms;
  if (!group["weights"].is_array()) return forms;
  for (const Json& entry : group["weights"].items()) {
    WHET_TRY(WeightForm form, form_of(entry, what));
    forms.push_back(std::move(form));
  }
  return forms;
}

std::uint64_t stored_bytes(const WeightForm& form) {
  return static_cast<std::uint64_t>(num_elements(form.shape) * bytes_of(form.stored));
}

Result<std::map<std::string, Tensor>> read_weights(const Json& manifest, const std::string& folder,
                                                   const std::string& what) {
  std::map<std::string, Tensor> weights;
  if (!manifest.is_array()) return weights;
  Shards shards(folder, what);
  for (const Json& group : manifest.items()) {
    WHET_TRY(const std::vector<WeightForm> forms, forms_of(group, what));
    std::uint64_t wanted = 0, at = 0;
    for (const WeightForm& form : forms) wanted += stored_bytes(form);
    WHET_TRY(const std::string bytes, shards.bytes_of(group, wanted));
    for (const WeightForm& form : forms) {
      const std::string name = what + ": the weight " + in_quotes(form.name);
      const std::uint64_t size = stored_bytes(form);
      if (size > bytes.size() - at)
        return Error{name + " needs " + std::to_string(size) + " bytes; its files have " +
                     std::to_string(bytes.size() - at) + " left"};
      WHET_TRY(weights[form.name], weight_of(form, std::string_view(bytes).substr(at, size), name));
      at += size;
    }
  }
  return weights;
}

void give_weights(std::vector<TfNode>& nodes, const std::map<std::string, Tensor>& weights) {
  for (TfNode& node : nodes) {
    const auto weight = weights.find(node.name);
    if (node.op == "Const" && weight != weights.end()) node.attributes["value"] = TfTensor(weight->second);
  }
}

/// In the order of the file, which messages of protobuf do not keep.
void sort_ends(std::vector<TfEnd>& ends, const Json& order) {
  if (!order.is_object()) return;
  const auto place = [&](const TfEnd& end) {
    std::size_t i = 0;
    while (i < order.members().size() && order.members()[i].first != end.key) ++i;
    return i;
  };
  std::stable_sort(ends.begin(), ends.end(), [&](const TfEnd& a, const TfEnd& b) { return place(a) < place(b); });
}

}  // namespace

Result<TfGraph> parse_tfjs(const std::string& text, const std::string& folder, const std::string& what) {
  const auto json = parse_json(text);
  if (!json.ok()) return Error{what + ": " + json.error().message};
  const Json& topology = (*json)["modelTopology"];
  if (!topology.is_object()) return Error{what + ": holds no graph (\"modelTopology\")"};
  WHET_TRY(TfGraph graph, parse_graph_json(dump(topology), what));
  WHET_TRY(const auto weights, read_weights((*json)["weightsManifest"], folder, what));
  give_weights(graph.nodes, weights);
  for (auto& [name, function] : graph.functions) give_weights(function.nodes, weights);
  const Json& own = (*json)["signature"];
  const Json& signature = own.is_object() ? own : (*json)["userDefinedMetadata"]["signature"];
  if (signature.is_object()) {
    WHET_TRY(TfSignature read, parse_signature_json(dump(signature), what));
    sort_ends(read.inputs, signature["inputs"]);
    sort_ends(read.outputs, signature["outputs"]);
    graph.signatures["serving_default"] = std::move(read);
  }
  return graph;
}

}  // namespace whet::tensorflow
