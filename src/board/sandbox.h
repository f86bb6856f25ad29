#pragma once

#include <string>
#include <vector>

#include "device/local/zygote.h"

namespace whet {

/// What keeps a kernel from the board that runs it. A runner enters it before the first foreign byte runs.
///   no_new_privs   no program that it could start would gain rights
///   uid            started as root, it runs as nobody (65534), in no group
///   rlimits        no core dump, no file grows, few open files
///   seccomp        system calls that timing needs, and no others: no process, no program, no socket, no signal to others.
///                  Files cannot be opened. A forbidden call ends the runner (SIGSYS), which makes the kernel's outcome a crash
/// Memory and threads of the runner remain what whet-device's user may have. Source: Linux's seccomp(2), prctl(2),
/// setrlimit(2).
enum SandboxLayer : int { kNoNewPrivs = 1, kUid = 2, kRlimits = 4, kSeccomp = 8 };

/// Enters what this system offers; gives the layers that hold, or'ed together. Needs: this process has no threads.
int enter_sandbox();
/// As words for the device's description.
std::vector<std::string> layer_names(int layers);
/// Those without which a strict sandbox is none.
int strict_layers();

/// Whether kernels run in a sandbox, and what happens where a layer cannot be had.
enum class SandboxMode { strict, best, off };

/// Runners inside of the sandbox. The strict one ends before it says hello where a strict layer is missing.
extern const Life kStrictRunner, kBestRunner;

/// The layers that a runner gets here: tried in a process of its own.
int probe_sandbox(Zygote&);

}  // namespace whet
