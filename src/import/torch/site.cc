#include "import/torch/site.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/nearest.h"
#include "import/torch/layout.h"
#include "import/torch/rows.h"

namespace whet::torch {
namespace {

/// Where a tensor lies, how, and what records it: these say nothing about its values.
constexpr std::array<std::string_view, 12> kMeaningless = {
    "device",    "layout",        "pin_memory",   "memory_format", "non_blocking", "copy",
    "generator", "cudnn_enabled", "cudnn_enable", "requires_grad", "implicit",     "names"};

/// The next word of a list with spaces between them.
std::string_view next_word(std::string_view& rest) {
  const std::size_t begin = std::min(rest.find_first_not_of(' '), rest.size());
  const std::size_t end = std::min(rest.find(' ', begin), rest.size());
  const std::string_view word = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return word;
}

/// A default of the table.
Argument literal_of(std::string_view text) {
  if (text == "none") return Argument{};
  if (text == "true" || text == "false") return Argument{text == "true"};
  if (text == "[]") return Argument{Arguments{}};
  std::int64_t integer = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), integer);
  if (code == std::errc() && end == text.data() + text.size()) return Argument{integer};
  double number = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault == std::errc() && stop == text.data() + text.size()) return Argument{number};
  return Argument{std::string(text)};
}

std::string kind_of(const Argument& argument) {
  static constexpr const char* kKinds[] = {"none",    "a boolean", "an integer", "a number", "a text",
                                           "a value", "a type",    "a list",     "a program"};
  return kKinds[argument.value.index()];
}

/// Operators that move elements of "self", or leave them where they are: those of complex numbers too.
constexpr std::array<std::string_view, 25> kMovers = {
    "_unsafe_view", "alias",  "clone",     "contiguous", "detach",    "expand", "flatten", "flip",    "lift_fresh_copy",
    "movedim",      "narrow", "permute",   "ravel",      "reshape",   "select", "slice",   "squeeze", "swapaxes",
    "swapdims",     "t",      "transpose", "unflatten",  "unsqueeze", "view",   "mT"};

/// Operators of several steps that torch computes in f32 where tensors are f16, and rounds once. Those that are one operator of the
/// graph, products and sums among them, are computed so anyway.
constexpr std::array<std::string_view, 70> kWide = {"_cdist_forward",
                                                    "_prelu_kernel",
                                                    "_safe_softmax",
                                                    "_upsample_bicubic2d_aa",
                                                    "_upsample_bilinear2d_aa",
                                                    "_weight_norm",
                                                    "_weight_norm_interface",
                                                    "acosh",
                                                    "adaptive_avg_pool1d",
                                                    "adaptive_avg_pool2d",
                                                    "adaptive_avg_pool3d",
                                                    "addcdiv",
                                                    "addcmul",
                                                    "arccosh",
                                                    "arctan2",
                                                    "atan2",
                                                    "cdist",
                                                    "celu",
                                                    "cosine_similarity",
                                                    "cumprod",
                                                    "cumsum",
                                                    "dist",
                                                    "elu",
                                                    "erfc",
                                                    "exp2",
                                                    "expm1",
                                                    "floor_divide",
                                                    "fmod",
                                                    "gelu",
                                                    "glu",
                                                    "grid_sampler",
                                                    "grid_sampler_2d",
                                                    "grid_sampler_3d",
                                                    "group_norm",
                                                    "hardshrink",
                                                    "hardsigmoid",
                                                    "hardswish",
                                                    "instance_norm",
                                                    "layer_norm",
                                                    "lerp",
                                                    "linalg_vector_norm",
                                                    "log10",
                                                    "log1p",
                                                    "log2",
                                                    "log_sigmoid",
                                                    "logaddexp",
                                                    "logit",
                                                    "logsumexp",
                                                    "mish",
                                                    "native_group_norm",
                                                    "native_layer_norm",
                                                    "norm",
                                                    "pairwise_distance",
                                                    "pow",
                                                    "prelu",
                                                    "remainder",
                                                    "rrelu",
                                                    "rsqrt",
                                                    "selu",
                                                    "silu",
                                                    "softplus",
                                                    "softshrink",
                                                    "special_erf",
                                                    "special_exp2",
                                                    "special_expm1",
                                                    "special_log1p",
                                                    "std",
                                                    "std_mean",
                                                    "var",
                                                    "var_mean"};

