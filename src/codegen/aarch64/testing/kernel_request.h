#pragma once

#include <cstdint>

namespace whet {

/// What a test asks of the program that runs kernels on another processor, on its standard input: this, the object file, the
/// name of its entry, and for each argument its size in 8 bytes and its bytes.
struct KernelRequest {
  std::uint64_t object_bytes = 0, entry_bytes = 0, arguments = 0;
  std::uint64_t workspace = 0, worker_workspace = 0, workers = 1;
  std::uint64_t flush_denormals = 0;
};

/// The answer on its standard output: the length of a complaint in 8 bytes and the complaint; where its length is 0, the bytes
/// of all arguments follow.
using ComplaintBytes = std::uint64_t;

}  // namespace whet
