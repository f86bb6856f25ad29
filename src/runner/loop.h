#pragma once

namespace whet {

/// The runner's life: says hello, then answers requests on the socket `fd` until its other end is closed, then returns the exit status.
/// A kernel that faults ends the process by its signal, after a `fault` frame that says where. Call it in a process of
/// its own.
int run_runner(int fd);

}  // namespace whet
