// whet devices: the program for boards that whet carries.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "board/embedded.h"
#include "cli/command.h"

namespace whet {
namespace {

struct DevicesCommand {
  std::string action, machine;
};

std::string machines() {
  std::string names;
  for (const BoardProgram& program : board_programs())
    if (!program.bytes.empty()) names += (names.empty() ? "" : ", ") + std::string(program.machine);
  return names.empty() ? "no machine: clang++-19 was missing when whet was built" : names;
}

int list() {
  for (const BoardProgram& program : board_programs())
    if (!program.bytes.empty())
      fmt::print("whet-device for {}: {} bytes, SHA-256 {}\n", program.machine, program.bytes.size(), program.hash);
  return kDone;
}

int export_program(const DevicesCommand& command) {
  if (command.machine.empty()) return wrong_use({"devices export: expected a machine; there is one for " + machines()});
  if (isatty(STDOUT_FILENO)) return wrong_use({"devices export writes a program; redirect it: > whet-device"});
  for (const BoardProgram& program : board_programs()) {
    if (program.machine != command.machine || program.bytes.empty()) continue;
    const bool written = std::fwrite(program.bytes.data(), 1, program.bytes.size(), stdout) == program.bytes.size() &&
                         std::fflush(stdout) == 0;
    return written ? kDone : fail({"the program cannot be written", ErrorKind::io});
  }
  return wrong_use({"there is no whet-device for \"" + command.machine + "\"; there is one for " + machines()});
}

}  // namespace

std::function<int()> make_devices(Arguments& arguments) {
  auto command = std::make_shared<DevicesCommand>();
  arguments.require_choice("action", command->action, {"list", "export"},
                           "list: print the programs for boards; export: write one to standard output");
  arguments.add("machine", command->machine, "export: the board's machine, as `uname -m` prints it there");
  return [command] { return command->action == "list" ? list() : export_program(*command); };
}

}  // namespace whet
