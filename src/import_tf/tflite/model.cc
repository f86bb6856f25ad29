#include "import_tf/tflite/model.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/nearest.h"
#include "graph/graph.h"
#include "import_tf/tflite/rows.h"
#include "import_tf/tflite/sparse.h"

namespace whet::tflite {
namespace {

constexpr std::size_t kMostTensors = std::size_t{1} << 19;

struct TypeRow {
  const char* name;
  std::optional<DType> dtype;
};
const TypeRow kTypes[] = {{"float32", DType::f32},
                          {"float16", DType::f16},
                          {"int32", DType::i32},
                          {"uint8", DType::u8},
                          {"int64", DType::i64},
                          {"string", {}},
                          {"bool", DType::boolean},
                          {"int16", DType::i32},
                          {"complex64", {}},
                          {"int8", DType::i8},
                          {"float64", DType::f64},
                          {"complex128", {}},
                          {"uint64", {}},
                          {"resource", {}},
                          {"variant", {}},
                          {"uint32", {}},
                          {"uint16", {}},
                          {"int4", {}},
                          {"bfloat16", {}},
                          {"int2", {}},
                          {"uint4", {}}};

/// Reads the tables of a file into structs.
class ModelParser {
 public:
  ModelParser(TfliteModel& model, const std::string& what) : model_(model), what_(what) {}

  Status parse(const std::string& entry) {
    root_ = FlatTable::root(model_.flat);
    if (const auto version = root_.number<std::uint32_t>(0); version != 3 && !model_.flat.is_broken)
      return Error{what_ + ": is of version " + std::to_string(version) + "; expected 3"};
    buffers_ = root_.tables(4);
    codes_ = root_.tables(1);
    for (const FlatTable& graph : root_.tables(2)) WHET_RETURN_IF_ERROR(add_graph(graph));
    WHET_RETURN_IF_ERROR(choose(entry));
    if (model_.flat.is_broken) return Error{what_ + ": is damaged or cut off: something in it points outside of it"};
    if (model_.graphs.empty()) return Error{what_ + ": has no graph"};
    return ok_status();
  }

 private:
  /// Tables may be shared: a small file may name much.
  Status spend(std::size_t items) {
    constexpr std::uint64_t kFactor = 64, kFree = std::uint64_t{1} << 26;
    spent_ += items;
    if (spent_ <= model_.bytes.size() * kFactor + kFree) return ok_status();
    return Error{what_ + ": names the same parts of itself too often"};
  }

  Status add_graph(const FlatTable& table) {
    Subgraph graph;
    std::set<std::string> names;
    for (const FlatTable& tensor : table.tables(0)) {
      if (graph.tensors.size() > kMostTensors)
        return Error{what_ + ": has more than " + std::to_string(kMostTensors) + " tensors"};
      WHET_TRY(TensorInfo info, tensor_of(tensor));
      const std::size_t held = info.value ? static_cast<std::size_t>(info.value->bytes()) : 0;
      WHET_RETURN_IF_ERROR(spend(info.name.size() + held + 64));
      if (info.name.empty()) info.name = "tensor_" + std::to_string(graph.tensors.size());
      if (!names.insert(info.name).second) {
        info.name += "_" + std::to_string(graph.tensors.size());
        while (!names.insert(info.name).second) info.name += "_";
      }
      graph.tensors.push_back(std::move(info));
    }
    const auto list = [&](const FlatTable& owner, int field) { return owner.numbers<std::int32_t>(field); };
    graph.inputs = list(table, 1);
    graph.outputs = list(table, 2);
    for (const FlatTable& operation : table.tables(3)) {
      WHET_TRY(Operation each, operation_of(operation, graph));
      WHET_RETURN_IF_ERROR(spend(each.label.size() + 4 * (each.inputs.size() + each.outputs.size()) + 64));
      graph.operations.push_back(std::move(each));
    }
    for (const std::vector<int>* tensors : {&graph.inputs, &graph.outputs})
      WHET_RETURN_IF_ERROR(check_tensors(*tensors, graph, false));
    model_.graphs.push_back(std::move(graph));
    return ok_status();
  }

  Status check_tensors(const std::vector<int>& tensors, const Subgraph& graph, bool may_be_left_out) const {
    for (const int tensor : tensors)
      if (tensor >= static_cast<int>(graph.tensors.size()) || tensor < (may_be_left_out ? -1 : 0))
        return Error{what_ + ": names tensor " + std::to_string(tensor) + " of " +
                     std::to_string(graph.tensors.size())};
    return ok_status();
  }

