#pragma once

namespace whet {

/// The measuring host as a program of its own: builders, runners and what times models are its children. A program that
/// has threads starts it by `Zygote::start_program({"whet", "measure-host"})`. Ends when that program does.
///   fd  the socket that it was started with
int run_measure_host(int fd);

}  // namespace whet
