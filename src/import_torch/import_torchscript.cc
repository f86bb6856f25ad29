#include <algorithm>
#include <memory>

#include "base/nearest.h"
#include "import/bind.h"
#include "import_torch/import_torch.h"
#include "import_torch/script_run.h"

namespace whet {
namespace torch {
namespace {

constexpr std::size_t kMostTraces = 8;

/// What is known of an input before the program is followed.
struct ScriptInputs {
  std::vector<FileInput> inputs;
  /// One entry a parameter of forward: the names of its tensors; none of a parameter that is a number.
  std::vector<std::vector<std::string>> tensors;
  std::vector<bool> is_tuple;
};

/// "Tuple[Tensor,Tensor]": 2.
std::size_t tensors_of_tuple(const std::string& type) {
  constexpr std::string_view kTuple = "Tuple[", kTensor = "Tensor";
  if (!type.starts_with(kTuple) || !type.ends_with(']')) return 0;
  std::size_t count = 0;
  for (std::size_t at = kTuple.size(); type.compare(at, kTensor.size(), kTensor) == 0; ++at) {
    at += kTensor.size();
    ++count;
    if (at + 1 == type.size()) return count;
    if (type[at] != ',') return 0;
  }
  return 0;
}

/// The example of a traced program.
std::vector<SavedView> traced_views(const ScriptArchive& archive) {
  std::vector<SavedView> views;
  if (!archive.traced_inputs) return views;
  const Pickle& pickle = archive.traced_inputs->pickle();
  for (const auto& [key, list] : pickle.top().members) {
    if (pickle.at(key).text != "forward") continue;
    for (const PickleId each : pickle.at(list).items) {
      if (!archive.traced_inputs->is_tensor(each)) return {};
      const auto view = archive.traced_inputs->view(each, "an example");
      if (!view.ok()) return {};
      views.push_back(*view);
    }
  }
  return views;
}

/// The type of an input that a value is given for.
DType taken_type(DType given, bool native_types) {
  if (given == DType::bf16 && !native_types) return DType::f32;
  return given == DType::i16 && !native_types ? DType::i32 : given;
}

Result<ScriptInputs> inputs_of(const std::vector<ScriptParameter>& parameters, const ScriptArchive& archive,
                               const ModelSource& source) {
  ScriptInputs found;
  const std::vector<SavedView> examples = traced_views(archive);
  const auto add = [&](const std::string& name) {
    FileInput input{name, DType::f32, std::nullopt};
    const std::size_t place = found.inputs.size();
    if (place < examples.size()) {
      input.dtype = dtype_of(examples[place].strided.type, source.options->native_types);
      input.dimensions.emplace();
      for (const std::int64_t size : examples[place].strided.sizes)
        input.dimensions->push_back({std::nullopt, "", size});
    }
    if (const auto value = source.options->values.find(name); value != source.options->values.end())
      input.dtype = taken_type(value->second.dtype(), source.options->native_types);
    found.inputs.push_back(std::move(input));
  };
  for (const ScriptParameter& parameter : parameters) {
    std::vector<std::string> names;
    const std::size_t count = tensors_of_tuple(parameter.type);
    if (parameter.type == "Tensor" || parameter.type == "Optional[Tensor]") names.push_back(parameter.name);
    if (parameter.type == "Optional[Tensor]" && parameter.has_default) names.clear();
    for (std::size_t i = 0; i < count; ++i) names.push_back(parameter.name + "." + std::to_string(i));
    if (names.empty() && !parameter.has_default)
      return Error{source.what + ": argument " + in_quotes(parameter.name) + " of forward is " + parameter.type +
                   "; only tensors, tuples of them, and arguments with a default are supported"};
    for (const std::string& name : names) add(name);
    found.tensors.push_back(std::move(names));
    found.is_tuple.push_back(count > 0);
  }
  return found;
}

/// Tensors that forward gives, with names for them.
Status add_outputs(ScriptRun& run, const ScriptValue& value, const std::string& name, int level, TorchModel& model) {
  if (level > 8) return run.error("gives values that are nested more than 8 deep");
  const auto below = [&](const std::string& part) { return name.empty() ? part : name + "." + part; };
  if (const auto* tensor = std::get_if<ScriptTensor>(&value)) {
    WHET_TRY(const std::string current, run.trace.current(*tensor));
    model.program.outputs.push_back({current});
    model.output_names.push_back(name);
    return ok_status();
  }
  if (auto* const* list = std::get_if<ScriptList*>(&value)) {
    for (std::size_t i = 0; i < (*list)->items.size(); ++i)
      WHET_RETURN_IF_ERROR(add_outputs(run, (*list)->items[i], below(std::to_string(i)), level + 1, model));
    return ok_status();
  }
  if (auto* const* dictionary = std::get_if<ScriptDictionary*>(&value)) {
    for (const auto& [key, member] : (*dictionary)->members) {
      const auto* text = std::get_if<std::string>(&key);
      WHET_RETURN_IF_ERROR(add_outputs(run, member, below(text == nullptr ? "key" : *text), level + 1, model));
    }
    return ok_status();
  }
  if (auto* const* object = std::get_if<ScriptObject*>(&value)) {
    for (const auto& [field, member] : (*object)->attributes)
      WHET_RETURN_IF_ERROR(add_outputs(run, member, below(field), level + 1, model));
    return ok_status();
  }
  if (value.index() == 0) return ok_status();
  return run.error("gives " + kind_of(value) + "; only tensors can be given");
}

void name_outputs(TorchModel& model) {
  std::set<std::string> taken;
  for (std::size_t i = 0; i < model.output_names.size(); ++i) {
    std::string& name = model.output_names[i];
    const bool numbered = name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0;
    if (numbered) name = "output" + (name.empty() ? std::to_string(i) : name);
    if (!taken.insert(name).second) name = "output" + std::to_string(i);
    taken.insert(name);
  }
}

/// What one walk through the program gave.
struct Walk {
  std::optional<TorchModel> model;
  Status status = ok_status();
  std::set<std::string> needed, integers;
  std::set<std::string> other_states;  ///< buffers that have to become inputs
};

/// Whether all values are there at which the user lets the model end.
bool holds_all(const TorchProgram& program, const std::vector<std::string>& names) {
  std::set<std::string> made;
  for (const TorchNode& node : program.nodes) made.insert(node.outputs.begin(), node.outputs.end());
  return !names.empty() &&
         std::all_of(names.begin(), names.end(), [&](const auto& name) { return made.contains(name); });
}

/// What the last node makes; "" where it makes nothing.
std::string last_value(const TorchProgram& program) {
  for (const std::string& output : program.nodes.back().outputs)
    if (!output.empty()) return output;
  return "";
}

class Walker {
 public:
  Walker(ScriptArchive& archive, const ModelSource& source) : archive_(archive), source_(source) {}

