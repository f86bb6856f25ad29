#pragma once

#include <optional>
#include <string_view>

#include "compute/dag.h"

namespace whet {

/// The words of the notation (docs/formats/dag.md), for printing and parsing.
std::string_view name_of(MathFn);
std::optional<MathFn> parse_math_fn(std::string_view);
std::string_view name_of(AxisRole);
std::optional<AxisRole> parse_axis_role(std::string_view);
std::string_view name_of(OpFamily);
std::optional<OpFamily> parse_op_family(std::string_view);
/// "+=", "*=", "max=", "min="
std::string_view sign_of(Reducer);

/// A name in the notation: in quotes unless it is a plain word without another meaning.
std::string dag_word(std::string_view name);

}  // namespace whet
