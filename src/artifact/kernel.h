#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace whet {

/// What a kernel's code is. The numbers are on the wire: never renumber.
enum class CodeFormat : std::uint8_t {
  native_object = 0,  ///< an object file for a CPU, whose one entry is a whet_kernel (artifact/kernel_args.h)
  ptx = 1,       ///< PTX for an NVIDIA GPU; an entry's parameters: pointers to the arguments, then to the workspace
  emulated = 2,  ///< a module for the host that does what a GPU would (artifact/emulated_module.h)
  cubin = 3,     ///< machine code of an NVIDIA GPU; entries as those of the PTX it was assembled from
};
/// One row a format, in code_format_table.cc.
bool is_code_format(std::uint8_t number);
const char* name_of(CodeFormat);

/// Version of the code generator: part of every record, raised when generated code changes enough to make old times
/// estimates. Each format has a count of its own, so that a change of one code generator leaves the records of the
/// others valid.
int codegen_version(CodeFormat);

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

/// One start of an entry of a kernel's code. A CPU starts it on all workers where it is `parallel`, else on one; grid,
/// block and block memory are of no account there. A GPU starts a grid of blocks: one launch a phase, which replaces the
/// barrier between phases.
struct Launch {
  std::string entry;              ///< name of a function in the code
  bool parallel = false;          ///< CPU: has a parallel loop
  Dim3 grid, block;               ///< GPU: blocks of the grid, threads of a block
  std::int64_t block_memory = 0;  ///< GPU: bytes of dynamic memory of a block
  friend bool operator==(const Launch&, const Launch&) = default;
};

/// One compiled kernel: its launches run in order on the same arguments and workspaces.
struct Kernel {
  CodeFormat format{};
  std::string code;                          ///< bytes of the object file, or the text
  std::vector<Launch> launches;              ///< one for a CPU
  std::int64_t workspace = 0;                ///< bytes that all workers see
  std::int64_t worker_workspace = 0;         ///< CPU: bytes that each worker has for itself
  std::vector<std::int64_t> argument_bytes;  ///< size of each argument
};

/// What the compiler of a device says of a kernel. Zeros where nothing is said, as of native objects.
struct BuildReport {
  std::int32_t registers = 0;     ///< of a thread
  std::int64_t spill_bytes = 0;   ///< of a thread
  std::int64_t block_memory = 0;  ///< bytes of a block, dynamic ones included
  std::int64_t instructions = 0;
  friend bool operator==(const BuildReport&, const BuildReport&) = default;
};

}  // namespace whet