  Result<Operation> operation_of(const FlatTable& table, const Subgraph& graph) const {
    Operation operation;
    const auto index = table.number<std::uint32_t>(0);
    if (index >= codes_.size())
      return Error{what_ + ": names operator " + std::to_string(index) + " of " + std::to_string(codes_.size())};
    const FlatTable& code = codes_[index];
    operation.code = std::max<int>(code.number<std::int8_t>(0), code.number<std::int32_t>(3));
    operation.name = operator_name(operation.code, code.text(1));
    operation.inputs = table.numbers<std::int32_t>(1);
    operation.outputs = table.numbers<std::int32_t>(2);
    operation.options = table.table(4);
    operation.custom_options = table.bytes(5);
    WHET_RETURN_IF_ERROR(check_tensors(operation.inputs, graph, true));
    WHET_RETURN_IF_ERROR(check_tensors(operation.outputs, graph, false));
    operation.label = operation.outputs.empty() ? operation.name
                                                : graph.tensors[static_cast<std::size_t>(operation.outputs[0])].name +
                                                      " (" + operation.name + ")";
    return operation;
  }

  Result<TensorInfo> tensor_of(const FlatTable& table) {
    TensorInfo info;
    info.name = table.text(3);
    info.type = table.number<std::uint8_t>(1);
    for (const std::int32_t extent : table.numbers<std::int32_t>(0)) info.shape.push_back(extent);
    for (const std::int32_t extent : table.numbers<std::int32_t>(7)) info.signature.push_back(extent);
    info.is_variable = table.flag(5);
    const std::string at = what_ + ": " + in_quotes(info.name);
    WHET_RETURN_IF_ERROR(check_shape(at, info.shape));
    if (const FlatTable quantization = table.table(4)) {
      info.quantization.scales = quantization.numbers<float>(2);
      info.quantization.zeros = quantization.numbers<std::int64_t>(3);
      info.quantization.dimension = quantization.number<std::int32_t>(6);
      if (quantization.number<std::uint8_t>(4) != 0)
        return Error{at + " is quantized in a way of its own, which is not supported"};
    }
    const auto buffer = table.number<std::uint32_t>(2);
    if (buffer >= std::max<std::size_t>(buffers_.size(), 1))
      return Error{at + " names buffer " + std::to_string(buffer) + " of " + std::to_string(buffers_.size())};
    if (buffer == 0 || info.is_variable) return info;
    const std::string_view data = data_of(buffers_[buffer]);
    if (data.empty()) return info;
    WHET_TRY(info.value, value_of(info, data, table.table(6), at));
    return info;
  }

  /// A buffer's bytes, which are behind the tables in large files.
  std::string_view data_of(const FlatTable& buffer) {
    const auto offset = buffer.number<std::uint64_t>(1), size = buffer.number<std::uint64_t>(2);
    if (offset <= 1) return buffer.bytes(0);
    const std::string_view all = model_.flat.bytes;
    if (offset <= all.size() && size <= all.size() - offset) return all.substr(offset, size);
    model_.flat.is_broken = true;
    return {};
  }

  static Result<std::optional<Tensor>> widened(const TensorInfo& info, std::string_view data, const FlatTable& sparsity,
                                               const std::string& at) {
    Tensor tensor(DType::i32, info.shape);
    if (sparsity || static_cast<std::uint64_t>(2 * tensor.size()) != data.size())
      return Error{at + " is int16[" + to_string(info.shape) + "] in " + std::to_string(data.size()) + " bytes" +
                   (sparsity ? ", and sparse, which is not supported" : "")};
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      std::int16_t number = 0;
      std::memcpy(&number, data.data() + 2 * i, 2);
      tensor.set_integer(i, number);
    }
    return std::optional(std::move(tensor));
  }

  static Result<std::optional<Tensor>> value_of(const TensorInfo& info, std::string_view data,
                                                const FlatTable& sparsity, const std::string& at) {
    const auto dtype = dtype_of_tflite(info.type);
    if (!dtype) return std::optional<Tensor>();  // an error where something reads it
    if (info.type == kInt16) return widened(info, data, sparsity, at);
    if (sparsity) {
      WHET_TRY(Tensor dense, densified(*dtype, info.shape, data, sparsity, at));
      return std::optional(std::move(dense));
    }
    if (static_cast<std::uint64_t>(num_elements(info.shape) * size_of(*dtype)) != data.size())
      return Error{at + " is " + to_string(TensorType{*dtype, info.shape}) + " in " + std::to_string(data.size()) +
                   " bytes"};
    Tensor tensor(*dtype, info.shape);
    if (!data.empty()) std::memcpy(tensor.data(), data.data(), data.size());
    if (*dtype == DType::boolean)
      for (std::uint8_t& truth : tensor.as<std::uint8_t>()) truth = truth != 0;
    return std::optional(std::move(tensor));
  }