int category(DType dtype) { return is_float(dtype) ? 2 : dtype == DType::boolean ? 0 : 1; }

/// The types of operands by how much they count: tensors with dimensions, tensors without, numbers.
struct Kinds {
  std::optional<DType> tensors, scalars, numbers;
};
void widen(std::optional<DType>& type, DType other) { type = type ? wider(*type, other) : other; }

std::optional<DType> combined(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher || !lower) return higher ? higher : lower;
  return category(*higher) >= category(*lower) ? higher : wider(*higher, *lower);
}

}  // namespace

DType wider(DType a, DType b) {
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  return size_of(a) >= size_of(b) ? a : b;
}

Status TorchSite::bind() {
  std::string_view rest = row_->arguments;
  std::vector<bool> used(node_.arguments.size(), false);
  std::size_t place = 0;
  for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest), ++place) {
    if (word.ends_with("...")) {
      // All arguments that are left, as a list.
      Arguments others;
      for (std::size_t i = place; i < node_.arguments.size(); ++i) {
        others.push_back(node_.arguments[i].second);
        used[i] = true;
      }
      bound_.emplace_back(word.substr(0, word.size() - 3), Argument{std::move(others)});
      break;
    }
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const Argument* given = nullptr;
    for (std::size_t i = 0; i < node_.arguments.size(); ++i) {
      const auto& [own, argument] = node_.arguments[i];
      if (own.empty() ? i != place : own != name) continue;
      used[i] = true;
      given = &argument;
    }
    if (given == nullptr && equals == std::string_view::npos)
      return error("has no argument " + in_quotes(name) + ", which " + node_.op + " needs");
    bound_.emplace_back(name, given != nullptr ? *given : literal_of(word.substr(equals + 1)));
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    const std::string& name = node_.arguments[i].first;
    if (used[i] || node_.arguments[i].second.is_none()) continue;
    if (std::find(kMeaningless.begin(), kMeaningless.end(), name) != kMeaningless.end()) continue;
    return error("argument " + (name.empty() ? std::to_string(i) : in_quotes(name)) + " of " + node_.op +
                 " is not supported");
  }
  return ok_status();
}

Status TorchSite::import() {
  row_ = find_row(node_.op);
  if (row_ == nullptr) return error("this operator is not supported: " + node_.op + reason_against(node_.op));
  WHET_RETURN_IF_ERROR(bind());
  const bool moves = std::find(kMovers.begin(), kMovers.end(), word_of(node_.op)) != kMovers.end();
  const Name* self = moves ? argument("self").name() : nullptr;
  std::optional<ComplexParts> parts;
  if (self != nullptr) {
    WHET_TRY(parts, complex("self"));
  }
  wide_ = is_wide();
  WHET_RETURN_IF_ERROR(parts ? import_parts(*self, *parts) : row_->import(*this));
  for (const std::string& output : outputs_) {
    if (output.empty() || !graph_.is_read(output) || graph_.defined(output)) continue;
    return error("result " + in_quotes(output) + " of " + node_.op + " is not supported");
  }
  return graph_.check_growth(name_);
}

bool TorchSite::says(std::string_view name, std::optional<std::int64_t> usual) const {
  const auto found = std::find_if(bound_.begin(), bound_.end(), [&](const auto& each) { return each.first == name; });
  if (found == bound_.end() || found->second.is_none()) return false;
  const auto* integer = std::get_if<std::int64_t>(&found->second.value);
  const auto* number = std::get_if<double>(&found->second.value);
  if (!usual) return true;
  return !(integer != nullptr && *integer == *usual) && !(number != nullptr && *number == static_cast<double>(*usual));
}

