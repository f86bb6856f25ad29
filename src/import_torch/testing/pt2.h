#pragma once

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "import/testing/imported.h"
#include "import_torch/import_torch.h"
#include "import_torch/testing/script.h"
#include "json/json.h"
#include "tensor/tensor.h"
#include "tensor_files/zip.h"

/// Archives of torch.export, written by test code.
namespace whet::torch {

/// What a reader makes of a file's bytes, or of a file; `what` begins messages.
inline Result<Graph> imported_pt2(const std::string& bytes, const std::string& what,
                                  const ImportOptions& options = {}) {
  return whet::imported(read_pt2_model, {what, "", bytes}, options);
}
inline Result<Graph> imported_pt2_file(const std::string& path, const ImportOptions& options = {}) {
  return whet::imported_file(read_pt2_model, path, options);
}

/// An argument in words: "3", "0.5", "true", "none", "'same'", "%x" (a tensor), "#n" (a number of the program), ":7" (a type of
/// elements), "!1" (a memory format), "[1,2]", "(%x,%y)" (tensors).
inline Json argument_of(const std::string& word) {
  const auto one = [](const char* kind, Json value) { return Json::object().set(kind, std::move(value)); };
  const auto inner = [&] {
    std::vector<std::string> parts(1);
    for (const char c : word.substr(1, word.size() - 2)) {
      if (c == ',') {
        parts.emplace_back();
      } else {
        parts.back() += c;
      }
    }
    return parts;
  };
  if (word == "none") return one("as_none", true);
  if (word == "true" || word == "false") return one("as_bool", word == "true");
  if (word[0] == '%') return one("as_tensor", one("name", word.substr(1)));
  if (word[0] == '#') return one("as_sym_int", one("as_name", word.substr(1)));
  if (word[0] == '\'') return one("as_string", word.substr(1, word.size() - 2));
  if (word[0] == '!') return one("as_memory_format", std::stoi(word.substr(1)));
  if (word[0] == ':') return one("as_scalar_type", std::stoi(word.substr(1)));
  if (word[0] == '(') {
    Json list = Json::array();
    for (const std::string& part : inner()) list.add(one("name", part.substr(1)));
    return one("as_tensors", list);
  }
  if (word[0] == '[' && word.find('.') != std::string::npos) {
    Json list = Json::array();
    for (const std::string& part : inner()) list.add(std::stod(part));
    return one("as_floats", list);
  }
  if (word[0] == '[') {
    Json list = Json::array();
    bool open = false;
    for (const std::string& part : inner()) open = open || part[0] == '#';
    for (const std::string& part : inner()) {
      if (part.empty()) continue;
      if (open) {
        list.add(part[0] == '#' ? one("as_name", part.substr(1)) : one("as_int", std::stoi(part)));
      } else {
        list.add(std::stoi(part));
      }
    }
    return one(open ? "as_sym_ints" : "as_ints", list);
  }
  if (word.find('.') != std::string::npos) return one("as_float", std::stod(word));
  return one("as_int", std::stoi(word));
}

/// A program that grows by words: `Pt2().input("x", {1, 2}).node("aten.relu.default", "self=%x", {"y"}).output("y").bytes()`.
class Pt2 {
 public:
  Pt2& input(const std::string& name, const Shape& shape, int type = 7) {
    add_input(name, "user_input", Json::object());
    return said(name, shape, type);
  }
  /// A parameter, or a buffer.
  Pt2& weight(const std::string& name, const Tensor& tensor, const char* kind = "parameter") {
    const int type = tensor.dtype() == DType::i64 ? 5 : tensor.dtype() == DType::boolean ? 12 : 7;
    const std::string key = std::string(kind) + "_name", path = "weight_" + std::to_string(storages_.size());
    Json content = Json::object();
    content.set(key, "m." + name);
    if (std::string(kind) == "buffer") content.set("persistent", true);
    add_input(name, kind, content);
    said(name, tensor.shape(), type);
    config_.set("m." + name,
                Json::object().set("path_name", path).set("use_pickle", false).set("tensor_meta", values_[name]));
    storages_.push_back(storage_of(tensor));
    tensors_.emplace_back("m." + name, tensor);
    return *this;
  }
  /// A parameter of bfloat16, of which whole numbers up to 256 are.
  Pt2& half_weight(const std::string& name, const std::vector<float>& values) {
    const Shape shape = {static_cast<std::int64_t>(values.size())};
    weight(name, Tensor(DType::f32, shape)).said(name, shape, 13);
    std::string bytes;
    for (const float value : values) {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      bytes += {static_cast<char>(bits >> 16), static_cast<char>(bits >> 24)};
    }
    Json entry = config_["m." + name];
    config_.set("m." + name, entry.set("tensor_meta", values_[name]));
    storages_.back() = bytes;
    return *this;
  }
  /// A program that nodes take as the argument "@name".
  Pt2& body(const std::string& name, const Pt2& program) {
    bodies_.set(name, Json::object().set("name", name).set("graph", program.graph()));
    return *this;
  }
  /// `arguments`: "input=%x stride=[2,2]".
  Pt2& node(const std::string& op, const std::string& arguments, const std::vector<std::string>& outputs,
            const std::string& module = "") {
    nodes_.add(node_of(op, arguments, outputs, module));
    return *this;
  }
  /// The result of a node that is a number of the program.
  Pt2& number(const std::string& op, const std::string& arguments, const std::string& output) {
    Json node = node_of(op, arguments, {}, "");
    node.set("outputs", Json::array().add(Json::object().set("as_sym_int", Json::object().set("as_name", output))));
    nodes_.add(node);
    return *this;
  }
  Pt2& output(const std::string& name) { return output_of("user_output", name, ""); }
  /// What a buffer becomes.
  Pt2& new_state(const std::string& name, const std::string& buffer) {
    return output_of("buffer_mutation", name, buffer);
  }
  /// A number, or none, that is an output.
  Pt2& output_word(const std::string& word) {
    const Json given = argument_of(word);
    outputs_.add(given);
    output_specs_.add(Json::object().set("user_output", Json::object().set("arg", given)));
    return *this;
  }
  /// Where the model's source makes the nodes that follow, as Python writes it.
  Pt2& stack(const std::string& text) {
    stack_ = text;
    return *this;
  }
  /// The type of a value in the file.
  Pt2& said(const std::string& name, const Shape& shape, int type = 7) {
    Json sizes = Json::array(), strides = Json::array();
    std::int64_t stride = num_elements(shape);
    for (const std::int64_t extent : shape) {
      if (extent < 0) {  // an open size: its symbol is "s" and the number
        const std::string symbol = "s" + std::to_string(-extent);
        sizes.add(
            Json::object().set("as_expr", Json::object()
                                              .set("expr_str", "Symbol('" + symbol + "', positive=True, integer=True)")
                                              .set("hint", Json::object().set("as_int", 4))));
      } else {
        sizes.add(Json::object().set("as_int", extent));
      }
      stride /= extent == 0 ? 1 : extent;
      strides.add(Json::object().set("as_int", stride));
    }
    values_.set(name, Json::object()
                          .set("dtype", type)
                          .set("sizes", sizes)
                          .set("strides", strides)
                          .set("storage_offset", Json::object().set("as_int", 0)));
    return *this;
  }
  Pt2& guard(const std::string& code) {
    guards_.add(code);
    return *this;
  }
  /// The sizes that the symbol "s" and the number may have.
  Pt2& range(int symbol, std::int64_t least, std::int64_t most) {
    ranges_.set("s" + std::to_string(symbol), Json::object().set("min_val", least).set("max_val", most));
    return *this;
  }
  Pt2& entry(const std::string& name) {
    entries_.push_back(name);
    return *this;
  }

