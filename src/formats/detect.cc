#include "formats/detect.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "tensor_files/zip.h"

namespace whet {
namespace {

// ---- Protobuf: the fields of a message, as far as the bytes go.

struct Field {
  std::uint64_t number = 0;
  unsigned wire = 0;         ///< 0 a number, 1 eight bytes, 2 text or a message, 5 four bytes
  std::string_view content;  ///< of wire type 2; up to the end of the bytes where the field is cut off
  bool cut_off = false;
};

/// Walks over the fields of a message; ends at what is no field.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const auto tag = number();
    if (!tag || *tag >> 3 == 0) return fail();
    Field field{*tag >> 3, static_cast<unsigned>(*tag & 7), {}};
    std::size_t skipped = 0;
    switch (field.wire) {
      case 0:
        if (!number()) return fail();
        return field;
      case 1:
        skipped = 8;
        break;
      case 5:
        skipped = 4;
        break;
      case 2: {
        const auto size = number();
        if (!size) return fail();
        field.cut_off = *size > rest_.size();
        skipped = field.cut_off ? rest_.size() : static_cast<std::size_t>(*size);
        field.content = rest_.substr(0, skipped);
        break;
      }
      default:
        return fail();
    }
    if (skipped > rest_.size()) return fail();
    rest_.remove_prefix(skipped);
    return field;
  }
  /// Whether all that was read were fields.
  bool is_valid() const { return valid_; }

 private:
  std::optional<Field> fail() {
    valid_ = false;
    return std::nullopt;
  }
  std::optional<std::uint64_t> number() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 10 && i < rest_.size(); ++i) {
      const auto byte = static_cast<unsigned char>(rest_[i]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
      if (byte >= 0x80) continue;
      rest_.remove_prefix(i + 1);
      return value;
    }
    return std::nullopt;
  }

  std::string_view rest_;
  bool valid_ = true;
};

/// Whether a message has a field of this number and wire type, and nothing that is no field before it.
bool has_field(std::string_view message, std::uint64_t number, unsigned wire) {
  Fields fields(message);
  while (const auto field = fields.next())
    if (field->number == number && field->wire == wire) return true;
  return false;
}

bool is_printable(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f; });
}

/// A NodeDef: a name and an operator.
bool is_graph_node(std::string_view message) {
  Fields fields(message);
  const auto name = fields.next(), op = fields.next();
  return name && op && name->number == 1 && op->number == 2 && is_printable(name->content) && is_printable(op->content);
}

/// ONNX's ModelProto has its graph in field 7 and a version in field 1; a SavedModel graphs with a version in fields 2 and
/// 1; a GraphDef nodes with names in field 1.
FileKind detect_protobuf(std::string_view bytes) {
  Fields fields(bytes);
  bool has_version = false, has_texts = false;
  while (const auto field = fields.next()) {
    if (field->number == 7 && field->wire == 2) return FileKind::onnx;
    if (field->number == 1 && field->wire == 0) has_version = true;
    if (field->number == 1 && field->wire == 2 && is_graph_node(field->content)) return FileKind::graph_def;
    if (field->number == 2 && field->wire == 2) {
      // MetaGraphDef: a description in field 1, or a graph in field 2, whose nodes are in field 1.
      if (has_version && !is_printable(field->content) &&
          (has_field(field->content, 2, 2) || has_field(field->content, 1, 2)))
        return FileKind::saved_model;
      has_texts = true;
    }
    // Operator sets and metadata of ONNX, where the graph comes last and is cut off.
    if (field->number == 8 && field->wire == 2 && has_version) return FileKind::onnx;
  }
  return has_version && has_texts ? FileKind::onnx : FileKind::unknown;
}

// ---- Zip files, by the names of their members. A file that is cut off has no directory: the first member's name is left.

std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count && at + i < bytes.size(); ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

std::vector<std::string> member_names(std::string_view bytes) {
  std::vector<std::string> names;
  if (const auto members = parse_zip(bytes, ""); members.ok()) {
    for (const ZipMember& member : *members) names.push_back(member.name);
  } else if (bytes.size() > 30) {
    names.emplace_back(bytes.substr(30, little_endian(bytes, 26, 2)));
  }
  return names;
}

FileKind detect_zip(std::string_view bytes) {
  const std::vector<std::string> names = member_names(bytes);
  // Most archives have all members in a folder, which is called as the file once was.
  const auto has = [&](std::string_view name) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& member) {
      return member == name || member.ends_with("/" + std::string(name));
    });
  };
  const auto has_part = [&](std::string_view part) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& member) { return member.find(part) != std::string::npos; });
  };
  const auto all_end_in = [&](std::string_view ending) {
    return !names.empty() &&
           std::all_of(names.begin(), names.end(), [&](const std::string& name) { return name.ends_with(ending); });
  };
  if (has("archive_format"))
    return has_part("models/") || !has_part("aotinductor/") ? FileKind::pt2 : FileKind::torch_compiled;
  if (has("serialized_exported_program.json")) return FileKind::pt2;
  if (has_part("aotinductor/")) return FileKind::torch_compiled;
  if (has("constants.pkl") || has_part("code/__torch__")) return FileKind::torchscript;
  if (has("data.pkl")) return FileKind::torch_weights;
  if (has("config.json") && has("model.weights.h5")) return FileKind::keras;
  if (has_part(".tflite")) return FileKind::tflite_bundle;
  return all_end_in(".npy") ? FileKind::numpy : FileKind::unknown;
}

// ---- Texts.