bool TorchSite::is_wide() const {
  const std::string word = word_of(node_.op);
  const bool scales = (word == "add" || word == "sub" || word == "subtract" || word == "rsub") && says("alpha", 1);
  const bool divides = (word == "div" || word == "divide") && says("rounding_mode", {});
  if (!scales && !divides && std::find(kWide.begin(), kWide.end(), word) == kWide.end()) return false;
  const bool typed = std::any_of(bound_.begin(), bound_.end(),
                                 [](const auto& each) { return each.first == "dtype" && !each.second.is_none(); });
  std::vector<std::string> names;
  for (const auto& [name, given] : bound_) collect_names(given, names);
  bool any = false, others = false;
  for (const std::string& name : names) {
    if (!graph_.defined(name) || is_sequence(graph_.find(name))) continue;
    const TensorType& type = this->type(graph_.find(name));
    any = any || type.dtype == DType::f16;
    others = others || (is_float(type.dtype) && type.dtype != DType::f16 && !type.shape.empty());
  }
  return any && !others && !typed;
}

Status TorchSite::give(ValueId x, std::size_t i) {
  if (!wide_ || !wants_output(i) || dtype(x) != DType::f32) return NodeSite::give(x, i);
  WHET_TRY(const ValueId rounded, cast("rounded", x, DType::f16));
  return NodeSite::give(rounded, i);
}

Status TorchSite::pass(ValueId x, std::size_t i) {
  return wide_ && dtype(x) == DType::f32 ? give(x, i) : NodeSite::pass(x, i);
}

Status TorchSite::give(const Operator& op, std::vector<ValueId> inputs, std::size_t i) {
  if (!wide_ || !wants_output(i)) return NodeSite::give(op, std::move(inputs), i);
  WHET_TRY(const ValueId y, add("result", op, std::move(inputs)));
  return give(y, i);
}

Status TorchSite::import_parts(const Name& self, ComplexParts parts) {
  if (!wants_output(0)) return ok_status();
  const ValueId whole = graph_.find(self.name);
  const std::string result = outputs_[0] + " part";
  const std::optional<ValueId> before = graph_.defined(result) ? std::optional(graph_.find(result)) : std::nullopt;
  const TorchNode node{node_.op, node_.label, node_.arguments, {result}};
  std::vector<ValueId> moved;
  for (const ValueId part : {parts.real, parts.imaginary}) {
    graph_.define(self.name, part);
    const Status status = TorchSite(graph_, node, program_, true).import();
    if (status.ok()) moved.push_back(graph_.find(result));
    graph_.restore(result, before);
    graph_.define(self.name, whole);
    if (!status.ok()) return status;
  }
  return give_sequence(dtype(moved[0]), moved);
}

const Argument& TorchSite::argument(std::string_view name) const {
  const auto found = std::find_if(bound_.begin(), bound_.end(), [&](const auto& each) { return each.first == name; });
  WHET_CHECK(found != bound_.end(), node_.op.c_str());
  return found->second;
}

Error TorchSite::wrong_kind(std::string_view name, const char* expected) const {
  return error("argument " + in_quotes(name) + " is " + kind_of(argument(name)) + "; expected " + expected);
}

bool TorchSite::has(std::string_view name) const { return !argument(name).is_none(); }
bool TorchSite::is_tensor(std::string_view name) const {
  const Name* given = argument(name).name();
  return given != nullptr && !given->is_number;
}

Result<ValueId> TorchSite::value_of(const Name& name) {
  if (graph_.defined(name.name)) {
    const ValueId value = graph_.find(name.name);
    if (!is_sequence(value)) return wide_ && dtype(value) == DType::f16 ? cast("wide", value, DType::f32) : value;
    return error("reads complex numbers, " + in_quotes(name.name) + ", which this operator is not supported for");
  }
  return error("reads " + in_quotes(name.name) + ", which nothing before it defines");
}

Result<ValueId> TorchSite::tensor(std::string_view name) {
  if (const Name* given = argument(name).name()) return value_of(*given);
  return wrong_kind(name, "a tensor");
}

Result<std::optional<ComplexParts>> TorchSite::complex(std::string_view name) {
  const Name* given = argument(name).name();
  if (given == nullptr || !graph_.defined(given->name)) return std::optional<ComplexParts>();
  const std::vector<ValueId>* parts = graph_.sequence(graph_.find(given->name));
  if (parts == nullptr || parts->size() != 2) return std::optional<ComplexParts>();
  return std::optional(ComplexParts{(*parts)[0], (*parts)[1]});
}

