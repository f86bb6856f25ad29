#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/assemble.h"

namespace whet {

/// What weights depend on: how they are laid out, and the kernels that read them, but neither their values nor any name. Never 0.
std::uint64_t weights_key(const AssembledLibrary&, const std::vector<CompiledTask>&);

/// Writes the weights as a file of their own (whet/model_file.h) of a library with this key.
Status write_weights_file(const WeightTable&, std::uint64_t key, const std::string& path);

/// Whether weights with this key are for the library at `path`, which was compiled without weights.
/// Errors: no such library; one of another target, of another network or with other kernels, by the first difference.
Status check_like(const std::string& path, const AssembledLibrary&, std::uint64_t key);

}  // namespace whet
