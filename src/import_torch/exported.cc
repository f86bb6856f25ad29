#include "import_torch/exported.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/nearest.h"

namespace whet::torch {
namespace {

constexpr int kMostLevels = 32;  ///< of lists in lists and of bodies in bodies

/// The member of a union that is there: new files write one key, old ones all of them with nulls. Null where all are.
const std::pair<std::string, Json>* chosen(const Json& value) {
  if (!value.is_object()) return nullptr;
  for (const auto& member : value.members())
    if (!member.second.is_null()) return &member;
  return nullptr;
}

/// "Symbol('s77', positive=True, integer=True)" or "s77": s77. Anything else has no name of its own.
std::string symbol_of(const std::string& text) {
  constexpr std::string_view kSymbol = "Symbol('";
  if (text.starts_with(kSymbol)) {
    const std::size_t end = text.find('\'', kSymbol.size());
    const std::size_t close = text.find(')');
    if (end != std::string::npos && close + 1 == text.size()) return text.substr(kSymbol.size(), end - kSymbol.size());
  }
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(),
                                                  [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  return plain && std::isalpha(static_cast<unsigned char>(text[0])) != 0 ? text : "";
}

/// "Mul(Integer(4), Symbol('s18', positive=True, integer=True))" or "4*s18": a dimension called 4*s18, in steps of 4. Of anything else
/// nothing changes.
void take_multiple(const std::string& text, FileDimension& dimension) {
  constexpr std::string_view kProduct = "Mul(Integer(", kTimes = "), ";
  const bool is_product = text.starts_with(kProduct) && text.ends_with(')');
  const std::string_view factor = is_product ? std::string_view(text).substr(kProduct.size()) : std::string_view(text);
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(factor.data(), factor.data() + factor.size(), step);
  const std::string_view rest = factor.substr(static_cast<std::size_t>(end - factor.data()));
  const std::string_view between = is_product ? kTimes : "*";
  if (error != std::errc() || step < 2 || step > kMaxElements || !rest.starts_with(between)) return;
  const std::string symbol =
      symbol_of(std::string(rest.substr(between.size(), rest.size() - between.size() - (is_product ? 1 : 0))));
  if (!symbol.empty()) dimension.symbol = std::to_string(step) + "*" + symbol, dimension.step = step;
}

/// Reads a program's graph.
class GraphParser {
 public:
  GraphParser(const std::string& what, int depth) : what_(what), depth_(depth) {}

  Result<TorchProgram> parse(const Json& graph);
  Result<Argument> argument(const Json& value, int level = 0);

 private:
  Error fault(const std::string& sentence) const { return Error{what_ + ": " + sentence}; }
  Result<TorchNode> node(const Json& value, std::size_t index);
  Result<Argument> list(const Json& value, std::string_view kind, int level);
  Status outputs(const Json& value, TorchNode& node);
  Status add_output(const Argument& value, TorchNode& node);
  Status add_name(const Json& value, std::vector<Name>& names);

  const std::string& what_;
  int depth_;
};

/// "L__self__,,__main__.Net;L__self___features_0,features.0,torch.nn.modules.conv.Conv2d": the path of the last module.
std::string module_path(const Json& metadata) {
  const std::string stack = metadata["nn_module_stack"].string_or("");
  const std::size_t last = stack.rfind(';');
  const std::string entry = last == std::string::npos ? stack : stack.substr(last + 1);
  const std::size_t first = entry.find(','), second = first == std::string::npos ? first : entry.find(',', first + 1);
  if (second == std::string::npos) return "";
  std::string path = entry.substr(first + 1, second - first - 1);
  for (const std::string_view prefix : {"L['self'].", "L['self']", "_empty_nn_module_stack_from_metadata_hook"})
    if (path.starts_with(prefix)) path.erase(0, prefix.size());
  return path;
}

/// Python's stack, the innermost call last: "File \"model.py\", line 12, in forward\n    return relu(x)\n File ...". The line
/// of the last call outside of torch's own files, as "line 12 of model.py"; "" where there is none.
std::string line_of(std::string_view stack) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ";
  std::string_view last;
  for (std::size_t at = 0; (at = stack.find(kFile, at)) != std::string_view::npos;) {
    at += kFile.size();
    const std::string_view call = stack.substr(at, stack.find('\n', at) - at);
    const bool is_own = call.find("-packages/torch/") != std::string_view::npos;
    if (call.find(kLine) != std::string_view::npos && (last.empty() || !is_own)) last = call;
  }
  const std::size_t end = last.find(kLine);
  if (end == std::string_view::npos) return "";
  const std::string_view path = last.substr(0, end), number = last.substr(end + kLine.size());
  return "line " + std::string(number.substr(0, number.find(','))) + " of " +
         std::string(path.substr(path.rfind('/') + 1));
}

/// "aten.conv2d.default": conv2d
std::string plain_op(const std::string& op) {
  const std::size_t first = op.find('.');
  const std::string rest = first == std::string::npos ? op : op.substr(first + 1);
  return rest.substr(0, rest.find('.'));
}

/// By the file's number; what the file does not know is none.
Argument memory_format(std::int64_t number) {
  constexpr const char* kFormats[] = {"contiguous_format", "channels_last", "channels_last_3d", "preserve_format"};
  return number >= 1 && number <= 4 ? Argument{std::string(kFormats[number - 1])} : Argument{};
}

Result<Argument> GraphParser::list(const Json& value, std::string_view kind, int level) {
  if (!value.is_array()) return fault("an argument \"" + std::string(kind) + "\" is no list");
  Arguments items;
  for (const Json& each : value.items()) {
    WHET_TRY(Argument item, argument(each, level + 1));
    if (auto* name = std::get_if<Name>(&item.value); name != nullptr) name->is_number = kind.find("sym") != kind.npos;
    items.push_back(std::move(item));
  }
  return Argument{std::move(items)};
}

Result<Argument> GraphParser::argument(const Json& value, int level) {
  if (level > kMostLevels) return fault("arguments are nested more than " + std::to_string(kMostLevels) + " deep");
  if (value.is_bool()) return Argument{value.boolean()};
  if (value.is_integer()) return Argument{value.integer()};
  if (value.is_number()) return Argument{value.number()};
  if (value.is_string()) return Argument{value.string()};
  if (value.is_array()) return list(value, "list", level);
  const auto* member = chosen(value);
  if (member == nullptr) return Argument{};
  const auto& [kind, content] = *member;
  const auto named = [&](bool is_number) -> Result<Argument> {
    const Json& name = content["name"].is_string() ? content["name"] : content["as_name"];
    if (name.is_string()) return Argument{Name{name.string(), is_number}};
    return content["as_int"].is_integer() || is_number ? argument(content, level + 1)
                                                       : fault("an argument \"" + kind + "\" has no name");
  };
  if (kind == "as_none") return Argument{};
  // Elements of a list of tensors have no key around them.
  if (kind == "name" && content.is_string()) return Argument{Name{content.string()}};
  if (kind == "as_tensor") return named(false);
  if (kind == "as_name")
    return content.is_string() ? Result<Argument>(Argument{Name{content.string(), true}}) : fault("a name is no text");
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") return named(true);
  if (kind == "as_optional_tensor") return argument(content, level + 1);
  if (kind == "as_scalar_type") return Argument{ScalarType{content.integer_or(0)}};
  if (kind == "as_device" || kind == "as_layout") return Argument{};
  if (kind == "as_memory_format") return memory_format(content.integer_or(0));
  if (kind == "as_float" && content.is_string()) {
    if (content.string() == "Infinity") return Argument{std::numeric_limits<double>::infinity()};
    if (content.string() == "-Infinity") return Argument{-std::numeric_limits<double>::infinity()};
    return Argument{std::numeric_limits<double>::quiet_NaN()};
  }
  if (kind == "as_float") return Argument{content.number_or(std::numeric_limits<double>::quiet_NaN())};
  if (kind == "as_int" || kind == "as_bool" || kind == "as_string") return argument(content, level + 1);
  if (kind == "as_complex") return Argument{Arguments{{content["real"].number_or(0)}, {content["imag"].number_or(0)}}};
  if (kind == "as_graph") {
    if (depth_ >= kMostLevels) return fault("bodies are nested more than " + std::to_string(kMostLevels) + " deep");
    WHET_TRY(TorchProgram body, GraphParser(what_, depth_ + 1).parse(content["graph"]));
    return Argument{std::make_shared<const TorchProgram>(std::move(body))};
  }
  if (content.is_array()) return list(content, kind, level);
  return fault("an argument is of the kind " + in_quotes(kind) + ", which is not supported");
}

Status GraphParser::add_output(const Argument& value, TorchNode& node) {
  if (node.outputs.size() > 65536) return fault(in_quotes(node.op) + " has more than 65536 results");
  if (const auto* list = std::get_if<Arguments>(&value.value)) {
    for (const Argument& each : *list) WHET_RETURN_IF_ERROR(add_output(each, node));
    return ok_status();
  }
  const Name* name = value.name();
  node.outputs.push_back(name == nullptr ? "" : name->name);
  return ok_status();
}

Status GraphParser::outputs(const Json& value, TorchNode& node) {
  if (!value.is_array()) return ok_status();
  for (const Json& each : value.items()) {
    WHET_TRY(const Argument output, argument(each));
    WHET_RETURN_IF_ERROR(add_output(output, node));
  }
  return ok_status();
}

Result<TorchNode> GraphParser::node(const Json& value, std::size_t index) {
  TorchNode node;
  node.op = value["target"].string_or("");
  if (node.op.empty()) return fault("node " + std::to_string(index) + " has no target");
  constexpr std::string_view kOps = "torch.ops.";
  if (node.op.starts_with(kOps)) node.op.erase(0, kOps.size());
  if (value["inputs"].is_array()) {
    for (const Json& input : value["inputs"].items()) {
      WHET_TRY(Argument given, argument(input["arg"]));
      node.arguments.emplace_back(input["name"].string_or(""), std::move(given));
    }
  }
  WHET_RETURN_IF_ERROR(outputs(value["outputs"], node));
  const std::string path = module_path(value["metadata"]);
  std::string own = value["name"].string_or("");
  if (own.empty() && !node.outputs.empty()) own = node.outputs[0];
  node.line = line_of(value["metadata"]["stack_trace"].string_or(""));
  node.label = path.empty() ? own + " (" + node.op.substr(0, node.op.rfind('.')) + ")" : path + "/" + plain_op(node.op);
  return node;
}

Status GraphParser::add_name(const Json& value, std::vector<Name>& names) {
  WHET_TRY(const Argument each, argument(value));
  const Name* name = each.name();
  names.push_back(name == nullptr ? Name{} : *name);
  return ok_status();
}

Result<TorchProgram> GraphParser::parse(const Json& graph) {
  if (!graph["nodes"].is_array() || !graph["inputs"].is_array() || !graph["outputs"].is_array())
    return fault("has no graph of nodes, inputs and outputs");
  TorchProgram program;
  for (const Json& input : graph["inputs"].items()) WHET_RETURN_IF_ERROR(add_name(input, program.inputs));
  for (const Json& output : graph["outputs"].items()) {
    WHET_TRY(const Argument each, argument(output));
    program.outputs.push_back(each.name() == nullptr ? Name{} : *each.name());
  }
  for (std::size_t i = 0; i < graph["nodes"].items().size(); ++i) {
    WHET_TRY(TorchNode each, node(graph["nodes"].items()[i], i));
    program.has_levels = program.has_levels || each.op == "torch._functorch.predispatch._add_batch_dim";
    program.nodes.push_back(std::move(each));
  }
  if (graph["tensor_values"].is_object()) {
    for (const auto& [name, meta] : graph["tensor_values"].members()) {
      WHET_TRY(program.types[name], parse_tensor_meta(meta, what_ + ": " + in_quotes(name)));
    }
  }
  return program;
}

// ---- What is around the graph: parameters, inputs and outputs.

/// The names of a spec's leaves: keys of dictionaries, positions elsewhere.
void leaf_names(const Json& spec, const std::string& name, int depth, std::vector<std::string>& names) {
  const Json& children = spec["children_spec"];
  if (spec["type"].is_null() || !children.is_array() || depth > kMostLevels) {
    if (names.size() < 4096) names.push_back(name);
    return;
  }
  const bool keyed = spec["type"].string_or("").find("dict") != std::string::npos;
  Json keys;
  if (keyed) {
    const auto parsed = parse_json(spec["context"].string_or(""));
    if (parsed.ok()) keys = *parsed;
    if (keys.is_array() && keys.items().size() == 2 && keys.items()[1].is_array()) keys = keys.items()[1];
  }
  for (std::size_t i = 0; i < children.items().size(); ++i) {
    std::string own = std::to_string(i);
    if (keys.is_array() && i < keys.items().size()) own = keys.items()[i].string_or(own);
    std::string path = name;
    if (!path.empty()) path += keyed ? '.' : '_';
    path += own;
    leaf_names(children.items()[i], path, depth + 1, names);
  }
}

/// The names for users of outputs, from the program's own description of its result.
std::vector<std::string> names_of_outputs(const Json& exported, std::size_t count) {
  const Json& calls = exported["graph_module"]["module_call_graph"];
  std::vector<std::string> names;
  if (calls.is_array() && !calls.items().empty()) {
    const auto spec = parse_json(calls.items()[0]["signature"]["out_spec"].string_or(""));
    if (spec.ok() && spec->is_array() && spec->items().size() == 2) leaf_names(spec->items()[1], "", 0, names);
  }
  names.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const bool number = names[i].empty() || std::isdigit(static_cast<unsigned char>(names[i][0])) != 0;
    if (number) names[i] = "output" + (names[i].empty() ? std::to_string(i) : names[i]);
  }
  const std::set<std::string> distinct(names.begin(), names.end());
  for (std::size_t i = 0; i < count && distinct.size() != count; ++i) names[i] = "output" + std::to_string(i);
  return names;
}

/// One entry of the signature: its kind and its content.
struct Spec {
  std::string kind;
  const Json* content;
  std::string name;  ///< of the program's input or output
};
Result<Spec> parse_spec(const Json& value, const std::string& what) {
  const auto* member = chosen(value);
  if (member == nullptr || !member->second.is_object()) return Error{what + ": an entry of its signature is empty"};
  Spec spec{member->first, &member->second, ""};
  const Json& arg = member->second["arg"];
  const auto* inner = chosen(arg);
  if (arg["name"].is_string())
    spec.name = arg["name"].string();
  else if (inner != nullptr)
    spec.name = inner->second["name"].string_or(inner->second["as_name"].string_or(""));
  return spec;
}

std::string target_of(const Json& content) {
  for (const char* key : {"parameter_name", "buffer_name", "tensor_constant_name"})
    if (content[key].is_string()) return content[key].string();
  return "";
}

/// Where parameters come from, the values that something reads, and inputs and weights that are complex.
struct Around {
  const Weights& weights;
  bool native_types;
  std::set<std::string> read{};
  std::vector<std::string> complex{};
};

/// Complex weights and inputs are real and imaginary parts side by side; nodes make them complex, under names of their own.
void take_as_pairs(const std::vector<std::string>& complex, TorchProgram& program) {
  std::map<std::string, std::string> names;
  std::vector<TorchNode> nodes;
  for (const std::string& name : complex) {
    const std::string& whole = names[name] = name + " complex";
    program.types[whole] = program.types[name];
    nodes.push_back({"aten.view_as_complex.default", name, {{"self", Argument{Name{name}}}}, {whole}});
  }
  if (nodes.empty()) return;
  rename_reads(program, names);
  program.nodes.insert(program.nodes.begin(), nodes.begin(), nodes.end());
}
bool is_complex(const std::string& name, const TorchProgram& program) {
  const auto type = program.types.find(name);
  return type != program.types.end() && type_of_parts(type->second.type);
}

Status add_input(const Spec& spec, TorchModel& model, Around& around, const std::string& what) {
  if (spec.kind == "user_input") {
    if (spec.name.empty()) return Error{what + ": an input is a number or a text that was fixed when it was exported"};
    const auto type = model.program.types.find(spec.name);
    FileInput input{spec.name, std::nullopt, std::nullopt};
    if (type != model.program.types.end()) {
      input.dtype = dtype_of(type->second.type, around.native_types);
      input.dimensions = type->second.sizes;
      if (is_complex(spec.name, model.program)) {
        input.dtype = type_of_parts(type->second.type);
        input.dimensions->push_back({2, ""});
        around.complex.push_back(spec.name);
      }
      if (type->second.type.number == 13 && !around.native_types)
        return Error{what + ": input " + in_quotes(spec.name) +
                     " is bfloat16; --native-types keeps it; in Python: " + "export the model after model.float()"};
    }
    model.inputs.push_back(std::move(input));
    return ok_status();
  }
  if (spec.kind == "constant_input" || spec.kind == "token") return ok_status();
  const bool is_constant =
      spec.kind == "tensor_constant" || (spec.kind == "buffer" && !(*spec.content)["persistent"].bool_or(true));
  if (spec.kind != "parameter" && spec.kind != "buffer" && spec.kind != "tensor_constant")
    return Error{what + ": has an input of the kind " + in_quotes(spec.kind) + ", which is not supported"};
  const std::string target = target_of(*spec.content);
  if (spec.kind == "buffer") model.buffers.emplace(spec.name, target);
  if (!around.read.contains(spec.name)) return ok_status();
  WHET_TRY(Tensor tensor, around.weights(target, is_constant));
  if (is_complex(spec.name, model.program)) around.complex.push_back(spec.name);
  model.constants.push_back({spec.name, std::move(tensor)});
  return ok_status();
}

Status add_inputs(const Json& signature, TorchModel& model, const Weights& weights, bool native_types,
                  const std::string& what) {
  if (!signature["input_specs"].is_array()) return Error{what + ": has no list of inputs"};
  Around around{weights, native_types};
  std::vector<std::string> names;
  for (const TorchNode& node : model.program.nodes)
    for (const auto& [name, argument] : node.arguments) collect_names(argument, names);
  around.read.insert(names.begin(), names.end());
  for (const Name& output : model.program.outputs) around.read.insert(output.name);
  for (const Json& each : signature["input_specs"].items()) {
    WHET_TRY(const Spec spec, parse_spec(each, what));
    WHET_RETURN_IF_ERROR(add_input(spec, model, around, what));
  }
  take_as_pairs(around.complex, model.program);
  return ok_status();
}

/// The names of the arguments of `forward`, where each is one input.
void name_inputs(const Json& exported, TorchModel& model) {
  const Json& calls = exported["graph_module"]["module_call_graph"];
  if (!calls.is_array() || calls.items().empty()) return;
  const Json& names = calls.items()[0]["signature"]["forward_arg_names"];
  if (!names.is_array() || names.items().size() != model.inputs.size()) return;
  std::set<std::string> taken;
  for (const Json& each : names.items()) taken.insert(each.string_or(""));
  if (taken.size() != model.inputs.size() || taken.contains("")) return;
  for (std::size_t i = 0; i < model.inputs.size(); ++i)
    model.input_names[model.inputs[i].name] = names.items()[i].string();
}

/// A number that is an output becomes a constant, whose name this is; "" where the output is none or a text.
std::string add_number(const Json& given, TorchModel& model) {
  const auto* member = chosen(given);
  const bool is_whole = member != nullptr && member->first == "as_int",
             is_truth = member != nullptr && member->first == "as_bool";
  if (member == nullptr || (!is_whole && !is_truth && member->first != "as_float")) return "";
  Tensor number(is_whole ? DType::i64 : is_truth ? DType::boolean : DType::f64, {});
  if (is_whole) number.set_integer(0, member->second.integer_or(0));
  if (!is_whole)
    number.set(0, is_truth ? static_cast<double>(member->second.bool_or(false)) : member->second.number_or(0));
  model.constants.push_back({"number " + std::to_string(model.constants.size()), std::move(number)});
  return model.constants.back().name;
}

/// Leaves outputs out whose value is None.
void drop_absent_outputs(TorchModel& model) {
  std::vector<Name> outputs;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model.program.outputs.size(); ++i) {
    if (model.program.outputs[i].name.empty()) continue;
    outputs.push_back(model.program.outputs[i]);
    names.push_back(model.output_names[i]);
  }
  model.program.outputs = std::move(outputs);
  model.output_names = std::move(names);
}

