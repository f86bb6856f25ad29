#include "import_tf/graph.h"

#include <algorithm>

namespace whet::tensorflow {
namespace {

struct TypeRow {
  const char* name;
  std::optional<DType> dtype;
};
const TypeRow kTypeRows[] = {
    {"unknown", {}},      {"float32", DType::f32}, {"float64", DType::f64},  {"int32", DType::i32},
    {"uint8", DType::u8}, {"int16", {}},           {"int8", DType::i8},      {"string", {}},
    {"complex64", {}},    {"int64", DType::i64},   {"bool", DType::boolean}, {"qint8", {}},
    {"quint8", {}},       {"qint32", {}},          {"bfloat16", DType::f32}, {"qint16", {}},
    {"quint16", {}},      {"uint16", {}},          {"complex128", {}},       {"float16", DType::f16},
    {"resource", {}},     {"variant", {}},         {"uint32", {}},           {"uint64", {}}};

/// Operators whose results have names that say their place; those of all others are one tensor, or one list of them.
struct ResultNames {
  const char* op;
  std::vector<std::string> names;
};
const std::vector<ResultNames>& result_names() {
  static const std::vector<ResultNames> rows = {
      {"FusedBatchNorm", {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"}},
      {"FusedBatchNormV2", {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"}},
      {"FusedBatchNormV3",
       {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"}},
      {"CombinedNonMaxSuppression", {"nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"}},
      {"TopKV2", {"values", "indices"}},
      {"TopK", {"values", "indices"}},
      {"MaxPoolWithArgmax", {"output", "argmax"}},
      {"Switch", {"output_false", "output_true"}},
      {"Merge", {"output", "value_index"}},
      {"TensorListPopBack", {"output_handle", "tensor"}},
      {"CudnnRNNV3", {"output", "output_h", "output_c", "reserve_space", "host_reserved"}},
      {"BlockLSTM", {"i", "cs", "f", "o", "ci", "co", "h"}},
      {"BlockLSTMV2", {"i", "cs", "f", "o", "ci", "co", "h"}},
      {"Unique", {"y", "idx"}},
      {"UniqueV2", {"y", "idx"}},
      {"NonMaxSuppressionV4", {"selected_indices", "valid_outputs"}},
      {"NonMaxSuppressionV5", {"selected_indices", "selected_scores", "valid_outputs"}}};
  return rows;
}
const std::vector<std::string>* names_of(const std::string& op) {
  const auto& rows = result_names();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const ResultNames& each) { return each.op == op; });
  return row == rows.end() ? nullptr : &row->names;
}

}  // namespace

std::optional<DType> dtype_of(TfType type) {
  const int number = type.number > 100 ? type.number - 100 : type.number;
  return number >= 0 && number < static_cast<int>(std::size(kTypeRows)) ? kTypeRows[number].dtype : std::nullopt;
}
TfType type_of(DType dtype) {
  TfType type{1};
  while (dtype_of(type) != dtype) ++type.number;
  return type;
}
std::string name_of(TfType type) {
  const int number = type.number > 100 ? type.number - 100 : type.number;
  const bool known = number >= 0 && number < static_cast<int>(std::size(kTypeRows));
  return known ? kTypeRows[number].name : "type " + std::to_string(type.number);
}

std::size_t result_place(const TfNode& node, const std::string& name, std::size_t index) {
  const std::vector<std::string>* names = names_of(node.op);
  if (names == nullptr) return index;
  const auto found = std::find(names->begin(), names->end(), name);
  return found == names->end() ? index : static_cast<std::size_t>(found - names->begin()) + index;
}

std::size_t result_count(const TfNode& node) {
  constexpr std::size_t kMost = 4096;
  const auto list = [&](const char* attribute) -> std::size_t {
    const TfAttribute* found = node.find(attribute);
    const auto* types = found == nullptr ? nullptr : std::get_if<TfList>(found);
    return types == nullptr ? 1 : std::min(types->types.size(), kMost);
  };
  const auto number = [&](const char* attribute) -> std::size_t {
    const TfAttribute* found = node.find(attribute);
    const auto* count = found == nullptr ? nullptr : std::get_if<std::int64_t>(found);
    return count == nullptr ? 1 : static_cast<std::size_t>(std::clamp<std::int64_t>(*count, 0, kMost));
  };
  const std::string& op = node.op;
  if (const auto* names = names_of(op)) return names->size();
  if (op == "Split" || op == "SplitV") return number("num_split");
  if (op == "Unpack") return number("num");
  if (op == "ShapeN") return number("N");
  if (op == "PartitionedCall" || op == "StatefulPartitionedCall" || op.ends_with("If") || op.ends_with("Case"))
    return list("Tout");
  if (op == "IdentityN" || op == "While" || op == "StatelessWhile") return list("T");
  return 1;
}

std::size_t answer_count(const TfNode& node) {
  return names_of(node.op) != nullptr && !node.op.starts_with("TopK") ? 1 : result_count(node);
}

std::string value_name(const std::string& node, std::size_t result) {
  return result == 0 ? node : node + ":" + std::to_string(result);
}

}  // namespace whet::tensorflow
