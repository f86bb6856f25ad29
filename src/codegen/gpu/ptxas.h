#pragma once

#include <string>

#include "artifact/kernel.h"
#include "base/result.h"

namespace whet {

/// NVIDIA's assembler, where it is installed. It makes device code of PTX beside the GPU, in many processes at once; without it
/// the driver does so, in the process that measures.
struct Ptxas {
  std::string path;  ///< "" where there is none
  int release = 0;   ///< 13 for CUDA 13.0. A driver of an older one does not load its code
};

/// By CUDA_HOME, PATH, and where the toolkit installs itself. Looks once a process.
const Ptxas& installed_ptxas();

struct AssembledPtx {
  std::string cubin;
  BuildReport report;   ///< the most that an entry takes
  std::string remarks;  ///< lines that say what the assembler serialises: C7508, C7510, C7517
};
/// Assembles for an architecture. An error has the last line that the assembler printed. Starts a process; several threads
/// may call it.
Result<AssembledPtx> assemble_ptx(const Ptxas&, const std::string& ptx, int arch);

/// What the assembler's -v says of all entries.
BuildReport read_ptxas_report(const std::string& log);
/// The lines of it that are remarks C75xx.
std::string read_ptxas_remarks(const std::string& log);

}  // namespace whet
