#include <algorithm>

#include "import/parts/shape.h"
#include "import_torch/rows.h"

// Operators that do with complex numbers what they do with their parts.

namespace whet::torch {
namespace {

/// A number a + bi is written as a list of the two.
bool is_complex_number(const Argument& argument) {
  const auto* list = std::get_if<Arguments>(&argument.value);
  return list != nullptr && list->size() == 2 && std::all_of(list->begin(), list->end(), [](const Argument& each) {
           return std::holds_alternative<double>(each.value);
         });
}

/// Arguments that are numbers, and no places, masks or sizes: where they are real, they have no imaginary part.
constexpr std::string_view kNumberArguments = "fill_value other self source src tensors value values";

bool is_written_number(const Argument& argument) {
  return std::holds_alternative<bool>(argument.value) || std::holds_alternative<std::int64_t>(argument.value) ||
         std::holds_alternative<double>(argument.value);
}

}  // namespace

bool TorchSite::reads_complex() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < node_.arguments.size(); ++i) {
    const Argument& argument = node_.arguments[i].second;
    collect_names(argument, names);
    if (is_complex_number(argument) && has_word(kNumberArguments, argument_name(i))) return true;
  }
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const ValueIds* parts = graph_.defined(name) ? graph_.sequence(graph_.find(name)) : nullptr;
    return parts != nullptr && parts->size() == 2;
  });
}

bool TorchSite::asks_for_complex() const {
  return std::any_of(given_.begin(), given_.end(), [](const Argument& each) {
    const auto* type = std::get_if<ScalarType>(&each.value);
    return type != nullptr && type_of_parts(*type);
  });
}

Result<Argument> TorchSite::part_of(const Argument& given, std::string_view name, bool imaginary, bool is_whole) {
  if (const auto* type = std::get_if<ScalarType>(&given.value); type != nullptr && type_of_parts(*type))
    return Argument{ScalarType{type->number - 3}};  // complex64 is three behind float32, and so on
  if (is_complex_number(given)) return std::get<Arguments>(given.value)[imaginary ? 1 : 0];
  if (const auto* list = std::get_if<Arguments>(&given.value)) {
    Arguments parts;
    for (const Argument& each : *list) {
      WHET_TRY(Argument part, part_of(each, name, imaginary, is_whole));
      parts.push_back(std::move(part));
    }
    return Argument{std::move(parts)};
  }
  const bool has_none = imaginary && !is_whole, is_number = has_word(kNumberArguments, name);
  if (given.name() == nullptr || !graph_.defined(given.name()->name))
    return has_none && is_number && is_written_number(given) ? Argument{0.0} : given;
  const ValueId value = graph_.find(given.name()->name);
  const ValueIds* parts = graph_.sequence(value);
  ValueId part = parts == nullptr ? value : (*parts)[imaginary ? 1 : 0];
  if (parts == nullptr) {
    if (!has_none || (!is_number && !is_float(dtype(value)))) return given;
    WHET_TRY(part, expanded(*this, add_scalar("no_part", dtype(value), 0), Shape(shape(value))));
  }
  const std::string own = given.name()->name + (imaginary ? " imaginary part" : " real part");
  graph_.define(own, part);
  return Argument{Name{own, given.name()->is_number}};
}

Result<ValueIds> TorchSite::part_results(bool imaginary, bool is_whole, int turned) {
  TorchNode node{node_.op, node_.label, node_.arguments, {}};
  for (const std::string& output : node_.outputs) node.outputs.push_back(output.empty() ? "" : output + " part");
  int operand = 0;
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    Argument& argument = node.arguments[i].second;
    const std::string_view name = argument_name(i);
    std::vector<std::string> names;
    collect_names(argument, names);
    if (auto* list = std::get_if<Arguments>(&argument.value); list != nullptr && names.size() == 2 && turned >= 0) {
      for (Argument& each : *list) {
        WHET_TRY(each, part_of(each, name, imaginary != (operand++ == turned), is_whole));
      }
      continue;
    }
    const bool is_operand = !names.empty() || is_complex_number(argument);
    WHET_TRY(argument, part_of(argument, name, imaginary != (is_operand && operand == turned), is_whole));
    operand += is_operand ? 1 : 0;
  }
  WHET_RETURN_IF_ERROR(TorchSite(graph_, node, program_, true).import());
  ValueIds results;
  for (const std::string& output : node.outputs) {
    if (!output.empty() && !graph_.defined(output)) return error("gives no such part of complex numbers");
    results.push_back(output.empty() ? ValueId{} : graph_.find(output));
    graph_.restore(output, std::nullopt);
  }
  return results;
}

Status TorchSite::import_parts() {
  if (std::none_of(outputs_.begin(), outputs_.end(), [](const std::string& name) { return !name.empty(); }))
    return ok_status();
  WHET_TRY(const ValueIds real, part_results(false, false));
  ValueIds imaginary = real;
  if (reads_complex()) {
    WHET_TRY(imaginary, part_results(true, false));
  } else {
    for (std::size_t i = 0; i < imaginary.size(); ++i) {
      if (!wants_output(i)) continue;
      WHET_TRY(imaginary[i], expanded(*this, add_scalar("no_part", dtype(real[i]), 0), sizes(real[i])));
    }
  }
  for (std::size_t i = 0; i < real.size(); ++i)
    if (wants_output(i)) WHET_RETURN_IF_ERROR(give_sequence(dtype(real[i]), {real[i], imaginary[i]}, i));
  return ok_status();
}

/// (a + bi) (c + di) = (a c - b d) + (a d + b c) i; of one that is real both parts are multiplied by it.
Status TorchSite::import_products() {
  if (!wants_output(0)) return ok_status();
  int complex_operands = 0, operands = 0;
  for (const auto& [name, argument] : node_.arguments) {
    std::vector<std::string> names;
    collect_names(argument, names);
    complex_operands += is_complex_number(argument) ? 1 : 0;
    operands += static_cast<int>(names.size());
    for (const std::string& each : names)
      complex_operands += graph_.defined(each) && is_sequence(graph_.find(each)) ? 1 : 0;
  }
  if (complex_operands > 2 || (complex_operands == 2 && operands > 2))
    return error("multiplies two or more complex tensors and others, which is not supported");
  WHET_TRY(const ValueIds ac, part_results(false, true));
  if (complex_operands == 1) {
    WHET_TRY(const ValueIds bc, part_results(true, true));
    return give_complex(ac[0], bc[0]);
  }
  WHET_TRY(const ValueIds bd, part_results(true, true));
  WHET_TRY(const ValueIds ad, part_results(false, true, 1));
  WHET_TRY(const ValueIds bc, part_results(true, true, 1));
  WHET_TRY(const ValueId real, add("real", BinaryOperator{BinaryKind::sub}, {ac[0], bd[0]}));
  WHET_TRY(const ValueId imaginary, add("imaginary", BinaryOperator{BinaryKind::add}, {ad[0], bc[0]}));
  return give_complex(real, imaginary);
}

}  // namespace whet::torch
