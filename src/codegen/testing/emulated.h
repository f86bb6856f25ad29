#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "codegen/gpu/compile.h"
#include "emulate/kernel.h"
#include "tensor/tensor.h"

namespace whet {

namespace emulated_detail {
struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

/// As a device gives memory: 256-byte aligned.
inline Memory allocate(std::int64_t bytes) {
  return Memory(std::aligned_alloc(256, static_cast<std::size_t>(bytes + 256) / 256 * 256));
}
}  // namespace emulated_detail

/// Compiles, loads and runs; the result is `arguments` afterwards.
inline Result<std::vector<Tensor>> run_emulated(const Program& program, const Target& target,
                                                const std::vector<Tensor>& arguments,
                                                const EmulateOptions& options = {}) {
  using namespace emulated_detail;
  WHET_TRY(const Kernel kernel, compile_emulated(program, target));
  WHET_TRY(const EmulatedKernel loaded, EmulatedKernel::load(kernel));
  std::vector<Memory> memory;
  std::vector<void*> pointers;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    memory.push_back(allocate(kernel.argument_bytes[i]));
    std::memcpy(memory.back().get(), arguments[i].data(), static_cast<std::size_t>(kernel.argument_bytes[i]));
    pointers.push_back(memory.back().get());
  }
  memory.push_back(allocate(kernel.workspace));
  std::memset(memory.back().get(), 0xff, static_cast<std::size_t>(kernel.workspace));
  pointers.push_back(memory.back().get());
  WHET_RETURN_IF_ERROR(loaded.run(pointers, options));
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    results.push_back(arguments[i].clone());
    std::memcpy(results.back().data(), pointers[i], static_cast<std::size_t>(kernel.argument_bytes[i]));
  }
  return results;
}

}  // namespace whet
