#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.h"

namespace whet {

/// A name of a function for a Program's name that any linker takes.
std::string symbol_of(const std::string& name);
/// The size of each argument of a Program.
std::vector<std::int64_t> argument_bytes(const Program&);

}  // namespace whet
