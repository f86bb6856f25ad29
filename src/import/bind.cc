#include "import/bind.h"

#include <algorithm>

#include "base/nearest.h"

namespace whet {
namespace {

using Symbols = std::map<std::string, std::int64_t>;

std::string input_label(const FileInput& input) { return "input \"" + input.name + "\""; }

/// "?x3xHx224": symbols by their names.
std::string dimensions_text(const FileInput& input) {
  std::string text;
  for (const FileDimension& d : *input.dimensions) {
    if (!text.empty()) text += "x";
    text += d.extent ? std::to_string(*d.extent) : d.symbol.empty() ? "?" : d.symbol;
  }
  return text.empty() ? "scalar" : text;
}

/// An example of the option: open dimensions are 1 in front and 224 elsewhere, or what is known.
std::string example(const FileInput& input, const Symbols& symbols) {
  Shape shape;
  for (const FileDimension& d : *input.dimensions) {
    const auto bound = symbols.find(d.symbol);
    shape.push_back(d.extent ? *d.extent : bound != symbols.end() ? bound->second : shape.empty() ? 1 : 224);
  }
  return "--shape " + input.name + "=" + to_string(shape);
}

std::string names_of(const std::vector<FileInput>& inputs) {
  std::string text;
  for (const FileInput& input : inputs) text += (text.empty() ? "\"" : ", \"") + input.name + "\"";
  return text.empty() ? "none" : text;
}

std::string nearest_of(const std::string& name, const std::vector<FileInput>& inputs) {
  std::vector<std::string> names;
  for (const FileInput& input : inputs) names.push_back(input.name);
  return did_you_mean(name, names);
}

/// What the user said about an input, by --shape or by a value.
std::optional<Shape> given_shape(const FileInput& input, const ImportOptions& options) {
  const auto shape = options.shapes.find(input.name);
  if (shape != options.shapes.end()) return shape->second;
  const auto value = options.values.find(input.name);
  if (value != options.values.end()) return value->second.shape();
  return std::nullopt;
}

Status check_names(const FileModel& model, const ImportOptions& options) {
  const auto exists = [&](const std::string& name) {
    return std::any_of(model.inputs.begin(), model.inputs.end(), [&](const FileInput& i) { return i.name == name; });
  };
  for (const auto& [name, shape] : options.shapes) {
    if (!exists(name)) {
      return Error{"--shape " + name + "=" + to_string(shape) + ": the model has no such input; its inputs are " +
                   names_of(model.inputs) + nearest_of(name, model.inputs)};
    }
  }
  for (const auto& [name, value] : options.values) {
    if (!exists(name)) {
      return Error{"a value is given for \"" + name + "\": the model has no such input; its inputs are " +
                   names_of(model.inputs) + nearest_of(name, model.inputs)};
    }
  }
  return ok_status();
}

/// Open dimensions are no smaller and no larger than the file says, and multiples of its step.
Status check_ranges(const FileInput& input, const Shape& given) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    const FileDimension& d = (*input.dimensions)[i];
    if (d.extent) continue;
    if (given[i] % d.step != 0)
      return Error{input_label(input) + " is given as " + to_string(given) + "; the model says that dimension " +
                   std::to_string(i) + " is a multiple of " + std::to_string(d.step)};
    if (given[i] >= d.least && given[i] <= d.most.value_or(given[i])) continue;
    return Error{input_label(input) + " is given as " + to_string(given) + "; the model says that dimension " +
                 std::to_string(i) + " is " + std::to_string(d.least) +
                 (d.most ? " to " + std::to_string(*d.most) : " or more")};
  }
  return ok_status();
}

/// Symbols of an input take the extents of the given shape; fixed dimensions must agree.
Status learn_symbols(const FileInput& input, const Shape& given, Symbols& symbols) {
  if (!input.dimensions) return ok_status();
  bool agrees = given.size() == input.dimensions->size();
  if (agrees) WHET_RETURN_IF_ERROR(check_ranges(input, given));
  for (std::size_t i = 0; agrees && i < given.size(); ++i) {
    const FileDimension& d = (*input.dimensions)[i];
    agrees = !d.extent || *d.extent == given[i];
    if (d.extent || d.symbol.empty()) continue;
    const auto [at, inserted] = symbols.emplace(d.symbol, given[i]);
    if (!inserted && at->second != given[i]) {
      return Error{input_label(input) + " is given as " + to_string(given) + ", but \"" + d.symbol + "\" is " +
                   std::to_string(at->second) + " in another input"};
    }
  }
  if (agrees) return ok_status();
  return Error{input_label(input) + " is given as " + to_string(given) + "; the model says " + dimensions_text(input)};
}

