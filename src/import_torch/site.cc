#include "import_torch/site.h"

#include <algorithm>
#include <charconv>

#include "base/nearest.h"
#include "import/parts/arithmetic.h"
#include "import/parts/shape.h"
#include "import_torch/layout.h"
#include "import_torch/levels.h"
#include "import_torch/rows.h"

namespace whet::torch {
namespace {

/// Where a tensor lies, how, and what records it: these say nothing about its values.
constexpr std::string_view kMeaningless =
    "device layout pin_memory memory_format non_blocking copy generator cudnn_enabled cudnn_enable requires_grad "
    "implicit "
    "names";

/// A default of the table.
Argument literal_of(std::string_view text) {
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

std::optional<double> as_written(const Argument& argument) {
  if (const auto* number = std::get_if<double>(&argument.value)) return *number;
  if (const auto* integer = std::get_if<std::int64_t>(&argument.value)) return static_cast<double>(*integer);
  return std::nullopt;
}

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
  if (a != b && is_half(a) && is_half(b)) return DType::f32;
  return size_of(a) >= size_of(b) ? a : b;
}

Status TorchSite::bind() {
  std::vector<bool> used(node_.arguments.size(), false);
  for (std::size_t place = 0; place < words_.size(); ++place) {
    const Word& word = words_[place];
    Argument given = word.usual ? literal_of(*word.usual) : Argument{};
    bool is_there = !word.must_be_given() || word.is_rest;
    if (!word.is_ignored) parameters_.push_back(place);
    Arguments others;
    for (std::size_t i = 0; i < node_.arguments.size(); ++i) {
      const auto& [own, argument] = node_.arguments[i];
      if (word.is_rest ? i < place : own.empty() ? i != place || word.name.empty() : own != word.name) continue;
      used[i] = is_there = true;
      given = argument;
      if (word.is_rest) others.push_back(argument);
    }
    if (!is_there) return error("has no argument " + in_quotes(word.name) + ", which " + node_.op + " needs");
    given_.push_back(word.is_rest ? Argument{std::move(others)} : std::move(given));
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    const std::string& name = node_.arguments[i].first;
    if (used[i] || node_.arguments[i].second.is_none() || has_word(kMeaningless, name)) continue;
    return error("argument " + (name.empty() ? std::to_string(i) : in_quotes(name)) + " of " + node_.op +
                 " is not supported");
  }
  return ok_status();
}

std::string_view TorchSite::argument_name(std::size_t i) const {
  const std::string& own = node_.arguments[i].first;
  return own.empty() && i < words_.size() ? words_[i].name : std::string_view(own);
}

Status TorchSite::import_defined(const OperatorDefinition& own) {
  ValueIds operands;
  AttributeNumbers numbers;
  for (std::size_t i = 0; i < node_.arguments.size(); ++i) {
    const auto& [name, argument] = node_.arguments[i];
    const auto* list = std::get_if<Arguments>(&argument.value);
    std::vector<std::string> texts;
    for (const Argument& each : list != nullptr ? *list : Arguments{argument}) {
      if (const Name* tensor = each.name()) {
        WHET_TRY(const ValueId operand, found(*tensor));
        operands.push_back(operand);
      }
      if (const auto* number = std::get_if<std::int64_t>(&each.value)) texts.push_back(number_text(*number));
      if (const auto* number = std::get_if<double>(&each.value)) texts.push_back(number_text(*number));
    }
    if (!texts.empty()) numbers[name.empty() ? std::to_string(i) : name] = std::move(texts);
  }
  WHET_RETURN_IF_ERROR(give_defined(*this, own, node_.op, operands, numbers));
  return graph_.check_growth(name_);
}

Status TorchSite::import() {
  if (const auto* own = graph_.definition_of(node_.op)) return import_defined(*own);
  row_ = find_row(node_.op);
  if (row_ == nullptr)
    return error("this operator is not supported: " + node_.op + reason_against(node_.op) + how_to_define(node_.op));
  words_ = words_of(row_->takes);
  const bool is_complex = reads_complex();
  const TorchRow* own = is_complex ? find_complex_row(node_.op) : nullptr;
  const bool has_own = own != nullptr;
  if (has_own) {
    row_ = own;
    words_ = words_of(row_->takes);
  }
  if (program_.has_levels) WHET_RETURN_IF_ERROR(check_levels(graph_, node_, program_));
  WHET_RETURN_IF_ERROR(bind());
  wide_ = widened_type();
  const Precision precision = row_->precision;
  const bool has_parts = precision == Precision::of_parts || precision == Precision::wide_if_said;
  if (is_complex && !has_own && precision == Precision::of_products) {
    WHET_RETURN_IF_ERROR(import_products());
  } else if (has_parts && ((is_complex && !has_own) || asks_for_complex())) {
    WHET_RETURN_IF_ERROR(import_parts());
  } else {
    WHET_RETURN_IF_ERROR(row_->import(*this));
  }
  for (const std::string& output : outputs_) {
    if (output.empty() || !graph_.is_read(output) || graph_.defined(output)) continue;
    return error("result " + in_quotes(output) + " of " + node_.op + " is not supported");
  }
  return graph_.check_growth(name_);
}

std::optional<DType> TorchSite::widened_type() const {
  bool is_said = row_->precision == Precision::wide, others = false;
  std::optional<DType> any;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    collect_names(given_[i], names);
    if (given_[i].is_none()) continue;
    if (words_[i].name == "dtype") return std::nullopt;
    if (row_->precision != Precision::wide_if_said) continue;
    const std::optional<std::string_view> usual = words_[i].usual;
    is_said = is_said || (usual ? as_written(given_[i]) != as_written(literal_of(*usual)) : words_[i].is_optional);
  }
  for (const std::string& name : names) {
    if (!graph_.defined(name) || is_sequence(graph_.find(name))) continue;
    const TensorType& type = this->type(graph_.find(name));
    if (is_half(type.dtype) && !any) any = type.dtype;
    others = others || (is_float(type.dtype) && type.dtype != any && !type.shape.empty());
  }
  return is_said && !others ? any : std::nullopt;
}

ScalarType TorchSite::type_of_result(std::size_t i) const {
  const auto said = program_.types.find(node_.outputs[i]);
  if (said != program_.types.end()) return said->second.type;
  const auto is_type = [](const Word& word) { return word.name == "dtype"; };
  return std::any_of(words_.begin(), words_.end(), is_type) ? said_type("dtype") : ScalarType{};
}

bool TorchSite::may_wrap(std::size_t i) const {
  const std::int64_t type = type_of_result(i).number;
  return (type == 3 || type == 28) && node_.op.starts_with("aten.") && !moves_elements(node_.op);
}

Status TorchSite::give(ValueId x, std::size_t i) {
  if (!wants_output(i)) return ok_status();
  if (wide_ && dtype(x) == DType::f32) {
    WHET_TRY(x, cast("rounded", x, *wide_));
  }
  if (dtype(x) == DType::i32 && may_wrap(i)) {
    const bool is_signed = type_of_result(i).number == 3;
    if (is_signed && graph_.native_types) {
      WHET_TRY(x, cast("narrow", x, DType::i16));
      return NodeSite::give(x, i);
    }
    WHET_TRY(x, wrapped(*this, x, {.bits = 16, .is_signed = is_signed, .held = DType::i32}));
  }
  return NodeSite::give(x, i);
}

Status TorchSite::give(const Operator& op, ValueIds inputs, std::size_t i) {
  if (!wants_output(i) || !(wide_ || may_wrap(i))) return NodeSite::give(op, std::move(inputs), i);
  WHET_TRY(const ValueId y, add("result", op, std::move(inputs)));
  return give(y, i);
}

std::size_t TorchSite::place_of(std::string_view name) const {
  const auto found = std::find_if(words_.begin(), words_.end(), [&](const Word& word) { return word.name == name; });
  WHET_CHECK(found != words_.end(), node_.op.c_str());
  return static_cast<std::size_t>(found - words_.begin());
}

Error TorchSite::wrong_kind(const Argument& given, std::string_view name, const char* expected) const {
  return error("argument " + in_quotes(name) + " is " + kind_of(given) + "; expected " + expected);
}

Result<ValueId> TorchSite::found(const Name& name) const {
  if (!graph_.defined(name.name)) return error("reads " + in_quotes(name.name) + ", which nothing before it defines");
  const ValueId value = graph_.find(name.name);
  if (!is_sequence(value)) return value;
  return error("reads complex numbers, " + in_quotes(name.name) + ", which this operator is not supported for");
}

Result<ValueId> TorchSite::as_tensor(const Argument& given, std::string_view name) {
  if (given.name() == nullptr) return wrong_kind(given, name, "a tensor");
  WHET_TRY(const ValueId value, found(*given.name()));
  return wide_ && dtype(value) == *wide_ ? cast("wide", value, DType::f32) : value;
}

Result<OptionalId> TorchSite::as_optional(const Argument& given, std::string_view name) {
  if (given.is_none()) return OptionalId();
  WHET_TRY(const ValueId value, as_tensor(given, name));
  return OptionalId(value);
}

Result<ValueId> TorchSite::tensor(std::string_view name) { return as_tensor(argument(name), name); }

std::optional<ComplexParts> TorchSite::complex(std::string_view name) const {
  const Name* given = argument(name).name();
  if (given == nullptr || !graph_.defined(given->name)) return std::nullopt;
  const ValueIds* parts = graph_.sequence(graph_.find(given->name));
  if (parts == nullptr || parts->size() != 2) return std::nullopt;
  return ComplexParts{(*parts)[0], (*parts)[1]};
}

Result<ComplexParts> TorchSite::as_complex(std::string_view name) {
  if (const auto parts = complex(name)) return *parts;
  if (const auto* list = std::get_if<Arguments>(&argument(name).value); list != nullptr && list->size() == 2) {
    WHET_TRY(const Numbers parts, each(name, &TorchSite::as_number));
    return ComplexParts{add_scalar("real", DType::f32, parts[0]), add_scalar("imaginary", DType::f32, parts[1])};
  }
  WHET_TRY(ValueId x, operand(name, argument(name).name() == nullptr ? DType::f32 : *type_of(name)));
  if (!is_float(dtype(x))) {
    WHET_TRY(x, cast("float", x, DType::f32));
  }
  return ComplexParts{x, add_scalar("imaginary", dtype(x), 0)};
}

Result<ComplexParts> TorchSite::complex(const Word& word) {
  if (const auto parts = complex(word.name)) return *parts;
  WHET_TRY(const ValueId x, tensor(word.name));
  return error("the input is " + to_string(type(x)) + "; expected complex numbers");
}

std::optional<std::size_t> TorchSite::said_rank(std::string_view name) const {
  const Name* given = argument(name).name();
  const auto said = given == nullptr ? program_.types.end() : program_.types.find(given->name);
  return said == program_.types.end() ? std::nullopt : std::optional(said->second.sizes.size());
}

bool TorchSite::only_first_are_read(std::int64_t count) const {
  if (node_.outputs.empty()) return false;
  for (const TorchNode& node : program_.nodes) {
    std::vector<std::string> names;
    for (const auto& [name, argument] : node.arguments) collect_names(argument, names);
    if (node.op == "aten.sym_size.int" || std::find(names.begin(), names.end(), node_.outputs[0]) == names.end())
      continue;
    const auto place = [&](std::string_view word) -> const Argument* {
      const auto found = std::find_if(node.arguments.begin(), node.arguments.end(),
                                      [&](const auto& each) { return each.first == word; });
      return found == node.arguments.end() || found->second.is_none() ? nullptr : &found->second;
    };
    // Places from the end are not known.
    const auto is_first = [&](const Argument* each) {
      const auto* value = each == nullptr ? nullptr : std::get_if<std::int64_t>(&each->value);
      return value != nullptr && *value >= 0 && *value <= count;
    };
    const Argument* start = place("start");
    if (node.op != "aten.slice.Tensor" || (start != nullptr && !is_first(start)) || !is_first(place("end")))
      return false;
  }
  return std::none_of(program_.outputs.begin(), program_.outputs.end(),
                      [&](const Name& output) { return output.name == node_.outputs[0]; });
}

bool TorchSite::lies_row_by_row(std::string_view name) const {
  const Name* given = argument(name).name();
  if (given == nullptr) return false;
  const auto said = program_.types.find(given->name);
  if (said != program_.types.end() && said->second.row_by_row) return true;
  return torch::lies_row_by_row(program_, given->name, !is_inner_);
}

template <typename T>
Result<T> TorchSite::only_one(const std::vector<T>& values, std::string_view name) const {
  if (values.size() == 1) return values[0];
  return error("argument " + in_quotes(name) + " is a list of " + std::to_string(values.size()) +
               "; expected an integer");
}

Result<std::int64_t> TorchSite::as_integer(const Argument& given, std::string_view name) {
  if (const auto* integer = std::get_if<std::int64_t>(&given.value)) return *integer;
  if (const auto* flag = std::get_if<bool>(&given.value)) return *flag ? 1 : 0;
  if (const auto* number = std::get_if<double>(&given.value);
      number != nullptr && *number == to_integer(DType::i64, *number))
    return to_integer(DType::i64, *number);
  if (given.name() == nullptr) return wrong_kind(given, name, "an integer");
  WHET_TRY(const ValueId value, as_tensor(given, name));
  WHET_TRY(const Ints list, known_integers(value, "argument " + in_quotes(name)));
  return only_one(list, name);
}

Result<double> TorchSite::as_number(const Argument& given, std::string_view name) {
  if (const auto number = as_written(given)) return *number;
  if (given.name() != nullptr) {
    WHET_TRY(const ValueId value, as_tensor(given, name));
    return known_number(value, "argument " + in_quotes(name));
  }
  WHET_TRY(const std::int64_t value, as_integer(given, name));
  return static_cast<double>(value);
}

Result<Size> TorchSite::as_size(const Argument& given, std::string_view name) {
  if (given.name() == nullptr) {
    WHET_TRY(const std::int64_t known, as_integer(given, name));
    return Size{known};
  }
  WHET_TRY(const ValueId value, as_tensor(given, name));
  WHET_TRY(const Sizes list, known_sizes(value, "argument " + in_quotes(name)));
  return only_one(list, name);
}

Result<bool> TorchSite::flag(std::string_view name) {
  if (!has(name)) return wrong_kind({}, name, "true or false");
  WHET_TRY(const std::int64_t value, integer(name));
  return value != 0;
}

Result<std::int64_t> TorchSite::integer(std::string_view name) { return as_integer(argument(name), name); }
Result<double> TorchSite::number(std::string_view name) { return as_number(argument(name), name); }
Result<Ints> TorchSite::integers(std::string_view name) { return each(name, &TorchSite::as_integer); }

Result<std::string> TorchSite::text(std::string_view name) {
  if (const auto* text = std::get_if<std::string>(&argument(name).value)) return *text;
  return wrong_kind(argument(name), name, "a text");
}

ScalarType TorchSite::said_type(std::string_view name) const {
  const Argument& given = argument(name);
  ScalarType type;
  if (const auto* said = std::get_if<ScalarType>(&given.value)) type = *said;
  if (const auto* said = std::get_if<std::int64_t>(&given.value))
    type = script_type(*said);  // as TorchScript writes it
  return type;
}

Result<ScalarType> TorchSite::torch_type(std::string_view name) {
  const Name* given = argument(name).name();
  const auto said = given == nullptr ? program_.types.end() : program_.types.find(given->name);
  if (said != program_.types.end()) return said->second.type;
  WHET_TRY(const DType own, type_of(name));
  ScalarType type;
  for (const std::int64_t number : {1, 2, 3, 4, 5, 6, 7, 8, 12, 13})
    if (dtype_of({number}, true) == own) type.number = number;
  return type;
}

Result<DType> TorchSite::dtype(const Word& word) const {
  const ScalarType type = said_type(word.name);
  if (const auto dtype = dtype_of(type, graph_.native_types)) return *dtype;
  return error("argument " + in_quotes(word.name) + " is " + name_of(type) +
               "; expected float32, float64, float16, bfloat16, uint8, int8, int32, int64 or bool");
}

Result<Ints> TorchSite::entries(std::string_view name, std::size_t count, std::int64_t low) {
  WHET_TRY(Ints values, integers(name));
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

Result<Program> TorchSite::program(const Word& word) const {
  if (const auto* program = std::get_if<Program>(&argument(word.name).value)) return *program;
  return wrong_kind(argument(word.name), word.name, "a program");
}

Result<DType> TorchSite::common_type(const Word& marked) const {
  Kinds kinds;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (words_[i].choices != marked.choices || given_[i].is_none()) continue;
    if (const Name* name = given_[i].name()) {
      WHET_TRY(const ValueId id, found(*name));
      // Numbers that are computed from sizes count as those that are written.
      const bool as_f32 = dtype(id) == DType::f64 ? name->is_number : wide_ && dtype(id) == *wide_;
      const bool scalar = rank(id) == 0;
      widen(name->is_number ? kinds.numbers : scalar ? kinds.scalars : kinds.tensors, as_f32 ? DType::f32 : dtype(id));
    } else {
      const bool truth = std::holds_alternative<bool>(given_[i].value);
      if (!truth && !as_written(given_[i])) return wrong_kind(given_[i], words_[i].name, "a tensor or a number");
      const bool fraction = std::holds_alternative<double>(given_[i].value);
      widen(kinds.numbers, fraction ? DType::f32 : truth ? DType::boolean : DType::i64);
    }
  }
  const DType type = combined(combined(kinds.tensors, kinds.scalars), kinds.numbers).value_or(DType::f32);
  const std::string_view mark = marked.choices[0];
  if (mark == "number") return is_float(type) ? DType::f64 : DType::i64;
  return mark == "ratio" && !is_float(type) ? DType::f32 : type;
}

Result<DType> TorchSite::type_of(std::string_view name) {
  WHET_TRY(const ValueId x, tensor(name));
  return dtype(x);
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

Result<ValueId> TorchSite::value(const Word& word) {
  for (std::string_view rest = word.axis_of; !rest.empty();) {
    const std::string_view like = rest.substr(0, rest.find('|'));
    rest.remove_prefix(std::min(like.size() + 1, rest.size()));
    if (!has(like)) continue;
    const bool is_type = argument(like).name() == nullptr;
    WHET_TRY(const DType type, is_type ? dtype(words_[place_of(like)]) : type_of(like));
    return operand(word.name, type);
  }
  const std::string_view mark = word.choices.empty() ? "" : word.choices[0];
  if (mark == "common" || mark == "ratio" || mark == "number") {
    WHET_TRY(const DType type, common_type(word));
    return operand(word.name, type);
  }
  if (const auto type = parse_dtype(mark)) return operand(word.name, *type);
  WHET_TRY(const ValueId x, tensor(word.name));
  return mark == "floats" && !is_float(dtype(x)) ? cast("float", x, DType::f32) : x;
}

Result<std::int64_t> TorchSite::integer(const Word& word) {
  if (!word.choices.empty()) {
    WHET_TRY(const std::string given, text(word.name));
    const auto choice = std::find(word.choices.begin(), word.choices.end(), given);
    if (choice != word.choices.end()) return choice - word.choices.begin();
    return error("argument " + in_quotes(word.name) + " is " + given + "; expected " + alternatives(word.choices));
  }
  WHET_TRY(const std::int64_t given, integer(word.name));
  if (word.axis_of.empty()) return given;
  const bool no_scalar = word.axis_of.ends_with('!');
  WHET_TRY(const ValueId x, tensor(word.axis_of.substr(0, word.axis_of.size() - (no_scalar ? 1 : 0))));
  if (no_scalar && rank(x) == 0) return error("the input is a scalar; expected dimensions");
  return resolve_axis(given, std::max<std::size_t>(rank(x), 1));
}

Result<Ints> TorchSite::integers(const Word& word) {
  if (word.axis_of.empty()) return integers(word.name);
  Ints given;
  if (has(word.name)) {
    WHET_TRY(given, integers(word.name));
  }
  WHET_TRY(const ValueId x, tensor(word.axis_of));
  if (given.empty() || rank(x) == 0) return every_axis(rank(x));
  return resolve_axes(given, rank(x));
}

Result<ValueIds> TorchSite::inlined(const TorchProgram& body, const ValueIds& inputs) {
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
    if (!status.ok()) status = at_line(body.nodes[i], status.error());
  }
  ValueIds outputs;
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

Status TorchSite::expect_no_dropout(double p, bool train) const {
  if (!train || p == 0) return ok_status();
  return error("drops numbers at random, as in training; in Python: model.eval() before torch.export.export");
}

Status check_types(const GrowingGraph& graph, const TorchNode& node, const TorchProgram& program) {
  for (const std::string& output : node.outputs) {
    const auto said = program.types.find(output);
    if (said == program.types.end() || !graph.defined(output)) continue;
    const ValueId value = graph.find(output);
    const ValueIds* parts = graph.sequence(value);
    const TensorType& made = graph.graph.value(parts != nullptr ? parts->front() : value).type;
    const auto& sizes = said->second.sizes;
    const auto type =
        parts != nullptr ? type_of_parts(said->second.type) : dtype_of(said->second.type, graph.native_types);
    // Dimensions of vmap lie before those that the file says.
    const std::size_t before = program.has_levels ? made.shape.size() - std::min(made.shape.size(), sizes.size()) : 0;
    bool equal = type == made.dtype && sizes.size() + before == made.shape.size();
    for (std::size_t d = 0; equal && d < sizes.size(); ++d)
      equal = !sizes[d].extent || *sizes[d].extent == made.shape[before + d];
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
