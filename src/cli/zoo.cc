// whet zoo: the built-in networks.

#include <fmt/format.h>

#include <functional>
#include <memory>

#include "cli/add_options.h"
#include "cli/command.h"
#include "import/zoo/zoo.h"
#include "import_onnx/export.h"
#include "workflow/model.h"

namespace whet {
namespace {

struct ZooCommand {
  std::string action, network, output;
  ModelOptions options;
};

int list(const ZooCommand& command) {
  if (!command.network.empty())
    return wrong_use({"zoo list: unexpected \"" + command.network + "\"; `whet zoo export` takes a network's name"});
  for (const std::string& name : zoo_names()) fmt::print("zoo:{}\n", name);
  return kDone;
}

Result<int> export_network(ZooCommand& command) {
  if (command.network.empty())
    return wrong_use({"zoo export: expected the name of a network; `whet zoo list` lists them"});
  command.options.model = command.network.starts_with("zoo:") ? command.network : "zoo:" + command.network;
  WHET_TRY(const Graph graph, load_graph(command.options));
  WHET_RETURN_IF_ERROR(export_onnx(graph, command.output));
  fmt::print("{}\n", command.output);
  return kDone;
}

}  // namespace

CommandAction make_zoo(Arguments& arguments) {
  auto command = std::make_shared<ZooCommand>();
  arguments.require_choice("action", command->action, {"list", "export"},
                           "list: print the names; export: write an ONNX file");
  arguments.add("network", command->network, "export: name of the network");
  arguments.offers("network", zoo_names());
  arguments.add("-o,--output", command->output, "export: the ONNX file to write (default: the name with .onnx, here)");
  arguments.writes(
      "--output", command->output, FileKind::onnx, [&action = command->action, &network = command->network] {
        return action == "export" && !network.empty() ? network.substr(network.starts_with("zoo:") ? 4 : 0) + ".onnx"
                                                      : "";
      });
  add_zoo(arguments, command->options);
  arguments.add("--seed", command->options.seed, "Seed of the weights");
  return [command, given = arguments.given()]() -> Result<int> {
    if (command->action != "list") return export_network(*command);
    WHET_RETURN_IF_ERROR(refuse_given(given, {"--output", "--batch", "--image", "--layout", "--seed"}, "zoo list",
                                      "is for `whet zoo export`"));
    return list(*command);
  };
}

}  // namespace whet