  Json graph() const {
    return Json::object()
        .set("inputs", inputs_)
        .set("outputs", outputs_)
        .set("nodes", nodes_)
        .set("tensor_values", values_);
  }
  std::string json() const {
    Json module = Json::object();
    module.set("graph", graph());
    module.set("signature", Json::object().set("input_specs", input_specs_).set("output_specs", output_specs_));
    return dump(Json::object()
                    .set("graph_module", module)
                    .set("guards_code", guards_)
                    .set("range_constraints", ranges_)
                    .set("schema_version", Json::object().set("major", 8).set("minor", 8)));
  }
  std::string config() const { return dump(Json::object().set("config", config_)); }
  const std::vector<std::string>& storages() const { return storages_; }
  std::string bytes() const {
    ZipWriter zip;
    const auto add = [&](const std::string& name, const std::string& content) { (void)zip.add("m/" + name, content); };
    add("archive_format", "pt2");
    add("archive_version", "0");
    add("byteorder", "little");
    for (const std::string& entry : entries_.empty() ? std::vector<std::string>{"model"} : entries_) {
      add("models/" + entry + ".json", json());
      add("data/weights/" + entry + "_weights_config.json", config());
    }
    for (std::size_t i = 0; i < storages_.size(); ++i) add("data/weights/weight_" + std::to_string(i), storages_[i]);
    return std::move(zip).finish().value();
  }
  /// As torch 2.1 to 2.7 packed it. `ending`: of the member with the weights, ".json" in torch 2.2 though it is a pickle.
  std::string old_bytes(const std::string& ending = ".pt", const std::string& program = "") const {
    PickleWriter state;
    state.raw("}(");
    ZipWriter inner, zip;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      state.text(tensors_[i].first).tensor(tensors_[i].second, std::to_string(i));
      (void)inner.add("archive/data/" + std::to_string(i), storage_of(tensors_[i].second));
    }
    (void)inner.add("archive/data.pkl", state.raw("u").bytes());
    (void)zip.add("serialized_exported_program.json", program.empty() ? json() : program);
    (void)zip.add("serialized_state_dict" + ending, std::move(inner).finish().value());
    (void)zip.add("version", "5.3");
    return std::move(zip).finish().value();
  }