Status keep_user_outputs(const Json& signature, TorchModel& model, const std::string& what) {
  if (!signature["output_specs"].is_array()) return Error{what + ": has no list of outputs"};
  std::vector<Name> outputs;
  for (const Json& each : signature["output_specs"].items()) {
    WHET_TRY(const Spec spec, parse_spec(each, what));
    if (spec.kind == "user_output")
      outputs.push_back({spec.name.empty() ? add_number((*spec.content)["arg"], model) : spec.name});
    if (spec.kind == "buffer_mutation") model.new_states[(*spec.content)["buffer_name"].string_or("")] = spec.name;
  }
  model.program.outputs = std::move(outputs);
  return ok_status();
}

/// Sizes of inputs that the file leaves open: a leading one is the file's lower bound, the others are the example's.
void bind_open_sizes(const Json& exported, TorchModel& model) {
  const Json& meta = exported["graph_module"]["graph"]["tensor_values"];
  std::map<std::string, std::int64_t> bound;
  for (FileInput& input : model.inputs) {
    if (!input.dimensions) continue;
    const Json& sizes = meta[input.name]["sizes"];
    for (std::size_t d = 0; d < input.dimensions->size() && sizes.is_array() && d < sizes.items().size(); ++d) {
      FileDimension& dimension = (*input.dimensions)[d];
      if (dimension.extent) continue;
      const Json& hint = sizes.items()[d]["as_expr"]["hint"]["as_int"];
      const Json& range = exported["range_constraints"][dimension.symbol];
      const Json& least = range["min_val"];
      // Torch takes sizes of 0 and 1 where it says that there are 2 or more.
      if (least.integer_or(0) > 2) dimension.least = least.integer();
      if (range["max_val"].is_integer()) dimension.most = range["max_val"].integer();
      dimension.usual = d == 0 ? std::max<std::int64_t>(least.integer_or(1), 1) : hint.integer_or(0);
      if (dimension.usual < 1) dimension.usual = std::nullopt;
      if (!dimension.symbol.empty() && dimension.usual) {
        dimension.usual = bound.emplace(dimension.symbol, *dimension.usual).first->second;
      }
    }
  }
}

