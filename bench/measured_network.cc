#include "measured_network.h"

#include "machine/detect.h"
#include "passes/optimize.h"
#include "task/task.h"
#include "tuner/footprint.h"

namespace whet {

Result<std::unique_ptr<MeasuredNetwork>> MeasuredNetwork::make(const std::string& model, const ImportOptions& import,
                                                               double burst_seconds) {
  WHET_TRY(Zygote zygote, Zygote::start());
  WHET_TRY(Graph graph, import_model(model, import));
  WHET_TRY(FusedGraph fused, optimize(std::move(graph), {}));
  WHET_TRY(Cores cores, choose_cores("", 0));
  Target target = detect_target();
  target.threads = static_cast<int>(cores.cpus.size());
  std::unique_ptr<MeasuredNetwork> network(
      new MeasuredNetwork{std::move(zygote), std::move(fused), std::move(cores), std::move(target), {}, {}, {}});
  WHET_TRY(const std::vector<Task> tasks, extract_tasks(network->fused, network->target));
  MeasureOptions options;
  options.cpu.cores.assign(network->cores.cpus.begin(), network->cores.cpus.end());
  options.policy.cache = CacheMode::network;
  options.network_bytes = laid_out(network_footprint(network->fused, tasks, false), network->target);
  options.burst_seconds = burst_seconds;
  WHET_TRY(network->device, make_device(network->target, {.zygote = &network->zygote}));
  network->builders = std::make_unique<BuilderPool>(network->zygote, 0);
  network->measurer =
      std::make_unique<DeviceMeasurer>(*network->builders, std::vector<Device*>{network->device.get()}, options);
  return network;
}

}  // namespace whet
