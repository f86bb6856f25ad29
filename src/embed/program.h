#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace whet {

/// The program whet, which measures for the library and answers what it has no functions for: `named` where it is not empty; else in
/// the folder of this library, in the folder bin beside that or above, or in PATH. An error: it is not there.
Result<std::string> find_program(const std::string& named);

/// Runs it, without an input, and gives what it prints. Where it fails, its own sentence is the error.
Result<std::string> run_program(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace whet