Result<Shape> bound_shape(const FileInput& input, const Symbols& symbols) {
  if (!input.dimensions) {
    return Error{input_label(input) + " has no shape in the file; give it with --shape " + input.name + "=1x3x224x224"};
  }
  Shape shape;
  for (const FileDimension& d : *input.dimensions) {
    const auto bound = symbols.find(d.symbol);
    if (d.extent) {
      shape.push_back(*d.extent);
    } else if (!d.symbol.empty() && bound != symbols.end()) {
      shape.push_back(bound->second);
    } else if (d.usual) {
      shape.push_back(*d.usual);
    } else if (shape.empty()) {
      shape.push_back(1);  // the batch
    } else {
      return Error{input_label(input) + " is " + dimensions_text(input) +
                   ": its dimensions are not fixed; give them, e.g. " + example(input, symbols)};
    }
  }
  return shape;
}

}  // namespace

void open_dimensions(FileModel& model, const ImportOptions& options) {
  for (FileInput& input : model.inputs) {
    const auto opened = options.opened.find(input.name);
    if (opened == options.opened.end() || !input.dimensions) continue;
    for (const std::size_t d : opened->second)
      if (d < input.dimensions->size()) (*input.dimensions)[d] = {std::nullopt, "", (*input.dimensions)[d].extent};
  }
}

Result<std::vector<InputList>> expand_lists(FileModel& model, const ImportOptions& options) {
  std::vector<InputList> lists;
  std::vector<FileInput> inputs;
  for (FileInput& input : model.inputs) {
    if (!input.is_sequence) {
      inputs.push_back(std::move(input));
      continue;
    }
    if (!input.dtype) return Error{input_label(input) + " holds no tensors of a type that is supported"};
    InputList list{input.name, *input.dtype, {}};
    const auto named = [&](std::size_t i) { return input.name + "." + std::to_string(i); };
    while (options.shapes.contains(named(list.elements.size())) || options.values.contains(named(list.elements.size())))
      list.elements.push_back(named(list.elements.size()));
    if (list.elements.empty()) {
      return Error{input_label(input) + " is a sequence; give the sizes of its elements: --shape " + named(0) +
                   "=1x3x224x224 --shape " + named(1) + "=..."};
    }
    // Elements differ in size: a symbol is that of one element.
    if (input.dimensions) {
      for (FileDimension& d : *input.dimensions) d.symbol.clear();
    }
    for (const std::string& name : list.elements) inputs.push_back({name, input.dtype, input.dimensions});
    lists.push_back(std::move(list));
  }
  model.inputs = std::move(inputs);
  return lists;
}

Result<std::vector<TensorType>> bind_inputs(const FileModel& model, const ImportOptions& options) {
  WHET_RETURN_IF_ERROR(check_names(model, options));
  Symbols symbols;
  for (const FileInput& input : model.inputs) {
    const auto given = given_shape(input, options);
    if (given) WHET_RETURN_IF_ERROR(learn_symbols(input, *given, symbols));
  }
  std::vector<TensorType> types;
  for (const FileInput& input : model.inputs) {
    if (!input.dtype) return Error{input_label(input) + " is no tensor of a type that is supported"};
    TensorType type{*input.dtype, {}};
    if (const auto given = given_shape(input, options)) {
      type.shape = *given;
    } else {
      WHET_TRY(type.shape, bound_shape(input, symbols));
    }
    WHET_RETURN_IF_ERROR(check_shape(input_label(input), type.shape));
    const auto value = options.values.find(input.name);
    if (value != options.values.end() && held_as(value->second, type.dtype).type() != type) {
      return Error{"the value given for " + input_label(input) + " is " + to_string(value->second.type()) +
                   "; expected " + to_string(type)};
    }
    types.push_back(type);
  }
  return types;
}

}  // namespace whet