bool TorchSite::lies_row_by_row(std::string_view name) const {
  const Name* given = argument(name).name();
  return given != nullptr && torch::lies_row_by_row(program_, given->name, !is_inner_);
}

Result<std::optional<ValueId>> TorchSite::optional_tensor(std::string_view name) {
  if (!has(name)) return std::optional<ValueId>();
  WHET_TRY(const ValueId value, tensor(name));
  return std::optional(value);
}

Result<std::vector<std::optional<ValueId>>> TorchSite::optional_tensors(std::string_view name) {
  const auto* list = std::get_if<Arguments>(&argument(name).value);
  if (list == nullptr) return wrong_kind(name, "a list of tensors");
  std::vector<std::optional<ValueId>> values;
  for (const Argument& each : *list) {
    if (each.is_none()) {
      values.emplace_back();
      continue;
    }
    if (each.name() == nullptr) return error("argument " + in_quotes(name) + " holds " + kind_of(each));
    WHET_TRY(const ValueId value, value_of(*each.name()));
    values.emplace_back(value);
  }
  return values;
}

Result<std::vector<ValueId>> TorchSite::tensors(std::string_view name) {
  WHET_TRY(const auto values, optional_tensors(name));
  std::vector<ValueId> given;
  for (const auto& value : values) {
    if (!value) return error("argument " + in_quotes(name) + " holds none; expected tensors");
    given.push_back(*value);
  }
  return given;
}

Result<std::int64_t> TorchSite::as_integer(const Argument& given, std::string_view name) {
  if (const auto* integer = std::get_if<std::int64_t>(&given.value)) return *integer;
  if (const auto* flag = std::get_if<bool>(&given.value)) return *flag ? 1 : 0;
  if (const auto* number = std::get_if<double>(&given.value);
      number != nullptr && *number == to_integer(DType::i64, *number))
    return to_integer(DType::i64, *number);
  if (given.name() == nullptr) return wrong_kind(name, "an integer");
  WHET_TRY(const ValueId value, value_of(*given.name()));
  WHET_TRY(const std::vector<std::int64_t> list, known_integers(value, "argument " + in_quotes(name)));
  if (list.size() == 1) return list[0];
  return error("argument " + in_quotes(name) + " is a list of " + std::to_string(list.size()) +
               "; expected an integer");
}

Result<std::int64_t> TorchSite::integer(std::string_view name) { return as_integer(argument(name), name); }

Result<double> TorchSite::as_number(const Argument& given, std::string_view name) {
  if (const auto* number = std::get_if<double>(&given.value)) return *number;
  if (given.name() != nullptr) {
    WHET_TRY(const ValueId value, value_of(*given.name()));
    return known_number(value, "argument " + in_quotes(name));
  }
  WHET_TRY(const std::int64_t value, as_integer(given, name));
  return static_cast<double>(value);
}

Result<double> TorchSite::number(std::string_view name) { return as_number(argument(name), name); }

Result<bool> TorchSite::flag(std::string_view name) {
  if (const auto* flag = std::get_if<bool>(&argument(name).value)) return *flag;
  if (!has(name)) return wrong_kind(name, "true or false");
  WHET_TRY(const std::int64_t value, integer(name));
  return value != 0;
}

Result<std::string> TorchSite::text(std::string_view name) {
  if (const auto* text = std::get_if<std::string>(&argument(name).value)) return *text;
  return wrong_kind(name, "a text");
}

Result<DType> TorchSite::dtype(std::string_view name) {
  const Argument& given = argument(name);
  ScalarType type;
  if (const auto* said = std::get_if<ScalarType>(&given.value)) type = *said;
  // TorchScript writes the number itself, which is one less.
  if (const auto* said = std::get_if<std::int64_t>(&given.value)) type.number = *said + 1;
  if (const auto dtype = dtype_of(type)) return *dtype;
  return error("argument " + in_quotes(name) + " is " + name_of(type) +
               "; expected float32, float64, float16, bfloat16, uint8, int8, int32, int64 or bool");
}