FileKind detect_json(std::string_view text) {
  const auto has = [&](std::string_view key) {
    return text.find("\"" + std::string(key) + "\"") != std::string_view::npos;
  };
  if (has("modelTopology") || has("format")) {
    if (has("layers-model") || has("keras_version")) return FileKind::tfjs_layers;
    if (has("graph-model") || has("modelTopology")) return FileKind::tfjs_graph;
  }
  return has("nodes") && (has("heads") || has("arg_nodes")) ? FileKind::mxnet_symbol : FileKind::unknown;
}

/// Whether the first line that says something is "NAME = PLACEHOLDER ..." or "NAME = SIZE ...".
bool is_operator_text(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == line.npos || line[begin] == '#') continue;
    const std::size_t sign = line.find('='), word = line.find_first_not_of(" \t", sign == line.npos ? sign : sign + 1);
    return word != line.npos &&
           (line.substr(word).starts_with("PLACEHOLDER") || line.substr(word).starts_with("SIZE "));
  }
  return false;
}

/// A header of JSON with the places of tensors, and its length before it.
bool is_safetensors(std::string_view bytes) {
  const std::uint64_t header = little_endian(bytes, 0, 8);
  return bytes.size() > 9 && header < (1u << 27) && bytes[8] == '{' &&
         bytes.substr(8, header).find("\"data_offsets\"") != std::string_view::npos;
}

FileKind detect_library(std::string_view bytes) {
  constexpr std::size_t kTrailer = 64;  // whet/model_file.h
  const bool ours = bytes.size() > kTrailer && bytes.substr(bytes.size() - kTrailer, 8) == "whet.so\n";
  return ours ? FileKind::compiled_model : FileKind::library;
}

/// The formats that are read.
constexpr const char* kRead = "ONNX, .pt2, TorchScript, .tflite, SavedModel, GraphDef, TensorFlow.js and MXNet";

/// What makes a file that is read of a model in PyTorch.
constexpr const char* kExport =
    "in Python: torch.export.save(torch.export.export(model.eval(), (example,)), \"model.pt2\") writes one";

constexpr const char* kKeras =
    "in Python: keras.saving.load_model(FILE).export(\"folder\") writes a SavedModel, which is read";

struct Refusal {
  FileKind kind;
  const char* is;      ///< the format, as a predicate
  const char* advice;  ///< a way to a file that is read
};
constexpr Refusal kRefusals[] = {
    {FileKind::torch_compiled, "holds machine code that AOTInductor made for one processor, and no graph", kExport},
    {FileKind::torch_weights, "holds weights that torch.save wrote, without a graph", kExport},
    {FileKind::executorch, "is an ExecuTorch program (.pte)", kExport},
    {FileKind::tfjs_layers, "is a layers model of TensorFlow.js, which describes layers by their Python classes",
     kKeras},
    {FileKind::keras, "is a Keras file, which describes layers by their Python classes", kKeras},
    {FileKind::hdf5, "is an HDF5 file, as older Keras writes them", kKeras},
    {FileKind::mxnet_params, "holds the parameters of an MXNet network, without its graph",
     "give NAME-symbol.json, which stands beside it"},
    {FileKind::safetensors, "holds tensors (safetensors), without a graph", kExport},
    {FileKind::gguf, "holds tensors (GGUF), without a graph", "the program that made them exports ONNX"},
    {FileKind::pickle, "is a Python pickle, as torch before 1.6 saved weights", kExport},
    {FileKind::numpy, "holds tensors of numpy, without a graph", "the program that made them exports ONNX"},
    {FileKind::compiled_model, "is compiled already", "`whet run`, `whet profile` and `whet bench` take it"},
    {FileKind::library, "is a program or a library, and none that whet compiled", "neither is a model"},
};

}  // namespace

FileKind detect(std::string_view bytes) {
  const auto at = [&](std::size_t place, std::string_view magic) {
    return bytes.size() >= place && bytes.substr(place).starts_with(magic);
  };
  if (at(4, "TFL3")) return FileKind::tflite;
  if (at(4, "ET12")) return FileKind::executorch;
  if (at(0, "PK\x03\x04")) return detect_zip(bytes);
  if (at(0, "\x89HDF")) return FileKind::hdf5;
  if (at(0, "GGUF")) return FileKind::gguf;
  if (at(0, "\x93NUMPY")) return FileKind::numpy;
  if (at(0, "\x7f\x45\x4c\x46")) return detect_library(bytes);
  const std::size_t begin = bytes.find_first_not_of(" \t\r\n");
  if (begin != std::string_view::npos && bytes[begin] == '{') return detect_json(bytes);
  if (is_operator_text(bytes)) return FileKind::operator_text;
  if (bytes.size() >= 8 && little_endian(bytes, 0, 8) == 0x112) return FileKind::mxnet_params;
  if (is_safetensors(bytes)) return FileKind::safetensors;
  if (at(0, "\x80\x02") || at(0, "\x80\x03") || at(0, "\x80\x04") || at(0, "\x80\x05")) return FileKind::pickle;
  return detect_protobuf(bytes);
}

FileKind detect_folder(const std::string& path) {
  std::error_code code;
  const std::filesystem::path folder(path);
  if (std::filesystem::exists(folder / "saved_model.pb", code)) return FileKind::saved_model;
  if (std::filesystem::exists(folder / "model.json", code)) return FileKind::tfjs_graph;
  return FileKind::unknown;
}

Error refusal(FileKind kind, const std::string& what, const std::string& detail) {
  const auto* row =
      std::find_if(std::begin(kRefusals), std::end(kRefusals), [&](const Refusal& r) { return r.kind == kind; });
  if (row == std::end(kRefusals)) return Error{what + ": is none of the models that whet reads: " + std::string(kRead)};
  return Error{what + ": " + row->is + detail + "; whet reads " + kRead + " (" + row->advice + ")"};
}

}  // namespace whet
