#pragma once

#include <sys/types.h>

#include <string>

#include "device/protocol/messages.h"

namespace whet {

/// This board: its name, processor, cores, caches and memory, read from the system; limits as they are by default.
DeviceDescription describe_board();

/// The program that runs this one in place of a processor, like "qemu-aarch64-static"; "" where the system runs it.
/// `other` is another process of this program, forked and alive: an emulator hides its own file from the process that asks
/// for it, but not from others.
std::string emulator_of_this_program(pid_t other);

}  // namespace whet
