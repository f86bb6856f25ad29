#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/assemble.h"
#include "compiler/compile.h"

namespace whet {

/// How a model with kernels of a code format becomes a library.
struct LibraryOfFormat {
  CodeFormat format;
  /// Completes the plans and writes the library at `output`.
  Status (*write)(AssembledLibrary&, const std::vector<CompiledTask>&, const Target&, const std::string& output,
                  const CompileOptions&);
  bool several_sizes = false;  ///< whether its runtime knows plans for several sizes
};
/// The formats that this build can put into libraries.
std::span<const LibraryOfFormat> library_writers();

/// Refuses a target whose libraries are for one size.
Status check_several_sizes(const Target&);

/// Writes the library by the row of the target's format; a sentence where there is none.
Status write_library(AssembledLibrary&, const std::vector<CompiledTask>&, const Target&, const std::string& output,
                     const CompileOptions&);

}  // namespace whet