  Status choose(const std::string& entry) {
    if (entry.empty()) return ok_status();
    std::vector<std::string> keys;
    for (const FlatTable& signature : root_.tables(7)) {
      keys.push_back(signature.text(2));
      if (keys.back() != entry) continue;
      model_.main = signature.number<std::uint32_t>(4);
      if (model_.main < model_.graphs.size()) return ok_status();
      return Error{what_ + ": its signature " + in_quotes(entry) + " names graph " + std::to_string(model_.main)};
    }
    std::string listed;
    for (const std::string& key : keys) listed += (listed.empty() ? "" : ", ") + key;
    return Error{what_ + ": has no signature " + in_quotes(entry) + did_you_mean(entry, keys) +
                 (listed.empty() ? "; it has none" : "; it has " + listed)};
  }

  TfliteModel& model_;
  const std::string& what_;
  FlatTable root_;
  std::vector<FlatTable> buffers_, codes_;
  std::uint64_t spent_ = 0;
};

/// The variables that tensors of a graph are handles of.
std::map<int, std::string> handles_of(const Subgraph& graph) {
  std::map<int, std::string> handles;
  for (const Operation& operation : graph.operations)
    if (operation.name == "VAR_HANDLE" && operation.outputs.size() == 1)
      handles[operation.outputs[0]] = operation.options.text(0) + "/" + operation.options.text(1);
  return handles;
}

/// What is assigned to variables that nothing assigns but the graph of a CALL_ONCE, which runs before all others: tensors with a value.
std::map<std::string, const TensorInfo*> constant_variables(const TfliteModel& model) {
  std::set<std::int64_t> first;
  for (const Subgraph& graph : model.graphs)
    for (const Operation& operation : graph.operations)
      if (operation.name == "CALL_ONCE") first.insert(operation.options.number<std::int32_t>(0));
  std::map<std::string, const TensorInfo*> values;
  std::set<std::string> others;
  for (std::size_t i = 0; i < model.graphs.size(); ++i) {
    const std::map<int, std::string> handles = handles_of(model.graphs[i]);
    for (const Operation& operation : model.graphs[i].operations) {
      if (operation.name != "ASSIGN_VARIABLE" || operation.inputs.size() != 2) continue;
      const auto handle = handles.find(operation.inputs[0]);
      if (handle == handles.end()) return {};  // it may be any
      const int number = operation.inputs[1];
      const TensorInfo* info = number < 0 ? nullptr : &model.graphs[i].tensors[static_cast<std::size_t>(number)];
      const bool is_first = first.contains(static_cast<std::int64_t>(i)) && info != nullptr && info->value;
      if (is_first) values.insert_or_assign(handle->second, info);
      if (!is_first) others.insert(handle->second);
    }
  }
  for (const std::string& name : others) values.erase(name);
  return values;
}

bool is_of_one_type(const TensorInfo& a, const TensorInfo& b) {
  return a.type == b.type && a.shape == b.shape && a.quantization == b.quantization;
}

/// What is read of them is constants, where it is read as it was assigned.
void read_variables(TfliteModel& model) {
  const std::map<std::string, const TensorInfo*> values = constant_variables(model);
  for (Subgraph& graph : model.graphs) {
    const std::map<int, std::string> handles = handles_of(graph);
    std::erase_if(graph.operations, [&](const Operation& operation) {
      const bool reads = operation.name == "READ_VARIABLE" && operation.inputs.size() == 1;
      if ((!reads && operation.name != "VAR_HANDLE") || operation.outputs.size() != 1) return false;
      const auto handle = handles.find(reads ? operation.inputs[0] : operation.outputs[0]);
      if (handle == handles.end() || !values.contains(handle->second)) return false;
      if (!reads) return true;
      TensorInfo& read = graph.tensors[static_cast<std::size_t>(operation.outputs[0])];
      if (!is_of_one_type(read, *values.at(handle->second))) return false;
      read.value = values.at(handle->second)->value;
      return true;
    });
  }
}

}  // namespace

std::optional<DType> dtype_of_tflite(int type) {
  return type >= 0 && type < static_cast<int>(std::size(kTypes)) ? kTypes[type].dtype : std::nullopt;
}
std::string tflite_type_name(int type) {
  return type >= 0 && type < static_cast<int>(std::size(kTypes)) ? kTypes[type].name : "type " + std::to_string(type);
}

Result<std::shared_ptr<TfliteModel>> parse_tflite(std::string bytes, const std::string& entry,
                                                  const std::string& what) {
  auto model = std::make_shared<TfliteModel>();
  model->bytes = std::move(bytes);
  model->flat.bytes = model->bytes;
  WHET_RETURN_IF_ERROR(ModelParser(*model, what).parse(entry));
  read_variables(*model);
  return model;
}

}  // namespace whet::tflite