  Result<FileModel> run() {
    ScriptTrace nowhere(source_.options->native_types);
    ScriptRun first(archive_, nowhere, source_.what);
    WHET_RETURN_IF_ERROR(first.load());
    WHET_TRY(inputs_, inputs_of(first.parameters(), archive_, source_));
    for (std::size_t round = 0; round < kMostTraces; ++round) {
      Walk walk;
      WHET_RETURN_IF_ERROR(follow(walk));
      const std::size_t known = folded_.size();
      for (const std::string& name : walk.needed)
        if (source_.options->values.contains(name)) folded_.insert(name);
      states_.insert(walk.other_states.begin(), walk.other_states.end());
      bool changed = folded_.size() != known || !walk.other_states.empty();
      for (FileInput& input : inputs_.inputs) {
        if (!walk.integers.contains(input.name) || !is_float(input.dtype.value_or(DType::i64))) continue;
        if (source_.options->values.contains(input.name)) continue;
        input.dtype = DType::i64;
        changed = true;
      }
      if (changed) continue;
      if (!walk.model) return walk.status.error();
      FileModel file = file_model(*std::move(walk.model));
      file.folded = folded_;
      return file;
    }
    return Error{source_.what + ": the types of its inputs are not clear"};
  }

 private:
  /// Follows the program with the inputs as they are thought to be.
  Status follow(Walk& walk) {
    FileModel bound;
    bound.inputs = inputs_.inputs;
    WHET_TRY(const std::vector<TensorType> types, bound_types(bound));
    ScriptTrace trace(source_.options->native_types);
    trace.set_states(states_);
    for (std::size_t i = 0; i < types.size(); ++i) {
      const std::string& name = inputs_.inputs[i].name;
      std::optional<Tensor> value;
      if (folded_.contains(name)) value = held_as(source_.options->values.at(name), types[i].dtype);
      trace.add_input(name, types[i], value ? &*value : nullptr);
    }
    ScriptRun run(archive_, trace, source_.what);
    WHET_RETURN_IF_ERROR(run.load());
    std::vector<ScriptValue> arguments;
    for (std::size_t i = 0; i < inputs_.tensors.size(); ++i) {
      const auto& names = inputs_.tensors[i];
      if (names.empty()) {
        WHET_TRY(ScriptValue usual, run.literal(run.parameters()[i].usual));
        arguments.push_back(std::move(usual));
      } else if (inputs_.is_tuple[i]) {
        std::vector<ScriptValue> items;
        for (const std::string& name : names) items.emplace_back(ScriptTensor{name});
        arguments.emplace_back(run.new_list(std::move(items), true));
      } else {
        arguments.emplace_back(ScriptTensor{names[0]});
      }
    }
    finish(walk, run, run.forward(std::move(arguments)));
    walk.needed = trace.needed_values();
    walk.integers = trace.integer_inputs();
    return ok_status();
  }