Result<std::vector<std::int64_t>> TorchSite::integers(std::string_view name) {
  const Argument& given = argument(name);
  const auto* list = std::get_if<Arguments>(&given.value);
  std::vector<std::int64_t> values;
  if (list == nullptr) {
    if (!has(name)) return wrong_kind(name, "integers");
    WHET_TRY(const std::int64_t one, integer(name));
    return std::vector<std::int64_t>{one};
  }
  for (const Argument& each : *list) {
    WHET_TRY(const std::int64_t value, as_integer(each, name));
    values.push_back(value);
  }
  return values;
}

Result<Size> TorchSite::as_size(const Argument& given, std::string_view name) {
  if (given.name() == nullptr) {
    WHET_TRY(const std::int64_t known, as_integer(given, name));
    return Size{known};
  }
  WHET_TRY(const ValueId value, value_of(*given.name()));
  WHET_TRY(const std::vector<Size> list, known_sizes(value, "argument " + in_quotes(name)));
  if (list.size() == 1) return list[0];
  return error("argument " + in_quotes(name) + " is a list of " + std::to_string(list.size()) +
               "; expected an integer");
}

Result<Size> TorchSite::size(std::string_view name) { return as_size(argument(name), name); }

Result<std::vector<Size>> TorchSite::sizes(std::string_view name) {
  const auto* list = std::get_if<Arguments>(&argument(name).value);
  if (list == nullptr) {
    if (!has(name)) return wrong_kind(name, "integers");
    WHET_TRY(const Size one, size(name));
    return std::vector<Size>{one};
  }
  std::vector<Size> sizes;
  for (const Argument& each : *list) {
    WHET_TRY(const Size size, as_size(each, name));
    sizes.push_back(size);
  }
  return sizes;
}

Result<std::vector<std::int64_t>> TorchSite::entries(std::string_view name, std::size_t count, std::int64_t low) {
  WHET_TRY(std::vector<std::int64_t> values, integers(name));
  if (values.size() == 1) values.resize(count, values[0]);
  if (values.size() != count)
    return error("argument " + in_quotes(name) + " has " + std::to_string(values.size()) + " entries; expected " +
                 std::to_string(count));
  for (const std::int64_t value : values) {
    if (value >= low && value <= kMaxElements) continue;
    return error("argument " + in_quotes(name) + " holds " + std::to_string(value) + "; expected " +
                 std::to_string(low) + " to " + std::to_string(kMaxElements));
  }
  return values;
}

Result<std::vector<double>> TorchSite::numbers(std::string_view name) {
  const auto* list = std::get_if<Arguments>(&argument(name).value);
  if (list == nullptr) return wrong_kind(name, "a list of numbers");
  std::vector<double> values;
  for (const Argument& each : *list) {
    WHET_TRY(const double value, as_number(each, name));
    values.push_back(value);
  }
  return values;
}

Result<std::shared_ptr<const TorchProgram>> TorchSite::program(std::string_view name) {
  if (const auto* program = std::get_if<std::shared_ptr<const TorchProgram>>(&argument(name).value)) return *program;
  return wrong_kind(name, "a program");
}

Result<DType> TorchSite::common_type(const std::vector<std::string_view>& names) {
  Kinds kinds;
  for (const std::string_view name : names) {
    const Argument& given = argument(name);
    if (const Name* value = given.name()) {
      WHET_TRY(const ValueId id, value_of(*value));
      const bool scalar = rank(id) == 0;
      // Numbers that are computed from sizes count as those that are written.
      const DType type = dtype(id) == DType::f64 && value->is_number ? DType::f32 : dtype(id);
      widen(value->is_number ? kinds.numbers : scalar ? kinds.scalars : kinds.tensors, type);
    } else {
      const bool fraction = std::holds_alternative<double>(given.value);
      const bool truth = std::holds_alternative<bool>(given.value);
      if (!fraction && !truth && !std::holds_alternative<std::int64_t>(given.value))
        return wrong_kind(name, "a tensor or a number");
      widen(kinds.numbers, fraction ? DType::f32 : truth ? DType::boolean : DType::i64);
    }
  }
  return combined(combined(kinds.tensors, kinds.scalars), kinds.numbers).value_or(DType::f32);
}

