#include "import_tf/tflite/import_tflite.h"

#include <algorithm>
#include <set>

#include "base/nearest.h"
#include "import_tf/tflite/model.h"
#include "import_tf/tflite/rows.h"

namespace whet {
namespace tflite {
namespace {

const std::string& name_of(const Subgraph& graph, int tensor) {
  return graph.tensors[static_cast<std::size_t>(tensor)].name;
}

FileInput file_input(const TensorInfo& tensor) {
  FileInput input{tensor.name, dtype_of_tflite(tensor.type), std::vector<FileDimension>()};
  const Shape& sizes = tensor.signature.size() == tensor.shape.size() ? tensor.signature : tensor.shape;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    FileDimension dimension{sizes[d] >= 0 ? std::optional(sizes[d]) : std::nullopt, ""};
    // An open size is that of the file's own shape, which is 1 in front.
    if (!dimension.extent) dimension.usual = std::max<std::int64_t>(tensor.shape[d], 1);
    input.dimensions->push_back(std::move(dimension));
  }
  return input;
}

/// Constants, and states that begin as zeros.
Status add_constants(const Subgraph& graph, FileModel& file, const std::string& what) {
  std::set<int> read, written;
  for (const Operation& operation : graph.operations) {
    read.insert(operation.inputs.begin(), operation.inputs.end());
    written.insert(operation.outputs.begin(), operation.outputs.end());
  }
  read.insert(graph.outputs.begin(), graph.outputs.end());
  for (const int number : read) {
    if (number < 0 || written.contains(number)) continue;
    const TensorInfo& tensor = graph.tensors[static_cast<std::size_t>(number)];
    if (tensor.value) file.constants.push_back({tensor.name, *tensor.value});
    const auto dtype = dtype_of_tflite(tensor.type);
    const bool is_input = std::find(graph.inputs.begin(), graph.inputs.end(), number) != graph.inputs.end();
    if (tensor.value || is_input) continue;
    if (!dtype)
      return Error{what + ": " + in_quotes(tensor.name) + " is of type " + tflite_type_name(tensor.type) +
                   ", which is not supported"};
    // States begin as zeros; so do constants without data.
    constexpr std::int64_t kMostZeros = 1 << 24;
    if (num_elements(tensor.shape) > kMostZeros) return Error{what + ": " + in_quotes(tensor.name) + " has no data"};
    file.constants.push_back({tensor.name, Tensor(*dtype, tensor.shape)});
  }
  return ok_status();
}

}  // namespace

Result<FileModel> file_model(const std::shared_ptr<TfliteModel>& model, const std::string& what) {
  FileModel file;
  const Subgraph& graph = model->graphs[model->main];
  for (const int input : graph.inputs) {
    const TensorInfo& tensor = graph.tensors[static_cast<std::size_t>(input)];
    if (!tensor.value) file.inputs.push_back(file_input(tensor));
  }
  WHET_RETURN_IF_ERROR(add_constants(graph, file, what));
  for (const int output : graph.outputs) file.outputs.push_back(name_of(graph, output));
  for (const Operation& operation : graph.operations) {
    FileNode node{operation.label, operation.name, {}, {}};
    for (const int input : operation.inputs)
      if (input >= 0) node.reads.push_back(name_of(graph, input));
    for (const int output : operation.outputs) node.writes.push_back(name_of(graph, output));
    file.nodes.push_back(std::move(node));
  }
  file.missing_in_bodies = missing_in_bodies(*model);
  file.missing = [model](std::size_t i) {
    const Operation& operation = model->graphs[model->main].operations[i];
    return find_row(operation.name) != nullptr ? std::vector<std::string>() : std::vector<std::string>{operation.name};
  };
  file.import = [model](GrowingGraph& growing, std::size_t i) {
    const Subgraph& graph = model->graphs[model->main];
    const Operation& operation = graph.operations[i];
    std::vector<std::string> outputs;
    for (const int output : operation.outputs) outputs.push_back(name_of(graph, output));
    return TfliteSite(growing, *model, graph, operation, outputs).import();
  };
  return file;
}

}  // namespace tflite

Result<FileModel> read_tflite_model(ModelSource&& source) {
  WHET_TRY(std::shared_ptr<tflite::TfliteModel> model,
           tflite::parse_tflite(std::move(source.bytes), source.entry, source.what));
  return tflite::file_model(model, source.what);
}

}  // namespace whet
