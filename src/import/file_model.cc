#include "import/file_model.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "graph/dead_code.h"
#include "import/bind.h"
#include "import/define.h"
#include "import/order.h"
#include "import/until.h"

namespace whet {
namespace {

/// Everything about a model that stays the same when import begins again with more inputs folded.
struct Model {
  FileModel file;
  std::vector<std::size_t> order;
  std::vector<TensorType> input_types;
  std::vector<InputList> lists;  ///< inputs that are sequences: their elements are inputs
};

std::string listed(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// How to read what comes before the nodes that cannot be read; "" where that is nothing.
std::string until_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  if (names.empty()) return "";
  if (names.size() > kMost) return "; --until NAME, which may be repeated, ends the model at values before it";
  std::string text = "; what comes before can be read:";
  for (const std::string& name : names) text += " --until " + name;
  return text;
}

/// Without those that the user defines. A name may have a reason or a line behind it.
void drop_defined(std::set<std::string>& missing, const OperatorDefinitions& definitions) {
  std::erase_if(missing, [&](const std::string& text) { return definitions.contains(text.substr(0, text.find(' '))); });
}

Status check_shapes(const Model& model) {
  if (!model.file.check_shapes) return ok_status();
  std::map<std::string, Shape> shapes;
  for (std::size_t i = 0; i < model.file.inputs.size(); ++i)
    shapes[model.file.inputs[i].name] = model.input_types[i].shape;
  return model.file.check_shapes(shapes);
}

/// Operators without an importer, each once, all in one sentence.
Status check_operators(const Model& model, const OperatorDefinitions& definitions) {
  std::set<std::string> missing;
  std::vector<bool> unreadable(model.file.nodes.size(), false);
  for (std::size_t index : model.order) {
    const std::vector<std::string> names = model.file.missing(index);
    std::set<std::string> own(names.begin(), names.end());
    drop_defined(own, definitions);
    unreadable[index] = !own.empty();
    missing.merge(own);
  }
  if (missing.empty()) return ok_status();
  const std::string& set = model.file.operator_set;
  return Error{(missing.size() == 1 ? "this operator is" : "these operators are") + std::string(" not supported") +
               (set.empty() ? "" : " in " + set) + ": " + listed(missing) +
               until_text(last_readable(model.file, model.order, unreadable)) +
               how_to_define(missing.size() == 1 ? *missing.begin() : "NAME")};
}

/// The error, the operators of bodies that would have failed too, and what can be read.
Error explained(const Model& model, Error error, const std::vector<std::string>& readable,
                const OperatorDefinitions& definitions) {
  std::set<std::string> missing(model.file.missing_in_bodies.begin(), model.file.missing_in_bodies.end());
  drop_defined(missing, definitions);
  std::erase_if(missing, [&](const std::string& name) { return error.message.find(name) != std::string::npos; });
  if (!missing.empty()) {
    error.message += " (its branches and loops also use " + listed(missing) + ", not supported)";
  }
  error.message += until_text(readable);
  return error;
}

/// Names and values of the file's outputs; the elements of a sequence are outputs of their own, "NAME.0", "NAME.1", ..., with a
/// number behind where another value of the file is called so.
Result<std::vector<std::pair<std::string, ValueId>>> outputs_of(const Model& model, GrowingGraph& out) {
  std::vector<std::pair<std::string, ValueId>> outputs;
  for (const std::string& name : model.file.outputs) {
    const ValueId id = out.find(name);
    const std::vector<ValueId>* elements = out.sequence(id);
    if (elements == nullptr) outputs.emplace_back(name, id);
    if (elements == nullptr) continue;
    if (out.is_absent(id)) return Error{"output \"" + name + "\" is an optional value that is not there"};
    if (elements->empty())
      return Error{"output \"" + name + "\" is an empty sequence; it has no elements to be outputs"};
    if (std::any_of(elements->begin(), elements->end(), [&](ValueId each) { return out.sequence(each) != nullptr; }))
      return Error{"output \"" + name +
                   "\" is a sequence of sequences; only tensors and sequences of them can be given"};
    for (std::size_t i = 0; i < elements->size(); ++i) {
      const ValueId element = (*elements)[i];
      const std::string own = name + "." + std::to_string(i);
      outputs.emplace_back(out.graph.value(element).name == own ? own : out.unique_value_name(own), element);
    }
  }
  return outputs;
}

/// A value gets the name of the output; an input, or a second name for one value, is passed through
/// a reshape that changes nothing.
Status give_outputs(const Model& model, GrowingGraph& out) {
  std::unordered_set<std::int32_t> named;
  for (ValueId input : out.graph.inputs) named.insert(input.value);
  WHET_TRY(const auto outputs, outputs_of(model, out));
  for (const auto& [name, given] : outputs) {
    ValueId id = given;
    const Value& value = out.graph.value(id);
    if (value.name != name) {
      if (named.insert(id.value).second) {
        out.graph.value(id).name = name;
      } else {
        const Shape shape = value.type.shape;
        const Counted counted = out.counted(id);
        WHET_TRY(id, out.graph.add_node("output/" + name, ReshapeOperator{shape}, {id}));
        out.graph.value(id).name = name;
        out.set_counted(id, counted);
      }
    }
    named.insert(id.value);
    out.graph.outputs.push_back(id);
  }
  return ok_status();
}

/// Behind the file's outputs: how many entries of a dimension are results, where values decide that; once where several outputs
/// have one count.
void give_counts(GrowingGraph& out) {
  std::vector<ValueId> given = out.graph.outputs;
  const std::vector<ValueId> own = given;
  for (const ValueId id : own) {
    for (const auto& [d, count] : out.counted(id)) {
      if (std::find(given.begin(), given.end(), count) != given.end()) continue;
      given.push_back(count);
      out.graph.value(count).name = out.unique_value_name(out.graph.value(id).name + "_count");
      out.graph.outputs.push_back(count);
    }
  }
}

/// Keeps the file's names, and learns which ones something reads.
void reserve_names(const Model& model, GrowingGraph& out) {
  const FileModel& file = model.file;
  for (const FileInput& input : file.inputs) out.reserve({input.name});
  for (const NamedTensor& constant : file.constants) out.reserve({constant.name});
  for (const FileNode& node : file.nodes) out.reserve(node.writes);
  out.reserve(file.outputs);
  out.mark_read(file.outputs);
  for (std::size_t index : model.order) out.mark_read(file.nodes[index].reads);
}

/// Inputs, of which those in `folded` are constants, and constants.
void add_given(const Model& model, const ImportOptions& options, const std::set<std::string>& folded,
               GrowingGraph& out) {
  for (std::size_t i = 0; i < model.file.inputs.size(); ++i) {
    const std::string& name = model.file.inputs[i].name;
    const TensorType& type = model.input_types[i];
    if (folded.contains(name)) {
      out.define(name, out.graph.add_constant(name, held_as(options.values.at(name), type.dtype)));
      continue;
    }
    ValueId id = out.add_input(name, type);
    // The value of an empty input is known, though it stays an input.
    if (num_elements(type.shape) == 0) {
      id = out.graph.add_constant(out.unique_value_name(name), Tensor(type.dtype, type.shape));
    }
    out.define(name, id);
  }
  for (const InputList& list : model.lists) {
    std::vector<ValueId> elements;
    for (const std::string& name : list.elements) elements.push_back(out.find(name));
    out.define(list.name, out.add_sequence(list.name, list.dtype, elements));
  }
  for (const NamedTensor& constant : model.file.constants) {
    out.define(constant.name, out.graph.add_constant(constant.name, constant.tensor));
  }
}

/// What an import found out besides the graph.
struct Findings {
  std::set<std::string> needed;       ///< inputs whose values a shape asked for
  std::vector<std::string> readable;  ///< where the model could end before what cannot be read
};

/// Imports the nodes in order. The error is that of the first node that cannot be read; the others are looked at all the
/// same, except those behind it.
Status import_nodes(const Model& model, GrowingGraph& out, Findings& findings) {
  Status first = ok_status();
  std::set<std::string> behind;
  std::vector<bool> unreadable(model.file.nodes.size(), false);
  for (std::size_t index : model.order) {
    const FileNode& node = model.file.nodes[index];
    Status status = ok_status();
    const bool is_behind = !behind.empty() && reads_any(node, behind);
    if (!is_behind) status = model.file.import(out, index);
    if (first.ok()) findings.needed = out.needed_values;
    if (first.ok()) first = status;
    // What is looked at only for the sentence may not grow without end either.
    if (!first.ok() && !out.check_growth(node.label).ok()) return first.error();
    unreadable[index] = !status.ok();
    if (!is_behind && status.ok()) continue;
    behind.insert(node.writes.begin(), node.writes.end());
    behind.erase("");
  }
  if (first.ok()) return first;
  findings.readable = last_readable(model.file, model.order, unreadable);
  std::erase_if(findings.readable,
                [&](const std::string& name) { return !out.defined(name) || out.sequence(out.find(name)) != nullptr; });
  return first;
}

/// The graph with the values of `folded` inputs as constants.
Result<Graph> build(const Model& model, const ImportOptions& options, const std::set<std::string>& folded,
                    Findings& findings) {
  GrowingGraph out;
  out.graph.name = model.file.name;
  out.native_types = options.native_types;
  out.set_definitions(options.definitions);
  reserve_names(model, out);
  add_given(model, options, folded, out);
  WHET_RETURN_IF_ERROR(import_nodes(model, out, findings));
  WHET_RETURN_IF_ERROR(give_outputs(model, out));
  give_counts(out);
  drop_dead_code(out.graph);
  WHET_RETURN_IF_ERROR(verify(out.graph));
  if (const std::string unused = out.unused_definition(); !unused.empty())
    return Error{"--define " + unused + "=" + options.definitions.at(unused).file +
                 ": no node that the outputs need has this operator"};
  return std::move(out.graph);
}

}  // namespace

Result<Graph> import_file(FileModel file, const ImportOptions& options) {
  Model model{std::move(file), {}, {}, {}};
  if (!options.until.empty()) WHET_RETURN_IF_ERROR(end_at(model.file, options.until));
  WHET_TRY(model.order, live_order(model.file));
  if (!options.until.empty()) drop_unread_inputs(model.file, model.order);
  WHET_RETURN_IF_ERROR(check_operators(model, options.definitions));
  WHET_TRY(model.lists, expand_lists(model.file, options));
  open_dimensions(model.file, options);
  WHET_RETURN_IF_ERROR(Status(model.file.undecided));
  WHET_TRY(model.input_types, bind_inputs(model.file, options));
  WHET_RETURN_IF_ERROR(check_shapes(model));
  std::set<std::string> folded = model.file.folded;
  while (true) {
    Findings findings;
    Result<Graph> graph = build(model, options, folded, findings);
    if (graph.ok()) return graph;
    // A shape asked for the value of an input: fold those whose value is known, and begin again.
    const std::size_t before = folded.size();
    for (const std::string& name : findings.needed) {
      if (options.values.contains(name)) folded.insert(name);
    }
    if (folded.size() == before) return explained(model, graph.error(), findings.readable, options.definitions);
  }
}

Result<Graph> import_read(Result<FileModel> read, const ImportOptions& options) {
  constexpr std::size_t kLongest = 1000;
  Result<Graph> graph = read.ok() ? import_file(std::move(*read), options) : Result<Graph>(read.error());
  if (graph.ok()) return graph;
  std::string message = graph.error().message;
  if (message.size() > kLongest) message = message.substr(0, kLongest) + "...";
  return Error{message, graph.error().kind};
}

}  // namespace whet
