#pragma once

// Called by whet-model too, which has no C++ library.

namespace whet {

/// What keeps foreign code from the board that runs it: a kernel in a runner, a compiled model in whet-model. They enter it before
/// the first foreign byte runs.
///   no_new_privs   no program that it could start would gain rights
///   uid            when started as root, drops to a user id of its own (65534 if none is free) and to no groups
///   nproc          where its user is its own: as many threads as the machine has processors, and 8
///   rlimits        no core dump, no file grows, few open files; memory, addresses and the first stack by the machine's memory
///   namespaces     where the system allows: no network and no shared memory of others
///   seccomp        system calls that timing needs, and no others: no process, no program, no socket, no signal to others, no memory
///                  that `rlimits` does not count; a runner's threads place themselves and nobody else.
///                  A forbidden call ends the process (SIGSYS), which makes the outcome a crash. A runner opens no file;
///                  whet-model opens files to read them, as loading a library does
/// Threads without nproc remain what whet-device's user may have. Source: Linux's seccomp(2), prctl(2),
/// setrlimit(2).
enum SandboxLayer : int { kNoNewPrivs = 1, kUid = 2, kRlimits = 4, kSeccomp = 8, kNproc = 16, kNamespaces = 32 };
constexpr int kSandboxLayers[] = {kNoNewPrivs, kUid, kNproc, kRlimits, kNamespaces, kSeccomp};

/// What the code inside may do with files that this user may read.
enum class FileAccess { none, read };

/// Enters what this system offers; gives the layers that hold, or'ed together. Needs: this process has no threads.
int enter_layers(FileAccess);
/// Those without which a strict sandbox is none.
int strict_layers();
/// The word for one layer.
const char* layer_name(int layer);

}  // namespace whet
