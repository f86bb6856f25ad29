#include "board/sandbox.h"

#include <sys/socket.h>

#include <cstdlib>

#include "runner/cpu/available_memory.h"
#include "runner/hello.h"
#include "runner/loop.h"

namespace whet {
namespace {

int enter_with_open_files() {
  available_memory();  // opens what cannot be opened later
  return enter_sandbox();
}

int run_strictly(int fd) {
  constexpr int kNoSandbox = 4;
  const int needed = strict_layers();
  return (enter_with_open_files() & needed) == needed ? run_runner(fd) : kNoSandbox;
}
int run_at_best(int fd) {
  enter_with_open_files();
  return run_runner(fd);
}

/// Waits until the other end is closed.
int probe(int fd) {
  const int layers = enter_with_open_files();
  if (!send_hello(fd)) return layers;
  char byte;
  while (recv(fd, &byte, 1, 0) > 0) {
  }
  return layers;
}
constexpr Life kProbe{"whet-probe", probe};

}  // namespace

const Life kStrictRunner{"whet-runner", run_strictly, true};
const Life kBestRunner{"whet-runner", run_at_best, true};

int enter_sandbox() {
  clearenv();
  return enter_layers(FileAccess::none);
}

std::vector<std::string> layer_names(int layers) {
  std::vector<std::string> names;
  for (const int layer : kSandboxLayers)
    if ((layers & layer) != 0) names.emplace_back(layer_name(layer));
  return names;
}

int probe_sandbox(Zygote& zygote) {
  Result<WorkerProcess> worker = zygote.spawn(kProbe);
  if (!worker.ok()) return 0;
  const ProcessEnd end = zygote.end(*worker, false);
  return end.by_signal ? 0 : end.number;
}

}  // namespace whet
