#pragma once

#include <string>
#include <vector>

#include "board/layers.h"
#include "device/local/zygote.h"

namespace whet {

/// `enter_layers` for a runner, without its environment.
int enter_sandbox();
/// As words for the device's description.
std::vector<std::string> layer_names(int layers);

/// Whether kernels run in a sandbox, and what happens where a layer cannot be had.
enum class SandboxMode { strict, best, off };

/// Runners inside of the sandbox. The strict one ends before it says hello where a strict layer is missing.
extern const Life kStrictRunner, kBestRunner;

/// The layers that a runner gets here: tried in a process of its own.
int probe_sandbox(Zygote&);

}  // namespace whet
