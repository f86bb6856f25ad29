#pragma once

#include <vector>

#include "artifact/kernel.h"
#include "ptx/machine.h"
#include "tensor/tensor.h"

namespace whet::ptx {

struct KernelRun {
  std::vector<Tensor> arguments;  ///< afterwards
  Tally tally;                    ///< of all launches
};

/// Runs the launches of a kernel (CodeFormat::ptx). Its workspace holds NaN at first.
inline Result<KernelRun> run_kernel(const Kernel& kernel, const std::vector<Tensor>& arguments,
                                    const RunOptions& options = {}) {
  WHET_TRY(const Module module, parse(kernel.code));
  KernelRun run;
  std::vector<Argument> buffers;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    run.arguments.push_back(arguments[i].clone());
    buffers.push_back(GlobalBuffer{"argument " + std::to_string(i),
                                   static_cast<std::byte*>(run.arguments.back().data()), kernel.argument_bytes[i]});
  }
  std::vector<std::byte> workspace(static_cast<std::size_t>(kernel.workspace), std::byte{0xff});
  buffers.push_back(GlobalBuffer{"workspace", workspace.data(), kernel.workspace});
  for (const Launch& launch : kernel.launches) {
    const Entry* const entry = module.find(launch.entry);
    if (entry == nullptr) return Error{"the PTX has no entry `" + launch.entry + "`"};
    WHET_TRY(const Tally tally,
             ptx::run(*entry, {launch.grid.x, launch.block.x, launch.block_memory}, buffers, options));
    add(run.tally, tally);
  }
  return run;
}

}  // namespace whet::ptx
