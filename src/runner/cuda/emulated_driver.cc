#include "runner/cuda/emulated_driver.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "artifact/emulated_module.h"
#include "base/arithmetic.h"
#include "base/rng.h"
#include "runtime/cuda/errors.h"

// NOLINTBEGIN(performance-no-int-to-ptr): the driver's device pointers are integers
namespace whet {
namespace {

constexpr CUresult kOk = 0, kInvalidValue = 1, kOutOfMemory = 2, kInvalidImage = 200, kInvalidHandle = 400,
                   kNotFound = 500, kLaunchFailed = 719, kNotSupported = 801;
constexpr std::size_t kDriverAlignment = 256;

// The device's properties: as much as any GPU that code is made for.
constexpr int kVersion = 13000, kMajor = 12, kMinor = 0, kBlockMemory = 227 << 10;

struct Module {
  EmulatedCode code;
  std::vector<std::unique_ptr<struct Function>> functions;
};
struct Function {
  const EmulatedCode::Entry* entry;
};
struct Event {
  double at = 0;  ///< of the device's clock [s]
};

/// A launch with its parameters' values.
struct KernelWork {
  const Function* function;
  std::uint32_t blocks, threads;
  std::int64_t block_memory;
  std::vector<void*> parameters;
};
struct CopyWork {
  void* to;
  const void* from;
  std::size_t bytes;
};
struct EventWork {
  Event* event;
};
using Work = std::variant<KernelWork, CopyWork, EventWork>;

struct Node {
  std::size_t number;
  Work work;
  std::vector<std::size_t> after;
};
struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
};
struct Exec {
  std::vector<Work> work;
  std::vector<std::size_t> order;
};

/// A pointer of the API, and the object that it points to.
template <typename Handle, typename Thing>
Handle handle_of(Thing* thing) {
  return reinterpret_cast<Handle>(thing);
}
Module& of(CUmodule m) { return *reinterpret_cast<Module*>(m); }
Function& of(CUfunction f) { return *reinterpret_cast<Function*>(f); }
Event& of(CUevent e) { return *reinterpret_cast<Event*>(e); }
Graph& of(CUgraph g) { return *reinterpret_cast<Graph*>(g); }
Node& of(CUgraphNode n) { return *reinterpret_cast<Node*>(n); }
Exec& of(CUgraphExec e) { return *reinterpret_cast<Exec*>(e); }

std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
std::size_t host_memory() { return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page(); }

/// The device. Its lock is held while a function of the driver runs.
class Device {
 public:
  std::mutex lock;
  EmulatedRun run;
  double clock = 0;  ///< [s]
  std::string failure;
  bool failed = false;  ///< a kernel did: the context is lost

  void* allocate(std::size_t bytes) {
    const std::size_t usable = round_up(std::max<std::size_t>(bytes, 1), kDriverAlignment);
    const std::size_t mapped = round_up(usable, page()) + 2 * page();
    void* memory = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    char* const first = static_cast<char*>(memory) + page();
    if (mprotect(first, mapped - 2 * page(), PROT_READ | PROT_WRITE) != 0) return munmap(memory, mapped), nullptr;
    char* const data = first + (mapped - 2 * page() - usable);
    allocations_[data] = {memory, mapped, usable};
    return data;
  }
  bool release(void* data) {
    const auto found = allocations_.find(data);
    if (found == allocations_.end()) return false;
    munmap(found->second.memory, found->second.mapped);
    allocations_.erase(found);
    return true;
  }
  bool owns(const void* address) const {
    const auto above = allocations_.upper_bound(const_cast<void*>(address));
    if (above == allocations_.begin()) return false;
    const auto& [data, allocation] = *std::prev(above);
    return static_cast<const char*>(address) < static_cast<const char*>(data) + allocation.usable;
  }

  CUresult perform(const Work& work) {
    if (failed) return kLaunchFailed;
    if (const auto* copy = std::get_if<CopyWork>(&work)) return std::memcpy(copy->to, copy->from, copy->bytes), kOk;
    if (const auto* event = std::get_if<EventWork>(&work)) return event->event->at = clock, kOk;
    return launch(std::get<KernelWork>(work));
  }

 private:
  struct Allocation {
    void* memory;
    std::size_t mapped, usable;
  };