  /// Shapes that the user gives to inputs that are buffers are looked at when the model is imported.
  Result<std::vector<TensorType>> bound_types(const FileModel& bound) const {
    ImportOptions options = *source_.options;
    const auto is_other = [&](const auto& each) {
      return std::none_of(bound.inputs.begin(), bound.inputs.end(),
                          [&](const FileInput& input) { return input.name == each.first; });
    };
    std::erase_if(options.shapes, is_other);
    std::erase_if(options.values, is_other);
    auto types = bind_inputs(bound, options);
    return types.ok() ? types : bind_inputs(bound, *source_.options);
  }

  void finish(Walk& walk, ScriptRun& run, const Result<ScriptValue>& result) {
    TorchModel model;
    walk.status = result.ok() ? ok_status() : Status(result.error());
    if (result.ok()) walk.status = add_outputs(run, *result, "", 0, model);
    if (walk.status.ok()) walk.status = carry_state(run, model, walk);
    if (walk.status.ok() && model.program.outputs.empty()) walk.status = run.error("gives no tensor");
    const TorchProgram& program = run.trace.program();
    // What fails in a node fails again when the program is imported, which tells what can be read before it.
    const bool cut = !walk.status.ok() && (run.trace.ends_in_failure() || holds_all(program, source_.options->until));
    if (!walk.status.ok() && !cut) return;
    std::vector<Name> outputs = std::move(model.program.outputs);
    if (cut) {
      outputs = {{last_value(program)}};
      if (outputs[0].name.empty()) return;
      model.output_names = {"output"};
    }
    model.program = program;
    model.program.outputs = std::move(outputs);
    model.inputs = inputs_.inputs;
    model.inputs.insert(model.inputs.end(), run.trace.state_inputs.begin(), run.trace.state_inputs.end());
    model.constants = run.trace.constants;
    name_outputs(model);
    walk.model = std::move(model);
  }

  /// Buffers that the program changes are inputs, and what they become outputs.
  Status carry_state(ScriptRun& run, TorchModel& model, Walk& walk) const {
    for (const auto& [name, buffer] : run.buffers()) {
      const ScriptTensor& now = std::get<ScriptTensor>(buffer.owner->attributes.at(buffer.attribute));
      if (now.name == name && !run.trace.is_written(name)) continue;
      if (buffer.path.ends_with("num_batches_tracked"))
        return Error{source_.what +
                     ": was made in training mode; in Python: model.eval() before torch.jit.trace or script"};
      if (!states_.contains(name)) walk.other_states.insert(name);
      WHET_TRY(const std::string current, run.trace.current(now));
      model.program.outputs.push_back({current});
      model.output_names.push_back(buffer.path + "_next");
    }
    return ok_status();
  }

  ScriptArchive& archive_;
  const ModelSource& source_;
  ScriptInputs inputs_;
  std::set<std::string> folded_, states_;
};

}  // namespace
}  // namespace torch

Result<FileModel> read_torchscript_model(ModelSource&& source) {
  torch::Members members(source.what, source.options->native_types);
  WHET_RETURN_IF_ERROR(members.parse(source.bytes));
  WHET_TRY(torch::ScriptArchive archive, torch::ScriptArchive::read(members));
  return torch::Walker(archive, source).run();
}

std::string saved_weights_text(const ModelSource& source) {
  torch::Members members(source.what);
  if (!members.parse(source.bytes).ok()) return "";
  const auto saved = torch::SavedTensors::read(members, "data.pkl", "data/");
  if (!saved.ok()) {
    // The class of a module that was saved whole is more than an error's place.
    return saved.error().message.find("class") == std::string::npos ? "" : " (a module that was saved whole)";
  }
  std::size_t count = 0;
  for (std::size_t i = 0; i < saved->pickle().values.size(); ++i)
    count += saved->pickle().at(static_cast<torch::PickleId>(i)).text.starts_with("torch._utils._rebuild_tensor") &&
                     saved->pickle().at(static_cast<torch::PickleId>(i)).kind == torch::PickleValue::Kind::call
                 ? 1
                 : 0;
  return " (" + std::to_string(count) + (count == 1 ? " tensor)" : " tensors)");
}

}  // namespace whet