 private:
  Pt2& output_of(const char* kind, const std::string& name, const std::string& buffer) {
    const Json tensor = argument_of("%" + name);
    outputs_.add(tensor);
    output_specs_.add(Json::object().set(kind, Json::object().set("arg", tensor).set("buffer_name", "m." + buffer)));
    return *this;
  }
  void add_input(const std::string& name, const char* kind, Json content) {
    const Json tensor = argument_of("%" + name);
    inputs_.add(tensor);
    input_specs_.add(Json::object().set(kind, content.set("arg", tensor)));
  }
  Json node_of(const std::string& op, const std::string& arguments, const std::vector<std::string>& outputs,
               const std::string& module) const {
    Json inputs = Json::array(), results = Json::array(), metadata = Json::object();
    for (std::size_t at = 0; at < arguments.size();) {
      const std::size_t equals = arguments.find('=', at), end = std::min(arguments.find(' ', at), arguments.size());
      const std::string word = arguments.substr(equals + 1, end - equals - 1);
      const Json given = word[0] == '@' ? Json::object().set("as_graph", bodies_[word.substr(1)]) : argument_of(word);
      inputs.add(Json::object().set("name", arguments.substr(at, equals - at)).set("arg", given).set("kind", 1));
      at = end + 1;
    }
    for (const std::string& output : outputs) results.add(argument_of("%" + output));
    if (!module.empty()) metadata.set("nn_module_stack", "L__self__,,M;L__self___x," + module + ",torch.nn.Module");
    if (!stack_.empty()) metadata.set("stack_trace", stack_);
    const std::string target =
        op.starts_with("_operator") || op.starts_with("torch.") || op.starts_with("math.") ? op : "torch.ops." + op;
    return Json::object()
        .set("target", target)
        .set("inputs", inputs)
        .set("outputs", results)
        .set("metadata", metadata)
        .set("name", outputs.empty() ? "n" : outputs[0]);
  }

  Json inputs_ = Json::array(), outputs_ = Json::array(), nodes_ = Json::array(), values_ = Json::object(),
       bodies_ = Json::object(), guards_ = Json::array(), ranges_ = Json::object();
  Json input_specs_ = Json::array(), output_specs_ = Json::array(), config_ = Json::object();
  std::vector<std::string> storages_, entries_;
  std::string stack_;
  std::vector<std::pair<std::string, Tensor>> tensors_;
};

}  // namespace whet::torch