  CUresult launch(const KernelWork& work) {
    const EmulatedCode::Entry& entry = *work.function->entry;
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::uint32_t> blocks;
    if (run.blocks == EmulatedRun::Blocks::some) blocks = some_blocks(work.blocks);
    if (run.blocks != EmulatedRun::Blocks::none) {
      const EmulatedGrid grid{entry.function, work.parameters.data(), work.blocks, work.threads, work.block_memory};
      const Status status = run_emulated(grid, {run.order, run.seed, run.workers, blocks});
      if (!status.ok()) {
        failure = status.error().at(entry.name).message;
        failed = true;
        return kLaunchFailed;
      }
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    clock += entry.seconds > 0 ? entry.seconds : taken.count();
    return kOk;
  }

  std::vector<std::uint32_t> some_blocks(std::uint32_t count) const {
    std::vector<std::uint32_t> blocks{0, count - 1};
    Rng rng(run.seed);
    for (int i = 0; i < 6; ++i) blocks.push_back(static_cast<std::uint32_t>(rng.between(0, std::int64_t{count} - 1)));
    std::ranges::sort(blocks);
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    return blocks;
  }

  std::map<void*, Allocation> allocations_;
};

Device& device() {
  static Device* const only = new Device;  // it outlives whoever ends after main
  return *only;
}
using Lock = std::lock_guard<std::mutex>;

std::optional<KernelWork> kernel_work(const CUDA_KERNEL_NODE_PARAMS_v2& p) {
  const bool flat = p.gridDimY == 1 && p.gridDimZ == 1 && p.blockDimY == 1 && p.blockDimZ == 1;
  if (p.func == nullptr || !flat || p.gridDimX == 0 || p.blockDimX == 0 || p.blockDimX % 32 != 0) return std::nullopt;
  KernelWork work{&of(p.func), p.gridDimX, p.blockDimX, p.sharedMemBytes, {}};
  for (std::uint32_t i = 0; i < work.function->entry->parameters; ++i)
    work.parameters.push_back(*static_cast<void**>(p.kernelParams[i]));
  return work;
}
std::optional<CopyWork> copy_work(const CUDA_MEMCPY3D_v2& c) {
  if (c.Height != 1 || c.Depth != 1) return std::nullopt;
  const bool from_host = c.srcMemoryType == CU_MEMORYTYPE_HOST, to_host = c.dstMemoryType == CU_MEMORYTYPE_HOST;
  const char* from = from_host ? static_cast<const char*>(c.srcHost) : reinterpret_cast<const char*>(c.srcDevice);
  char* to = to_host ? static_cast<char*>(c.dstHost) : reinterpret_cast<char*>(c.dstDevice);
  return CopyWork{to + c.dstXInBytes, from + c.srcXInBytes, c.WidthInBytes};
}

CUresult add_node(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, std::size_t count, Work work) {
  auto added = std::make_unique<Node>(Node{of(graph).nodes.size(), std::move(work), {}});
  for (std::size_t i = 0; i < count; ++i) added->after.push_back(of(after[i]).number);
  *node = handle_of<CUgraphNode>(added.get());
  of(graph).nodes.push_back(std::move(added));
  return kOk;
}

/// Numbers of the nodes, each behind those that it waits for; shorter where some wait for each other.
std::vector<std::size_t> order_of(const Graph& graph) {
  std::vector<std::size_t> order;
  std::vector<bool> done(graph.nodes.size(), false);
  for (bool moved = true; moved;) {
    moved = false;
    for (const auto& node : graph.nodes) {
      const bool ready = std::ranges::all_of(node->after, [&](std::size_t before) { return done[before]; });
      if (done[node->number] || !ready) continue;
      done[node->number] = moved = true;
      order.push_back(node->number);
    }
  }
  return order;
}

// ---- The functions, in the order of the table.

CUresult cuInit(unsigned) { return kOk; }
CUresult cuDriverGetVersion(int* version) { return *version = kVersion, kOk; }
CUresult cuDeviceGetCount(int* count) { return *count = 1, kOk; }
CUresult cuDeviceGet(CUdevice* got, int ordinal) { return *got = ordinal, ordinal == 0 ? kOk : kInvalidValue; }
CUresult cuDeviceGetName(char* name, int bytes, CUdevice) {
  std::snprintf(name, static_cast<std::size_t>(bytes), "emulated");
  return kOk;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return *value = kMajor, kOk;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return *value = kMinor, kOk;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return *value = kBlockMemory, kOk;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return *value = 1, kOk;
    default:
      return *value = 0, kOk;
  }
}
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) { return *bytes = host_memory(), kOk; }
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice) { return *uuid = {}, kOk; }
CUresult cuDeviceGetPCIBusId(char* id, int bytes, CUdevice) {
  std::snprintf(id, static_cast<std::size_t>(bytes), "0000:00:00.0");
  return kOk;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  return *context = handle_of<CUcontext>(&device()), kOk;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { return kOk; }
CUresult cuCtxPushCurrent_v2(CUcontext) { return kOk; }
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  if (context != nullptr) *context = handle_of<CUcontext>(&device());
  return kOk;
}
CUresult cuCtxSynchronize() {
  const Lock lock(device().lock);
  return device().failed ? kLaunchFailed : kOk;
}
CUresult cuGetErrorName(CUresult code, const char** name) { return *name = cuda_error_row(code).name, kOk; }

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  const std::uint64_t bytes = emulated_module_bytes(image);
  if (bytes == 0) return kInvalidImage;
  Result<EmulatedCode> code = EmulatedCode::load({static_cast<const char*>(image), bytes});
  if (!code.ok()) {
    const Lock lock(device().lock);
    device().failure = code.error().message;
    return kInvalidImage;
  }
  *module = handle_of<CUmodule>(new Module{std::move(*code), {}});
  return kOk;
}
CUresult cuModuleUnload(CUmodule module) { return delete &of(module), kOk; }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const EmulatedCode::Entry* entry = of(module).code.find(name);
  if (entry == nullptr) return kNotFound;
  auto& functions = of(module).functions;
  functions.push_back(std::make_unique<Function>(Function{entry}));
  return *function = handle_of<CUfunction>(functions.back().get()), kOk;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) { return *value = 0, kOk; }
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return kOk; }
CUresult cuLinkCreate_v2(unsigned, CUjit_option*, void**, CUlinkState*) { return kNotSupported; }
CUresult cuLinkAddData_v2(CUlinkState, CUjitInputType, void*, size_t, const char*, unsigned, CUjit_option*, void**) {
  return kNotSupported;
}
CUresult cuLinkComplete(CUlinkState, void**, size_t*) { return kNotSupported; }
CUresult cuLinkDestroy(CUlinkState) { return kNotSupported; }
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int, size_t) { return *blocks = 1, kOk; }

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  const Lock lock(device().lock);
  void* const memory = bytes <= host_memory() ? device().allocate(bytes) : nullptr;
  *pointer = reinterpret_cast<CUdeviceptr>(memory);
  return memory != nullptr ? kOk : kOutOfMemory;
}
CUresult cuMemFree_v2(CUdeviceptr pointer) {
  const Lock lock(device().lock);
  return device().release(reinterpret_cast<void*>(pointer)) ? kOk : kInvalidValue;
}
CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) {
  *pointer = std::aligned_alloc(kDriverAlignment, round_up(std::max<std::size_t>(bytes, 1), kDriverAlignment));
  return *pointer != nullptr ? kOk : kOutOfMemory;
}
CUresult cuMemFreeHost(void* pointer) { return std::free(pointer), kOk; }
CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  *total = host_memory();
  *free = static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * page();
  return kOk;
}
CUresult copy(void* to, const void* from, std::size_t bytes) {
  const Lock lock(device().lock);
  return device().perform(CopyWork{to, from, bytes});
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream) {
  return copy(reinterpret_cast<void*>(to), from, bytes);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream) {
  return copy(to, reinterpret_cast<const void*>(from), bytes);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
  return copy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream) {
  std::fill_n(reinterpret_cast<unsigned*>(to), count, value);
  return kOk;
}
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  const Lock lock(device().lock);
  if (!device().owns(reinterpret_cast<const void*>(pointer))) return kInvalidValue;
  if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) return *static_cast<unsigned*>(value) = CU_MEMORYTYPE_DEVICE, kOk;
  if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) return *static_cast<int*>(value) = 0, kOk;
  return *static_cast<CUcontext*>(value) = handle_of<CUcontext>(&device()), kOk;
}

