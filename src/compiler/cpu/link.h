#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/weights.h"

namespace whet {

/// Links relocatable objects (the embedded `runtime` of runtime/embedded.h, the kernels, the image object) into the shared
/// library `output`, which exports whet_model_v1 alone, and puts the weights and the trailer of whet/model_file.h behind
/// it. `output` appears whole or not at all. The linker is LLD, in a process of its own: it resets LLVM's global options, which the
/// code generator depends on. It never sees the weights, of which it would hold a copy.
///   objects  their paths
///   scratch  a directory for the files in between
///   threads  that the linker may use
///   weights_key  of the trailer: not 0 where the weights are in a file of their own, and `weights` is empty
Status link_model(std::string_view runtime, const std::vector<std::string>& objects, const WeightTable& weights,
                  const std::string& output, const std::string& scratch, int threads, std::uint64_t weights_key = 0);

/// Runs LLD on its words, in a process of its own; what it makes goes into the open file `made`, which errors call `output`.
Status run_linker(const std::vector<std::string>& command, int made, const std::string& output);

}  // namespace whet
