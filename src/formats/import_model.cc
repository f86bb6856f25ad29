#include "formats/import_model.h"

#include <algorithm>
#include <filesystem>

#include "base/nearest.h"
#include "formats/detect.h"
#include "formats/input_names.h"
#include "formats/operator_file.h"
#include "import/file_model.h"
#include "import_mxnet/import_mxnet.h"
#include "import_onnx/import_onnx.h"
#include "import_tf/import_tensorflow.h"
#include "import_tf/tflite/import_tflite.h"
#include "import_torch/import_torch.h"
#include "tensor_files/file.h"
#include "tensor_files/zip.h"

namespace whet {
namespace {

/// One row a format: what reads the files of a kind.
struct Reader {
  FileKind kind;
  Result<FileModel> (*read)(ModelSource&&);
  bool has_entries = true;        ///< --entry may choose something in such a file
  bool has_native_types = false;  ///< its bfloat16 and int16 may be kept: --native-types
};
constexpr Reader kReaders[] = {
    {FileKind::onnx, read_onnx_model, false, true},
    {FileKind::pt2, read_pt2_model, true, true},
    {FileKind::tflite, read_tflite_model},
    {FileKind::saved_model, read_saved_model},
    {FileKind::graph_def, read_graph_def_model},
    {FileKind::tfjs_graph, read_tfjs_model},
    {FileKind::torchscript, read_torchscript_model, false, true},
    {FileKind::mxnet_symbol, read_mxnet_model},
    {FileKind::operator_text, read_operator_file, false},
};

Result<FileModel> read_kind(FileKind kind, ModelSource file, const ImportOptions& options) {
  const auto* reader =
      std::find_if(std::begin(kReaders), std::end(kReaders), [&](const Reader& each) { return each.kind == kind; });
  if (reader == std::end(kReaders))
    return refusal(kind, file.what, kind == FileKind::torch_weights ? saved_weights_text(file) : "");
  if (!options.entry.empty() && !reader->has_entries)
    return Error{file.what + ": has one program alone, and none for --entry to choose from", ErrorKind::wrong_use};
  if (options.native_types && !reader->has_native_types)
    return Error{file.what + ": --native-types is for ONNX files and for programs of torch", ErrorKind::wrong_use};
  file.entry = options.entry;
  file.options = &options;
  return reader->read(std::move(file));
}

/// The model of a bundle that is called `member`; none: its only one.
Result<ModelSource> member_of(const ModelSource& bundle, const std::string& member) {
  WHET_TRY(const std::vector<ZipMember> members, parse_zip(bundle.bytes, bundle.what));
  std::string listed;
  std::vector<const ZipMember*> models;
  for (const ZipMember& each : members) {
    if (!each.name.ends_with(".tflite") || (!member.empty() && each.name != member)) continue;
    models.push_back(&each);
  }
  for (const ZipMember& each : members)
    if (each.name.ends_with(".tflite")) listed += (listed.empty() ? "" : ", ") + each.name;
  if (models.size() != 1)
    return Error{bundle.what + ": is a bundle of TensorFlow Lite models; FILE:NAME opens one: " + listed};
  const std::string what = bundle.what + ":" + models[0]->name;
  WHET_TRY(std::string bytes, unzip(*models[0], what));
  return ModelSource{what, bundle.directory, std::move(bytes), ""};
}

Result<FileModel> read_bytes(ModelSource file, const ImportOptions& options, const std::string& member = "") {
  if (file.bytes.empty()) return Error{file.what + ": the file is empty"};
  FileKind kind = detect(file.bytes);
  if (!member.empty() && kind != FileKind::tflite_bundle)
    return Error{file.what + ": is no bundle of TensorFlow Lite models, so it has no " + member};
  if (kind == FileKind::tflite_bundle) {
    WHET_TRY(file, member_of(file, member));
    kind = detect(file.bytes);
    if (kind == FileKind::tflite_bundle) return Error{file.what + ": is a bundle in a bundle, which is not supported"};
  }
  return read_kind(kind, std::move(file), options);
}

/// What a path that is not there may have meant: files of its folder and built-in networks.
std::vector<std::string> models_near(const std::filesystem::path& path) {
  constexpr std::size_t kMost = 4096;
  std::vector<std::string> names;
  for (const std::string& name : zoo_names()) names.push_back("zoo:" + name);
  std::error_code code;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  for (std::filesystem::directory_iterator each(folder, code), end; !code && each != end && names.size() < kMost;
       each.increment(code))
    names.push_back(path.has_parent_path() ? each->path().string() : each->path().filename().string());
  return names;
}

Result<FileModel> read_path(const std::string& path, const ImportOptions& options) {
  std::error_code code;
  const FileKind folder = std::filesystem::is_directory(path, code) ? detect_folder(path) : FileKind::unknown;
  if (folder != FileKind::unknown) return read_kind(folder, {path, path, "", ""}, options);
  // FILE:NAME, a model of a bundle.
  const std::size_t colon = path.rfind(':');
  const bool names_member =
      colon != std::string::npos && !std::filesystem::exists(path, code) && path.ends_with(".tflite");
  const std::string file = names_member ? path.substr(0, colon) : path;
  Result<std::string> bytes = read_file(file);
  if (!bytes.ok() && !std::filesystem::exists(file, code))
    return Error{bytes.error().message + did_you_mean(file, models_near(file)), bytes.error().kind};
  if (!bytes.ok()) return bytes.error();
  return read_bytes({file, std::filesystem::path(file).parent_path().string(), std::move(*bytes), ""}, options,
                    names_member ? path.substr(colon + 1) : "");
}

/// Options that choose something in a file are none of a built-in network's.
Status check_for_zoo(const std::string& zoo, const ImportOptions& options) {
  const std::pair<const char*, bool> given[] = {{"--until", !options.until.empty()},
                                                {"--entry", !options.entry.empty()},
                                                {"--shape", !options.shapes.empty()},
                                                {"--define", !options.definitions.empty()},
                                                {"--native-types", options.native_types}};
  for (const auto& [option, is_given] : given)
    if (is_given)
      return Error{std::string(option) + " is for model files; " + zoo +
                       " is built in: --batch and --image choose its sizes, and `whet zoo export` makes it a file",
                   ErrorKind::wrong_use};
  return ok_status();
}

constexpr std::string_view kZoo = "zoo:";

}  // namespace

Result<Graph> import_model_bytes(std::string_view bytes, const std::string& what, const ImportOptions& options) {
  return import_read(read_bytes({what, "", std::string(bytes), ""}, options), options);
}

Result<Graph> import_model(const std::string& path_or_zoo, const ImportOptions& options) {
  if (path_or_zoo.starts_with(kZoo)) WHET_RETURN_IF_ERROR(check_for_zoo(path_or_zoo, options));
  if (path_or_zoo.starts_with(kZoo)) return zoo_model(path_or_zoo.substr(kZoo.size()), options.zoo);
  auto graph = import_read(read_path(path_or_zoo, options), options);
  if (graph.ok() && graph->name.empty()) graph->name = path_or_zoo;
  return graph;
}

Result<std::vector<FileInput>> model_inputs(const std::string& path_or_zoo, const ImportOptions& options) {
  if (!path_or_zoo.starts_with(kZoo)) {
    WHET_TRY(FileModel model, read_path(path_or_zoo, options));
    return std::move(model.inputs);
  }
  WHET_TRY(const Graph graph, import_model(path_or_zoo, options));
  std::vector<FileInput> inputs;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    std::vector<FileDimension> dimensions;
    for (const std::int64_t extent : value.type.shape) dimensions.push_back({extent, ""});
    inputs.push_back({value.name, value.type.dtype, std::move(dimensions)});
  }
  return inputs;
}

Result<std::vector<std::string>> input_names(const std::string& path_or_zoo, const ImportOptions& options) {
  WHET_TRY(const std::vector<FileInput> inputs, model_inputs(path_or_zoo, options));
  std::vector<std::string> names;
  for (const FileInput& input : inputs) names.push_back(input.name);
  return names;
}

}  // namespace whet
