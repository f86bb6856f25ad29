#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "program/program.h"

namespace whet::toy {

/// The text of a Program whose buffers and variables are called b0, b1, ... and v0, v1, ..., so that every name in it is
/// unique. Needs: no vectors.
std::string write_program(const Program&);

/// Reads such a text. Errors name the line.
Result<Program> read_program(std::string_view text);

}  // namespace whet::toy
