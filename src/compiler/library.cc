#include "compiler/library.h"

#include "artifact/code_format.h"

namespace whet {

Status check_several_sizes(const Target& target) {
  for (const LibraryOfFormat& row : library_writers())
    if (row.format == code_format(target) && row.several_sizes) return ok_status();
  return Error{"a library for target \"" + to_string(target) +
                   "\" is for one size: give it by --shape, and compile a library a size",
               ErrorKind::wrong_use};
}

Status write_library(AssembledLibrary& library, const std::vector<CompiledTask>& tasks, const Target& target,
                     const std::string& output, const CompileOptions& options) {
  const CodeFormat format = code_format(target);
  for (const LibraryOfFormat& row : library_writers())
    if (row.format == format) return row.write(library, tasks, target, output, options);
  return Error{"this whet writes no libraries with kernels of format " + std::string(name_of(format)) +
               ", which target " + to_string(target) + " needs"};
}

}  // namespace whet
