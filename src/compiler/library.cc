#include "compiler/library.h"

#include "artifact/code_format.h"

namespace whet {

Status write_library(AssembledModel& model, const std::vector<CompiledTask>& tasks, const Target& target,
                     const std::string& output, const CompileOptions& options) {
  const CodeFormat format = code_format(target);
  for (const LibraryOfFormat& row : library_writers())
    if (row.format == format) return row.write(model, tasks, target, output, options);
  return Error{"this whet writes no libraries with kernels of format " + std::string(name_of(format)) +
               ", which target " + to_string(target) + " needs"};
}

}  // namespace whet