CUresult cuStreamCreate(CUstream* stream, unsigned) { return *stream = handle_of<CUstream>(&device()), kOk; }
CUresult cuStreamDestroy_v2(CUstream) { return kOk; }
CUresult cuStreamSynchronize(CUstream) { return cuCtxSynchronize(); }
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) { return kOk; }
CUresult cuEventCreate(CUevent* event, unsigned) { return *event = handle_of<CUevent>(new Event), kOk; }
CUresult cuEventDestroy_v2(CUevent event) { return delete &of(event), kOk; }
CUresult cuEventRecord(CUevent event, CUstream) {
  const Lock lock(device().lock);
  return device().perform(EventWork{&of(event)});
}
CUresult cuEventQuery(CUevent) { return cuCtxSynchronize(); }
CUresult cuEventSynchronize(CUevent) { return cuCtxSynchronize(); }
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  return *milliseconds = static_cast<float>((of(end).at - of(begin).at) * 1e3), kOk;
}
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned block_memory, CUstream, void** parameters,
                        void**) {
  const Lock lock(device().lock);
  CUDA_KERNEL_NODE_PARAMS_v2 p{};
  p.func = function;
  p.gridDimX = grid_x, p.gridDimY = grid_y, p.gridDimZ = grid_z;
  p.blockDimX = block_x, p.blockDimY = block_y, p.blockDimZ = block_z;
  p.sharedMemBytes = block_memory;
  p.kernelParams = parameters;
  const auto work = kernel_work(p);
  return work ? device().perform(*work) : kInvalidValue;
}

