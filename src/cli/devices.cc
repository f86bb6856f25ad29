// whet devices: the program for boards that whet carries, and the units of a fleet.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>

#include "board/embedded.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/fleet_report.h"
#include "cli/output.h"
#include "workflow/fleet.h"

namespace whet {
namespace {

struct DevicesCommand {
  std::string action, machine;
  FleetOptions fleet;
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

Result<int> export_program(const DevicesCommand& command) {
  if (command.machine.empty()) return wrong_use({"devices export: expected a machine; there is one for " + machines()});
  if (isatty(STDOUT_FILENO)) return wrong_use({"devices export writes a program; redirect it: > whet-device"});
  for (const BoardProgram& program : board_programs()) {
    if (program.machine != command.machine || program.bytes.empty()) continue;
    if (!write_bytes(program.bytes)) return Error{"the program cannot be written", ErrorKind::io};
    return kDone;
  }
  return wrong_use({"there is no whet-device for \"" + command.machine + "\"; there is one for " + machines()});
}

Result<int> print_fleet(const DevicesCommand& command) {
  WHET_TRY(const auto queue, open_fleet(command.fleet));
  WHET_TRY(const std::string report, fleet_report(*queue));
  fmt::print("{}", report);
  return kDone;
}

}  // namespace

CommandAction make_devices(Arguments& arguments) {
  auto command = std::make_shared<DevicesCommand>();
  arguments.require_choice(
      "action", command->action, {"list", "export", "fleet"},
      "list: print the programs for boards; export: write one to standard output; fleet: print the "
      "units of a fleet and their queues");
  arguments.add("machine", command->machine, "export: the board's machine, as `uname -m` prints it there");
  std::vector<std::string> there;
  for (const BoardProgram& program : board_programs())
    if (!program.bytes.empty()) there.emplace_back(program.machine);
  arguments.offers("machine", there);
  add_options(arguments, command->fleet);
  return [command, given = arguments.given()]() -> Result<int> {
    if (command->action != "export" && !command->machine.empty())
      return wrong_use(
          {"devices " + command->action + ": unexpected \"" + command->machine + "\"; it takes no further word"});
    if (command->action == "fleet") return print_fleet(*command);
    WHET_RETURN_IF_ERROR(refuse_given(given, {"--fleet"}, "devices " + command->action, "is for devices fleet"));
    return command->action == "list" ? list() : export_program(*command);
  };
}

}  // namespace whet