/// Conditions that are none on sizes are left out.
void read_guards(const Json& exported, TorchModel& model) {
  constexpr std::size_t kMostGuards = 65536;
  const Json& codes = exported["guards_code"];
  if (!codes.is_array()) return;
  for (const Json& code : codes.items()) {
    std::optional<Guard> guard = Guard::parse(code.string_or(""));
    if (guard && model.guards.size() < kMostGuards) model.guards.push_back(std::move(*guard));
  }
}

}  // namespace

std::optional<std::int64_t> known_size(const Json& value) {
  if (value.is_integer()) return value.integer();
  const Json& plain = value["as_int"];
  return plain.is_integer() ? std::optional(plain.integer()) : std::nullopt;
}

namespace {

/// As far as sizes are known; the strides of dimensions of 1 mean nothing.
bool lies_row_by_row(const Json& meta, const SaidType& said) {
  const Json& strides = meta["strides"];
  if (!strides.is_array() || strides.items().size() != said.sizes.size() || known_size(meta["storage_offset"]) != 0)
    return false;
  std::optional<std::int64_t> expected = 1;
  for (std::size_t d = said.sizes.size(); d-- > 0;) {
    const auto extent = said.sizes[d].extent;
    if (extent == 1) continue;
    if (!expected || known_size(strides.items()[d]) != expected) return false;
    const bool known = extent && (*extent == 0 || *expected <= kMaxElements / *extent);
    expected = known ? std::optional(*expected * *extent) : std::nullopt;
  }
  return true;
}

}  // namespace

