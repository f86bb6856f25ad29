// whet zoo: the built-in networks.

#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/model.h"
#include "cli/table.h"
#include "import/zoo/zoo.h"

namespace whet {
namespace {

int run_list() {
  for (const std::string& name : zoo_names()) fmt::print("zoo:{}\n", name);
  return kDone;
}

}  // namespace

std::function<int()> make_zoo(Arguments& arguments) {
  auto action = std::make_shared<std::string>();
  arguments.require_choice("action", *action, {"list"}, "What to do");
  return [action] { return run_list(); };
}

}  // namespace whet
