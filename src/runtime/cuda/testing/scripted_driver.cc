#include "runtime/cuda/testing/scripted_driver.h"

#include "base/check.h"
#include "runtime/cuda/testing/scripted_state.h"

// The driver's functions, which the files beside this one have.
using namespace whet;  // NOLINT: they are global
extern "C" {
#define DECLARE(name, suffix, version, parameters) CUresult name##suffix parameters;
WHET_CUDA_FUNCTIONS(DECLARE, DECLARE)
#undef DECLARE
}

namespace whet::testing {

using namespace scripted;  // NOLINT: what the driver holds

ScriptedDriver::ScriptedDriver(DriverScript script) {
  WHET_CHECK(state == nullptr, "one scripted driver at a time");
  state = new State(std::move(script));
  state->rule_calls.assign(state->script.rules.size(), 0);
  CudaFunctions& call = state->driver.call;
#define FILL(name, suffix, version, parameters) call.name##suffix = ::name##suffix;
#define LEAVE(name, suffix, version, parameters)
  WHET_CUDA_FUNCTIONS(FILL, LEAVE)
#undef FILL
#undef LEAVE
  if (state->script.optional_functions) {
    call.cuLaunchKernelEx = ::cuLaunchKernelEx;
    call.cuGraphAddDependencies_v2 = ::cuGraphAddDependencies_v2;
  }
  state->driver.version = state->script.version;
}

ScriptedDriver::~ScriptedDriver() {
  for (const auto& [pointer, memory] : state->device_memory) unmap(memory);
  for (const auto& [pointer, memory] : state->host_memory) unmap(memory);
  delete state;
  state = nullptr;
}

const CudaDriver& ScriptedDriver::driver() const { return state->driver; }

void ScriptedDriver::add_kernel(const std::string& name, int parameters, HostKernel kernel) {
  const std::lock_guard<std::mutex> guard(state->lock);
  state->kernels[name] = {parameters, std::move(kernel)};
}

void ScriptedDriver::add_rule(ScriptRule rule) {
  const std::lock_guard<std::mutex> guard(state->lock);
  state->script.rules.push_back(std::move(rule));
  state->rule_calls.push_back(0);
}

void ScriptedDriver::clear_rules() {
  const std::lock_guard<std::mutex> guard(state->lock);
  state->script.rules.clear();
  state->rule_calls.clear();
}

void ScriptedDriver::forgive() {
  const std::lock_guard<std::mutex> guard(state->lock);
  for (Context& context : state->contexts) context.lost = 0;
  for (const auto& [handle, stream] : state->streams) stream->hangs = false;
}

int ScriptedDriver::calls(const std::string& function) const {
  const std::lock_guard<std::mutex> guard(state->lock);
  const auto found = state->calls.find(function);
  return found == state->calls.end() ? 0 : found->second;
}

std::string ScriptedDriver::alive() const {
  const std::lock_guard<std::mutex> guard(state->lock);
  std::string text;
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  add(state->device_memory.size(), "allocations");
  add(state->host_memory.size(), "host allocations");
  add(state->modules.size(), "modules");
  add(state->streams.size(), "streams");
  add(state->events.size(), "events");
  add(state->graphs.size(), "graphs");
  add(state->execs.size(), "executable graphs");
  std::size_t retained = 0;
  for (const Context& context : state->contexts) retained += static_cast<std::size_t>(context.retained);
  add(retained, "contexts");
  add(current.size(), "current contexts");
  add(static_cast<std::size_t>(state->frees_of_used), "frees while work was on its way");
  return text;
}

std::vector<int> ScriptedDriver::percents_of_memory() const {
  const std::lock_guard<std::mutex> guard(state->lock);
  std::vector<int> percents;
  for (const auto& function : state->functions) percents.push_back(function->percent_of_memory);
  return percents;
}

std::string ScriptedDriver::last_graph() const {
  const std::lock_guard<std::mutex> guard(state->lock);
  return state->last_graph;
}

CUdeviceptr ScriptedDriver::allocate(std::size_t bytes, int device) {
  CUdeviceptr pointer = 0;
  return allocate_on(device, bytes, &pointer) == kSuccess ? pointer : 0;
}

void ScriptedDriver::release(CUdeviceptr pointer) {
  const std::lock_guard<std::mutex> guard(state->lock);
  const auto found = state->device_memory.find(pointer);
  if (found == state->device_memory.end()) return;
  unmap(found->second);
  state->device_memory.erase(found);
}

void* ScriptedDriver::host_view(CUdeviceptr pointer) const { return device_range(pointer, 0); }

std::size_t ScriptedDriver::memory_in_use() const {
  const std::lock_guard<std::mutex> guard(state->lock);
  std::size_t bytes = 0;
  for (const auto& [pointer, memory] : state->device_memory) bytes += memory.bytes;
  return bytes;
}

std::string scripted_ptx(const std::vector<std::string>& entries, int arch, const std::string& version) {
  std::string text = ".version " + version + "\n.target sm_" + std::to_string(arch) + "\n";
  for (const std::string& entry : entries) text += ".visible .entry " + entry + "\n";
  return text;
}

std::string scripted_cubin(const std::vector<std::string>& entries, int arch) {
  std::string text = "cubin sm_" + std::to_string(arch) + "\n";
  for (const std::string& entry : entries) text += "entry " + entry + "\n";
  return text;
}

}  // namespace whet::testing
