#pragma once

#include <fstream>
#include <iterator>

#include "runner/messages.h"

namespace whet::testing_kernels {

constexpr std::int64_t kCount = 4096, kBytes = kCount * 4;

/// One of the kernels of testing/kernels.c, whose object file is at `path`.
inline Kernel kernel(const std::string& path, const std::string& symbol) {
  std::ifstream file(path, std::ios::binary);
  Kernel k;
  k.code.assign(std::istreambuf_iterator<char>(file), {});
  k.launches = {{symbol, true}};
  k.argument_bytes = {kBytes, kBytes};
  if (symbol == "two_phases") k.workspace = kBytes;
  if (symbol == "write_beyond_workspace" || symbol == "write_before_workspace") k.worker_workspace = 128;
  if (symbol == "add_weights" || symbol == "read_beyond_weights") k.argument_bytes.push_back(kBytes);
  return k;
}
/// The kernel with an input, an output and, where it takes them, weights.
inline KernelJob job(const std::string& path, const std::string& symbol, std::uint32_t threads = 1) {
  KernelJob j;
  j.kernel = kernel(path, symbol);
  j.arguments = {{ArgumentRole::activation, DType::f32, kBytes, 7}, {ArgumentRole::output, DType::f32, kBytes}};
  if (j.kernel.argument_bytes.size() == 3) j.arguments.push_back({ArgumentRole::constant, DType::f32, kBytes, 8});
  j.threads = threads;
  j.cpu.no_pin = true;
  return j;
}

}  // namespace whet::testing_kernels