CUresult cuGraphCreate(CUgraph* graph, unsigned) { return *graph = handle_of<CUgraph>(new Graph), kOk; }
CUresult cuGraphDestroy(CUgraph graph) { return delete &of(graph), kOk; }
CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  auto work = kernel_work(*parameters);
  return work ? add_node(node, graph, after, count, std::move(*work)) : kInvalidValue;
}
CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                              const CUDA_MEMCPY3D_v2* copied, CUcontext) {
  const auto work = copy_work(*copied);
  return work ? add_node(node, graph, after, count, *work) : kInvalidValue;
}
CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                   CUevent event) {
  return add_node(node, graph, after, count, EventWork{&of(event)});
}
CUresult cuGraphAddDependencies(CUgraph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  for (std::size_t i = 0; i < count; ++i) of(to[i]).after.push_back(of(from[i]).number);
  return kOk;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  Exec made{{}, order_of(of(graph))};
  if (made.order.size() != of(graph).nodes.size()) return kInvalidValue;
  for (const auto& node : of(graph).nodes) made.work.push_back(node->work);
  *exec = handle_of<CUgraphExec>(new Exec(std::move(made)));
  return kOk;
}
CUresult cuGraphUpload(CUgraphExec, CUstream) { return kOk; }
CUresult cuGraphLaunch(CUgraphExec exec, CUstream) {
  const Lock lock(device().lock);
  for (const std::size_t number : of(exec).order)
    if (const CUresult code = device().perform(of(exec).work[number]); code != kOk) return code;
  return kOk;
}
CUresult cuGraphExecDestroy(CUgraphExec exec) { return delete &of(exec), kOk; }
CUresult set_work(CUgraphExec exec, CUgraphNode node, Work work) {
  const Lock lock(device().lock);
  Work& kept = of(exec).work[of(node).number];
  if (kept.index() != work.index()) return kInvalidHandle;
  kept = std::move(work);
  return kOk;
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  auto work = kernel_work(*parameters);
  return work ? set_work(exec, node, std::move(*work)) : kInvalidValue;
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D_v2* copied, CUcontext) {
  const auto work = copy_work(*copied);
  return work ? set_work(exec, node, *work) : kInvalidValue;
}

CudaDriver make_driver() {
  CudaDriver driver;
  driver.version = kVersion;
  driver.emulated = true;
#define WHET_TAKE(name, suffix, version, parameters) driver.call.name##suffix = name##suffix;
#define WHET_LEAVE_OUT(name, suffix, version, parameters) driver.call.name##suffix = nullptr;
  WHET_CUDA_FUNCTIONS(WHET_TAKE, WHET_LEAVE_OUT)
#undef WHET_TAKE
#undef WHET_LEAVE_OUT
  return driver;
}

}  // namespace

const CudaDriver& emulated_cuda_driver() {
  static const CudaDriver* const driver = new CudaDriver(make_driver());
  return *driver;
}

void set_emulated_run(const EmulatedRun& run) {
  const Lock lock(device().lock);
  device().run = run;
}

double emulated_seconds() {
  const Lock lock(device().lock);
  return device().clock;
}

std::string emulated_failure() {
  const Lock lock(device().lock);
  return device().failure;
}

}  // namespace whet
// NOLINTEND(performance-no-int-to-ptr)