Result<SaidType> parse_tensor_meta(const Json& meta, const std::string& what) {
  SaidType said{ScalarType{meta["dtype"].integer_or(0)}, {}};
  if (!meta["sizes"].is_array() || meta["sizes"].items().size() > 64) return Error{what + ": has no list of sizes"};
  for (const Json& size : meta["sizes"].items()) {
    FileDimension dimension{known_size(size), ""};
    const std::string text = dimension.extent ? "" : size["as_expr"]["expr_str"].string_or("");
    dimension.symbol = symbol_of(text);
    if (dimension.symbol.empty()) take_multiple(text, dimension);
    if (dimension.extent && (*dimension.extent < 0 || *dimension.extent > kMaxElements))
      return Error{what + ": has a size of " + std::to_string(*dimension.extent)};
    said.sizes.push_back(std::move(dimension));
  }
  said.row_by_row = lies_row_by_row(meta, said);
  return said;
}

namespace {

Json spec_of(const std::string& name, const char* kind, const char* key, const Json& target) {
  Json content = Json::object().set("arg", Json::object().set("name", name));
  if (target.is_string()) content.set(key, target);
  return Json::object().set(kind, content);
}

/// Torch 2.1 wrote lists of names and dictionaries; torch 2.2 and newer write an entry an input.
Json signature_of(const Json& module) {
  const Json& signature = module["signature"];
  if (signature["input_specs"].is_array() || !signature["user_inputs"].is_array()) return signature;
  Json inputs = Json::array(), outputs = Json::array();
  for (const Json& input : module["graph"]["inputs"].items()) {
    const auto* inner = chosen(input);
    const std::string name = inner == nullptr ? "" : inner->second["name"].string_or("");
    const Json& parameter = signature["inputs_to_parameters"][name];
    const Json& buffer = signature["inputs_to_buffers"][name];
    inputs.add(parameter.is_string() ? spec_of(name, "parameter", "parameter_name", parameter)
               : buffer.is_string()  ? spec_of(name, "buffer", "buffer_name", buffer)
                                     : spec_of(name, "user_input", "", Json()));
  }
  for (const Json& output : module["graph"]["outputs"].items()) {
    const auto* inner = chosen(output);
    const std::string name = inner == nullptr ? "" : inner->second["name"].string_or("");
    const Json& buffer = signature["buffers_to_mutate"][name];
    outputs.add(buffer.is_string() ? spec_of(name, "buffer_mutation", "buffer_name", buffer)
                                   : spec_of(name, "user_output", "", Json()));
  }
  return Json::object().set("input_specs", inputs).set("output_specs", outputs);
}

}  // namespace

Result<TorchModel> parse_exported(const Json& exported, const Weights& weights, bool native_types,
                                  const std::string& what) {
  const Json& module = exported["graph_module"];
  const Json& version = exported["schema_version"];
  const std::int64_t major = version["major"].integer_or(version.integer_or(0));
  if (major > 8) return Error{what + ": is of schema " + std::to_string(major) + "; whet reads 1 to 8"};
  TorchModel model;
  GraphParser parser(what, 0);
  WHET_TRY(model.program, parser.parse(module["graph"]));
  const Json signature = signature_of(module);
  WHET_RETURN_IF_ERROR(keep_user_outputs(signature, model, what));
  WHET_RETURN_IF_ERROR(add_inputs(signature, model, weights, native_types, what));
  bind_open_sizes(exported, model);
  read_guards(exported, model);
  name_inputs(exported, model);
  model.output_names = names_of_outputs(exported, model.program.outputs.size());
  drop_absent_outputs(model);
  return model;
}

}  // namespace whet::torch