Result<ValueId> TorchSite::operand(std::string_view name, DType type) {
  if (argument(name).name() != nullptr) {
    WHET_TRY(const ValueId value, tensor(name));
    return cast(std::string(name) + "_cast", value, type);
  }
  if (const auto* integer = std::get_if<std::int64_t>(&argument(name).value); integer != nullptr && !is_float(type)) {
    Tensor scalar(type, {});
    scalar.set_integer(0, *integer);
    return add_constant(std::string(name), scalar);
  }
  WHET_TRY(const double value, number(name));
  return add_scalar(std::string(name), type, value);
}

Result<ValueId> TorchSite::floats(std::string_view name) {
  WHET_TRY(const ValueId x, tensor(name));
  return is_float(dtype(x)) ? Result<ValueId>(x) : cast("float", x, DType::f32);
}

Result<std::int64_t> TorchSite::axis(std::string_view name, ValueId x) {
  WHET_TRY(const std::int64_t given, integer(name));
  return resolve_axis(given, std::max<std::size_t>(rank(x), 1));
}

Result<std::vector<std::int64_t>> TorchSite::axes(std::string_view name, ValueId x) {
  std::vector<std::int64_t> given;
  if (has(name)) {
    WHET_TRY(given, integers(name));
  }
  if (given.empty())
    for (std::size_t d = 0; d < rank(x); ++d) given.push_back(static_cast<std::int64_t>(d));
  if (rank(x) == 0) return std::vector<std::int64_t>();
  return resolve_axes(given, rank(x));
}

Result<std::vector<ValueId>> TorchSite::inlined(const TorchProgram& body, const std::vector<ValueId>& inputs) {
  constexpr int kMostLevels = 64;
  if (graph_.depth == kMostLevels)
    return error("is inside " + std::to_string(kMostLevels) + " bodies; no more are supported");
  if (inputs.size() != body.inputs.size())
    return error("its body has " + std::to_string(body.inputs.size()) + " inputs; expected " +
                 std::to_string(inputs.size()));
  WHET_RETURN_IF_ERROR(graph_.count_inlined(name_, inputs.size() + body.outputs.size()));
  GrowingGraph::ValuesByName around = graph_.exchange_values({});
  ++graph_.depth;
  for (std::size_t i = 0; i < inputs.size(); ++i) graph_.define(body.inputs[i].name, inputs[i]);
  Status status = ok_status();
  for (std::size_t i = 0; i < body.nodes.size() && status.ok(); ++i) {
    status = graph_.count_inlined(body.nodes[i].label);
    if (status.ok()) status = TorchSite(graph_, body.nodes[i], body, true).import();
    if (status.ok()) status = check_types(graph_, body.nodes[i], body);
  }
  std::vector<ValueId> outputs;
  for (const Name& output : body.outputs) {
    if (status.ok() && !graph_.defined(output.name))
      status = error("nothing defines the output " + in_quotes(output.name) + " of its body");
    if (status.ok()) outputs.push_back(graph_.find(output.name));
  }
  --graph_.depth;
  graph_.exchange_values(std::move(around));
  if (!status.ok()) return status.error();
  return outputs;
}

Status check_types(const GrowingGraph& graph, const TorchNode& node, const TorchProgram& program) {
  for (const std::string& output : node.outputs) {
    const auto said = program.types.find(output);
    if (said == program.types.end() || !graph.defined(output)) continue;
    const ValueId value = graph.find(output);
    const std::vector<ValueId>* parts = graph.sequence(value);
    const TensorType& made = graph.graph.value(parts != nullptr ? parts->front() : value).type;
    const auto& sizes = said->second.sizes;
    const auto type = parts != nullptr ? type_of_parts(said->second.type) : dtype_of(said->second.type);
    bool equal = type == made.dtype && sizes.size() == made.shape.size();
    for (std::size_t d = 0; equal && d < sizes.size(); ++d)
      equal = !sizes[d].extent || *sizes[d].extent == made.shape[d];
    if (equal) continue;
    std::string text;
    for (const FileDimension& d : sizes)
      text += (text.empty() ? "" : "x") + (d.extent ? std::to_string(*d.extent) : "?");
    return Error{node.label + ": " + in_quotes(output) + " becomes " + (parts != nullptr ? "a pair of " : "") +
                 to_string(made) + "; the file says " + name_of(said->second.type) + "[" + text + "]"};
  }
  return ok_status();
}

}  // namespace whet::torch
