#include "runtime/cuda/testing/scripted_driver.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "base/check.h"
#include "runtime/cuda/errors.h"

// The driver's objects, which driver.h leaves incomplete.
struct CUctx_st {
  int device;
};
struct CUmod_st {
  CUctx_st* context;
  std::string image;
};
struct CUfunc_st {
  CUmod_st* module;
  std::string name;
  int parameters;
  whet::testing::HostKernel kernel;
  int dynamic_memory = 48 << 10;
};
struct CUstream_st {
  CUctx_st* context;
  std::thread::id maker;
  std::deque<std::function<void()>> queue;
  std::chrono::steady_clock::time_point busy_until;
  bool hangs = false;
  whet::CUresult hang_code = 0;
  int hang_milliseconds = 0;
  whet::CUresult failed = 0;  ///< of a kernel; the next call that waits tells
};
struct CUevent_st {
  CUstream_st* stream = nullptr;
  std::chrono::steady_clock::time_point when;
  bool recorded = false, done = false, never = false;
};
struct CUgraphNode_st {
  enum class Kind { kernel, copy, event } kind;
  std::vector<CUgraphNode_st*> after;
  std::set<CUgraphNode_st*> early;  ///< those of `after` that need not have ended
  CUfunc_st* function = nullptr;
  whet::testing::HostLaunch launch{};
  whet::CUDA_MEMCPY3D_v2 copy{};
  CUevent_st* event = nullptr;
};
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};
struct CUgraphExec_st {
  CUctx_st* context;
  std::vector<CUgraphNode_st> nodes;                ///< copies, in the order of the graph's
  std::map<whet::CUgraphNode, std::size_t> number;  ///< of a graph's node
  std::vector<std::vector<std::size_t>> after;
  bool uploaded = false;
};

namespace whet::testing {
namespace {

using Clock = std::chrono::steady_clock;

// No address of the host has this bit, so that what confuses the two sides is a fault at once.
constexpr CUdeviceptr kDeviceBit = CUdeviceptr{1} << 62;

enum Code : CUresult {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinary = 209,
  kUnsupportedPtx = 222,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kOutOfResources = 701,
};

/// Memory between two pages that nobody may touch.
struct Guarded {
  char* data = nullptr;
  std::size_t bytes = 0;
  char* mapping = nullptr;
  std::size_t mapped = 0;
  int device = 0;
};

Guarded map_guarded(std::size_t bytes) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t room = (bytes + 255) / 256 * 256;
  const std::size_t inner = (room + page - 1) / page * page;
  Guarded memory;
  void* mapping = mmap(nullptr, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return memory;
  memory.mapping = static_cast<char*>(mapping);
  memory.mapped = inner + 2 * page;
  if (mprotect(memory.mapping + page, inner, PROT_READ | PROT_WRITE) != 0) return memory;
  memory.data = memory.mapping + page + inner - room;
  memory.bytes = bytes;
  std::memset(memory.data, 0xa5, room);  // memory of a device holds anything
  return memory;
}

struct Context {
  CUctx_st handle{};
  int retained = 0;
  CUresult lost = 0;
};

struct State {
  explicit State(DriverScript s) : script(std::move(s)), random(script.seed) {
    contexts.resize(script.devices.size());
    for (std::size_t i = 0; i < contexts.size(); ++i) contexts[i].handle.device = static_cast<int>(i);
  }

  std::mutex lock;
  DriverScript script;
  std::mt19937_64 random;
  CudaDriver driver{};
  bool initialised = false;
  std::vector<Context> contexts;
  std::map<std::string, std::pair<int, HostKernel>> kernels;
  std::map<std::string, int> calls;
  std::vector<int> rule_calls;
  std::map<CUdeviceptr, Guarded> device_memory;
  std::map<const void*, Guarded> host_memory;
  std::set<std::unique_ptr<CUmod_st>> modules;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
  std::map<CUstream, std::unique_ptr<CUstream_st>> streams;
  std::map<CUevent, std::unique_ptr<CUevent_st>> events;
  std::map<CUgraph, std::unique_ptr<CUgraph_st>> graphs;
  std::map<CUgraphExec, std::unique_ptr<CUgraphExec_st>> execs;
  std::string last_graph;
  int frees_of_used = 0;  ///< memory that was freed while work was on its way
};

State* state = nullptr;
thread_local std::vector<CUcontext> current;

struct Verdict {
  CUresult code = kSuccess;
  int late_milliseconds = 0;
  bool hangs = false;
  CUresult hang_code = 0;
};

/// Counts the call and asks the script.
Verdict ask(const char* function) {
  Verdict verdict;
  const std::lock_guard<std::mutex> guard(state->lock);
  ++state->calls[function];
  for (std::size_t i = 0; i < state->script.rules.size(); ++i) {
    const ScriptRule& rule = state->script.rules[i];
    if (rule.function != function) continue;
    if (++state->rule_calls[i] != rule.nth && rule.nth != 0) continue;
    switch (rule.what) {
      case ScriptRule::What::code:
        verdict.code = rule.code;
        break;
      case ScriptRule::What::late:
        verdict.late_milliseconds = rule.milliseconds;
        break;
      case ScriptRule::What::hangs:
        verdict.hangs = true;
        verdict.hang_code = rule.code;
        verdict.late_milliseconds = rule.milliseconds;
        break;
    }
  }
  return verdict;
}

CUcontext current_context() { return current.empty() ? nullptr : current.back(); }

/// The code that the call gives before it does anything. A lost context answers all that needs one.
CUresult enter(const char* function, bool needs_context, Verdict* verdict = nullptr) {
  const Verdict asked = ask(function);
  if (verdict != nullptr) {
    *verdict = asked;
  } else if (asked.late_milliseconds > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(asked.late_milliseconds));
  }
  const std::lock_guard<std::mutex> guard(state->lock);
  Context* context = nullptr;
  if (CUcontext handle = current_context()) context = &state->contexts[static_cast<std::size_t>(handle->device)];
  if (needs_context && context == nullptr) return asked.code != 0 ? asked.code : kInvalidContext;
  if (needs_context && context->lost != 0) return context->lost;
  if (asked.code != 0 && context != nullptr && fate_of(asked.code).sticky) context->lost = asked.code;
  return asked.code;
}

void lose(CUcontext context, CUresult code) {
  if (!fate_of(code).sticky) return;
  const std::lock_guard<std::mutex> guard(state->lock);
  state->contexts[static_cast<std::size_t>(context->device)].lost = code;
}

/// The memory of [pointer, pointer + bytes) on the host; null where it is in no allocation.
char* device_range(CUdeviceptr pointer, std::size_t bytes) {
  const std::lock_guard<std::mutex> guard(state->lock);
  auto after = state->device_memory.upper_bound(pointer);
  if (after == state->device_memory.begin()) return nullptr;
  const auto& [begin, memory] = *std::prev(after);
  const std::size_t at = pointer - begin;
  if (at > memory.bytes || bytes > memory.bytes - at) return nullptr;
  return memory.data + at;
}

// ---- Work.

CUresult run_copy(const CUDA_MEMCPY3D_v2& copy) {
  const std::size_t bytes = copy.WidthInBytes;
  if (copy.Height != 1 || copy.Depth != 1) return kInvalidValue;
  const auto side = [&](CUmemorytype type, CUdeviceptr device, const void* host) {
    return type == CU_MEMORYTYPE_DEVICE ? device_range(device, bytes) : static_cast<char*>(const_cast<void*>(host));
  };
  const char* from = side(copy.srcMemoryType, copy.srcDevice, copy.srcHost);
  char* to = side(copy.dstMemoryType, copy.dstDevice, copy.dstHost);
  if (from == nullptr || to == nullptr) return kInvalidValue;
  std::memcpy(to, from, bytes);
  return kSuccess;
}

CUresult run_kernel(const CUfunc_st& function, const HostLaunch& given) {
  HostLaunch launch = given;
  for (void*& parameter : launch.parameters) {
    if (parameter == nullptr) continue;
    parameter = device_range(reinterpret_cast<CUdeviceptr>(parameter), 0);
    if (parameter == nullptr) return kIllegalAddress;
  }
  return function.kernel(launch);
}

CUresult check_launch(const CUfunc_st& function, const HostLaunch& launch) {
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  if (threads == 0 || launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0) return kInvalidValue;
  if (threads > 1024) return kInvalidValue;
  return launch.block_memory > static_cast<std::uint32_t>(function.dynamic_memory) ? kInvalidValue : kSuccess;
}

HostLaunch make_launch(const CUfunc_st& function, const CUDA_KERNEL_NODE_PARAMS_v2& p) {
  HostLaunch launch{
      {p.gridDimX, p.gridDimY, p.gridDimZ}, {p.blockDimX, p.blockDimY, p.blockDimZ}, p.sharedMemBytes, {}};
  for (int i = 0; i < function.parameters; ++i) {
    void* value;
    std::memcpy(&value, p.kernelParams[i], sizeof value);
    launch.parameters.push_back(value);
  }
  return launch;
}

/// Does the work of a stream that is on its way, in order.
void drain(CUstream stream) {
  for (;;) {
    std::function<void()> work;
    {
      const std::lock_guard<std::mutex> guard(state->lock);
      if (stream->queue.empty()) return;
      work = std::move(stream->queue.front());
      stream->queue.pop_front();
    }
    work();
  }
}

void put(CUstream stream, std::function<void()> work) {
  {
    const std::lock_guard<std::mutex> guard(state->lock);
    stream->queue.push_back(std::move(work));
  }
  if (state->script.at_once) drain(stream);
}

/// Puts work on a stream; it ends as the script says. The errors of the device come with the next call that waits.
CUresult submit(CUstream stream, const Verdict& verdict, std::function<CUresult()> work) {
  put(stream, [stream, verdict, work = std::move(work)] {
    const CUresult result = stream->failed == kSuccess ? work() : CUresult{kSuccess};
    const std::lock_guard<std::mutex> guard(state->lock);
    if (verdict.hangs) {
      stream->hangs = true;
      stream->hang_code = verdict.hang_code;
      stream->hang_milliseconds = verdict.late_milliseconds;
    } else if (verdict.late_milliseconds > 0) {
      stream->busy_until =
          std::max(stream->busy_until, Clock::now()) + std::chrono::milliseconds(verdict.late_milliseconds);
    }
    if (result != kSuccess && stream->failed == kSuccess) stream->failed = result;
  });
  return kSuccess;
}

/// A copy from or to memory of the host is done before the call returns, unless the memory is pinned.
CUresult submit_copy(CUstream stream, char* to, const char* from, size_t bytes, const void* host) {
  bool pinned = host == nullptr;
  {
    const std::lock_guard<std::mutex> guard(state->lock);
    auto after = state->host_memory.upper_bound(host);
    if (!pinned && after != state->host_memory.begin()) {
      const Guarded& memory = std::prev(after)->second;
      pinned = static_cast<const char*>(host) < memory.data + memory.bytes;
    }
  }
  submit(stream, {}, [=] { return std::memmove(to, from, bytes), kSuccess; });
  if (!pinned) drain(stream);
  return kSuccess;
}

/// Memory is freed while work is on its way, of the thread that frees it: a mistake, after which drivers wait.
void before_free() {
  std::vector<CUstream> used;
  {
    const std::lock_guard<std::mutex> guard(state->lock);
    for (const auto& [stream, owner] : state->streams) {
      if (stream->maker == std::this_thread::get_id() && !stream->queue.empty()) used.push_back(stream);
    }
    state->frees_of_used += !used.empty();
  }
  for (CUstream stream : used) drain(stream);
}

/// Nodes in an order that the edges allow, which one by chance.
std::vector<std::size_t> some_order(const std::vector<std::vector<std::size_t>>& after) {
  std::vector<std::size_t> order, ready, waits(after.size());
  std::vector<std::vector<std::size_t>> before(after.size());
  for (std::size_t n = 0; n < after.size(); ++n) {
    waits[n] = after[n].size();
    for (std::size_t m : after[n]) before[m].push_back(n);
    if (waits[n] == 0) ready.push_back(n);
  }
  while (!ready.empty()) {
    std::size_t pick;
    {
      const std::lock_guard<std::mutex> guard(state->lock);
      pick = state->random() % ready.size();
    }
    const std::size_t node = ready[pick];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(pick));
    order.push_back(node);
    for (std::size_t next : before[node]) {
      if (--waits[next] == 0) ready.push_back(next);
    }
  }
  return order;
}

CUresult wait_for(CUstream stream) {
  drain(stream);
  Clock::time_point until;
  bool hangs;
  int milliseconds;
  {
    const std::lock_guard<std::mutex> guard(state->lock);
    until = stream->busy_until;
    hangs = stream->hangs;
    milliseconds = stream->hang_milliseconds;
  }
  if (hangs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    lose(stream->context, stream->hang_code);
    return stream->hang_code;
  }
  std::this_thread::sleep_until(until);
  CUresult failed;
  {
    const std::lock_guard<std::mutex> guard(state->lock);
    failed = std::exchange(stream->failed, kSuccess);
  }
  lose(stream->context, failed);
  return failed;
}

/// An event will be reached; what was recorded before is forgotten.
void record(CUevent event, CUstream stream) {
  const std::lock_guard<std::mutex> guard(state->lock);
  event->stream = stream;
  event->recorded = true;
  event->done = false;
}
void reach(CUevent event, CUstream stream) {
  const std::lock_guard<std::mutex> guard(state->lock);
  event->when = std::max(stream->busy_until, Clock::now());
  event->never = stream->hangs;
  event->done = true;
}

CUresult run_graph(const std::vector<CUgraphNode_st>& nodes, const std::vector<std::vector<std::size_t>>& after,
                   CUstream stream) {
  for (std::size_t n : some_order(after)) {
    const CUgraphNode_st& node = nodes[n];
    CUresult code = kSuccess;
    switch (node.kind) {
      case CUgraphNode_st::Kind::kernel:
        code = run_kernel(*node.function, node.launch);
        break;
      case CUgraphNode_st::Kind::copy:
        code = run_copy(node.copy);
        break;
      case CUgraphNode_st::Kind::event:
        reach(node.event, stream);
        break;
    }
    if (code != kSuccess) return code;
  }
  return kSuccess;
}

bool is_stream(CUstream stream) {
  const std::lock_guard<std::mutex> guard(state->lock);
  return state->streams.count(stream) != 0;
}

/// The device, or null for a number that is none.
const ScriptedDevice* device_of(CUdevice device) {
  if (device < 0 || static_cast<std::size_t>(device) >= state->script.devices.size()) return nullptr;
  return &state->script.devices[static_cast<std::size_t>(device)];
}

std::size_t in_use(int device) {
  std::size_t bytes = 0;
  for (const auto& [pointer, memory] : state->device_memory) bytes += memory.device == device ? memory.bytes : 0;
  return bytes;
}

CUresult allocate_on(int device, size_t bytes, CUdeviceptr* pointer) {
  const std::lock_guard<std::mutex> guard(state->lock);
  if (bytes == 0) return kInvalidValue;
  if (in_use(device) + bytes > state->script.devices[static_cast<std::size_t>(device)].memory) return kOutOfMemory;
  Guarded memory = map_guarded(bytes);
  if (memory.data == nullptr) return kOutOfMemory;
  memory.device = device;
  *pointer = reinterpret_cast<CUdeviceptr>(memory.data) | kDeviceBit;
  state->device_memory[*pointer] = memory;
  return kSuccess;
}

std::string word_after(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return "";
  const std::size_t begin = text.find_first_not_of(' ', at + word.size());
  return text.substr(begin, text.find_first_of(" \n;(", begin) - begin);
}

/// "7.8" as 78.
int ptx_number(const std::string& version) {
  const std::size_t dot = version.find('.');
  if (dot == std::string::npos) return 0;
  return std::atoi(version.c_str()) * 10 + std::atoi(version.c_str() + dot + 1);
}

CUresult check_image(const std::string& image, const ScriptedDevice& device, std::string* log) {
  const int arch = std::atoi(word_after(image, "sm_").c_str());
  if (image.rfind("cubin", 0) == 0) {
    return arch / 10 == device.arch / 10 && arch <= device.arch ? kSuccess : kNoBinary;
  }
  const std::string version = word_after(image, ".version");
  if (version.empty()) return kInvalidImage;
  // CUDA 11.8 reads PTX 7.8, 12.4 reads 8.4.
  if (ptx_number(version) > (state->script.version / 1000 - 4) * 10 + state->script.version % 1000 / 10) {
    *log = "ptxas application ptx input, line 1; fatal   : Unsupported .version " + version;
    return kUnsupportedPtx;
  }
  if (arch > device.arch) {
    *log = "ptxas fatal   : SM version specified by .target is higher than default SM version assumed";
    return kNoBinary;
  }
  return kSuccess;
}

void describe_graph(const CUgraph_st& graph) {
  std::map<const CUgraphNode_st*, std::size_t> number;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) number[graph.nodes[i].get()] = i;
  std::string text;
  for (const auto& node : graph.nodes) {
    text += std::to_string(number[node.get()]);
    switch (node->kind) {
      case CUgraphNode_st::Kind::kernel:
        text += " kernel " + node->function->name;
        break;
      case CUgraphNode_st::Kind::copy:
        text += node->copy.srcMemoryType == CU_MEMORYTYPE_HOST   ? " upload"
                : node->copy.dstMemoryType == CU_MEMORYTYPE_HOST ? " download"
                                                                 : " copy";
        break;
      case CUgraphNode_st::Kind::event:
        text += " event";
        break;
    }
    std::map<std::size_t, bool> after;
    for (CUgraphNode_st* before : node->after) after[number[before]] = node->early.count(before) != 0;
    if (!after.empty()) text += " after";
    for (const auto& [n, early] : after) text += " " + std::to_string(n) + (early ? " (early)" : "");
    text += "\n";
  }
  state->last_graph = text;
}

CUresult add_node(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                  std::unique_ptr<CUgraphNode_st> node) {
  const std::lock_guard<std::mutex> guard(state->lock);
  if (state->graphs.count(graph) == 0) return kInvalidHandle;
  node->after.assign(after, after + count);
  *out = node.get();
  graph->nodes.push_back(std::move(node));
  return kSuccess;
}

}  // namespace
}  // namespace whet::testing

using namespace whet;           // NOLINT: the driver's functions are global
using namespace whet::testing;  // NOLINT

#define ENTER(function)                                                        \
  do {                                                                         \
    if (const CUresult code = enter(#function, false); code != 0) return code; \
  } while (false)
#define ENTER_IN_CONTEXT(function)                                            \
  do {                                                                        \
    if (const CUresult code = enter(#function, true); code != 0) return code; \
  } while (false)

extern "C" {

// ---- Devices.

CUresult cuInit(unsigned flags) {
  ENTER(cuInit);
  if (flags != 0) return kInvalidValue;
  if (state->script.devices.empty()) return kNoDevice;
  state->initialised = true;
  return kSuccess;
}

CUresult cuDriverGetVersion(int* version) {
  ENTER(cuDriverGetVersion);
  *version = state->script.version;
  return kSuccess;
}

CUresult cuDeviceGetCount(int* count) {
  ENTER(cuDeviceGetCount);
  if (!state->initialised) return kNotInitialized;
  *count = static_cast<int>(state->script.devices.size());
  return kSuccess;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  ENTER(cuDeviceGet);
  if (!state->initialised) return kNotInitialized;
  if (device_of(ordinal) == nullptr) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  ENTER(cuDeviceGetName);
  const ScriptedDevice* d = device_of(device);
  if (d == nullptr) return kInvalidDevice;
  snprintf(name, static_cast<std::size_t>(bytes), "%s", d->name.c_str());
  return kSuccess;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  ENTER(cuDeviceGetAttribute);
  const ScriptedDevice* d = device_of(device);
  if (d == nullptr) return kInvalidDevice;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return *value = d->sms, kSuccess;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return *value = d->arch / 10, kSuccess;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return *value = d->arch % 10, kSuccess;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return *value = 1980000, kSuccess;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return *value = 2619000, kSuccess;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return *value = 5120, kSuccess;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return *value = 50 << 20, kSuccess;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return *value = 227 << 10, kSuccess;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return *value = 228 << 10, kSuccess;
    case CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT:
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
      return *value = 0, kSuccess;
  }
  return kInvalidValue;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  ENTER(cuDeviceTotalMem_v2);
  const ScriptedDevice* d = device_of(device);
  if (d == nullptr) return kInvalidDevice;
  *bytes = d->memory;
  return kSuccess;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  ENTER(cuDeviceGetUuid_v2);
  if (device_of(device) == nullptr) return kInvalidDevice;
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<char>(16 * device + i);
  return kSuccess;
}

CUresult cuDeviceGetPCIBusId(char* id, int bytes, CUdevice device) {
  ENTER(cuDeviceGetPCIBusId);
  if (device_of(device) == nullptr) return kInvalidDevice;
  snprintf(id, static_cast<std::size_t>(bytes), "0000:%02x:00.0", device + 1);
  return kSuccess;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  ENTER(cuDevicePrimaryCtxRetain);
  if (device_of(device) == nullptr) return kInvalidDevice;
  const std::lock_guard<std::mutex> guard(state->lock);
  Context& primary = state->contexts[static_cast<std::size_t>(device)];
  ++primary.retained;
  *context = &primary.handle;
  return kSuccess;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  ENTER(cuDevicePrimaryCtxRelease_v2);
  if (device_of(device) == nullptr) return kInvalidDevice;
  const std::lock_guard<std::mutex> guard(state->lock);
  Context& primary = state->contexts[static_cast<std::size_t>(device)];
  if (primary.retained == 0) return kInvalidContext;
  --primary.retained;
  return kSuccess;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  ENTER(cuCtxPushCurrent_v2);
  current.push_back(context);
  return kSuccess;
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  ENTER(cuCtxPopCurrent_v2);
  if (current.empty()) return kInvalidContext;
  if (context != nullptr) *context = current.back();
  current.pop_back();
  return kSuccess;
}

CUresult cuCtxSynchronize() {
  ENTER_IN_CONTEXT(cuCtxSynchronize);
  std::vector<CUstream> streams;
  {
    const std::lock_guard<std::mutex> guard(state->lock);
    for (const auto& [stream, owner] : state->streams) streams.push_back(stream);
  }
  for (CUstream stream : streams) {
    if (const CUresult code = wait_for(stream); code != 0) return code;
  }
  return kSuccess;
}

CUresult cuGetErrorName(CUresult code, const char** name) {
  ENTER(cuGetErrorName);
  *name = cuda_error_row(code).name;
  return kSuccess;
}

// ---- Code.

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
  char* log = nullptr;
  std::size_t log_bytes = 0;
  bool split = false;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) log = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) log_bytes = reinterpret_cast<std::size_t>(values[i]);
    if (options[i] == CU_JIT_SPLIT_COMPILE) split = true;
  }
  ENTER_IN_CONTEXT(cuModuleLoadDataEx);
  if (split && !state->script.split_compile) return kInvalidValue;
  auto loaded = std::make_unique<CUmod_st>();
  loaded->context = current_context();
  loaded->image = static_cast<const char*>(image);
  std::string why;
  const CUresult code =
      check_image(loaded->image, state->script.devices[static_cast<std::size_t>(loaded->context->device)], &why);
  if (log != nullptr) snprintf(log, log_bytes, "%s", why.c_str());
  if (code != kSuccess) return code;
  *module = loaded.get();
  const std::lock_guard<std::mutex> guard(state->lock);
  state->modules.insert(std::move(loaded));
  return kSuccess;
}

CUresult cuModuleUnload(CUmodule module) {
  ENTER_IN_CONTEXT(cuModuleUnload);
  const std::lock_guard<std::mutex> guard(state->lock);
  const auto owner = std::find_if(state->modules.begin(), state->modules.end(),
                                  [&](const std::unique_ptr<CUmod_st>& m) { return m.get() == module; });
  if (owner == state->modules.end()) return kInvalidHandle;
  state->modules.erase(owner);
  return kSuccess;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  ENTER_IN_CONTEXT(cuModuleGetFunction);
  const std::lock_guard<std::mutex> guard(state->lock);
  const auto kernel = state->kernels.find(name);
  if (kernel == state->kernels.end()) return kNotFound;
  if (module->image.find("entry " + std::string(name) + "\n") == std::string::npos) return kNotFound;
  state->functions.push_back(
      std::make_unique<CUfunc_st>(CUfunc_st{module, name, kernel->second.first, kernel->second.second}));
  *function = state->functions.back().get();
  return kSuccess;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  ENTER_IN_CONTEXT(cuFuncGetAttribute);
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK           ? 1024
           : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS                      ? 32
           : attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? function->dynamic_memory
                                                                          : 0;
  return kSuccess;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  ENTER_IN_CONTEXT(cuFuncSetAttribute);
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || value > 227 << 10)
    return kInvalidValue;
  function->dynamic_memory = value;
  return kSuccess;
}

CUresult cuLinkCreate_v2(unsigned, CUjit_option*, void**, CUlinkState*) {
  ENTER_IN_CONTEXT(cuLinkCreate_v2);
  return 221;
}
CUresult cuLinkAddData_v2(CUlinkState, CUjitInputType, void*, size_t, const char*, unsigned, CUjit_option*, void**) {
  ENTER_IN_CONTEXT(cuLinkAddData_v2);
  return kInvalidHandle;
}
CUresult cuLinkComplete(CUlinkState, void**, size_t*) {
  ENTER_IN_CONTEXT(cuLinkComplete);
  return kInvalidHandle;
}
CUresult cuLinkDestroy(CUlinkState) {
  ENTER_IN_CONTEXT(cuLinkDestroy);
  return kInvalidHandle;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int threads, size_t block_memory) {
  ENTER_IN_CONTEXT(cuOccupancyMaxActiveBlocksPerMultiprocessor);
  if (threads <= 0 || threads > 1024) return kInvalidValue;
  *blocks = std::min({32, 2048 / threads, static_cast<int>((228u << 10) / (block_memory + 1024))});
  return kSuccess;
}

// ---- Memory.

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  ENTER_IN_CONTEXT(cuMemAlloc_v2);
  return allocate_on(current_context()->device, bytes, pointer);
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  ENTER_IN_CONTEXT(cuMemFree_v2);
  before_free();
  const std::lock_guard<std::mutex> guard(state->lock);
  const auto found = state->device_memory.find(pointer);
  if (found == state->device_memory.end()) return kInvalidValue;
  munmap(found->second.mapping, found->second.mapped);
  state->device_memory.erase(found);
  return kSuccess;
}

CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) {
  ENTER_IN_CONTEXT(cuMemAllocHost_v2);
  if (bytes == 0) return kInvalidValue;
  const Guarded memory = map_guarded(bytes);
  if (memory.data == nullptr) return kOutOfMemory;
  *pointer = memory.data;
  const std::lock_guard<std::mutex> guard(state->lock);
  state->host_memory[memory.data] = memory;
  return kSuccess;
}

CUresult cuMemFreeHost(void* pointer) {
  ENTER_IN_CONTEXT(cuMemFreeHost);
  before_free();
  const std::lock_guard<std::mutex> guard(state->lock);
  const auto found = state->host_memory.find(pointer);
  if (found == state->host_memory.end()) return kInvalidValue;
  munmap(found->second.mapping, found->second.mapped);
  state->host_memory.erase(found);
  return kSuccess;
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  ENTER_IN_CONTEXT(cuMemGetInfo_v2);
  const std::lock_guard<std::mutex> guard(state->lock);
  const int device = current_context()->device;
  *total = state->script.devices[static_cast<std::size_t>(device)].memory;
  *free = *total - in_use(device);
  return kSuccess;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  ENTER_IN_CONTEXT(cuMemcpyHtoDAsync_v2);
  char* there = device_range(to, bytes);
  if (there == nullptr || !is_stream(stream)) return kInvalidValue;
  return submit_copy(stream, there, static_cast<const char*>(from), bytes, from);
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  ENTER_IN_CONTEXT(cuMemcpyDtoHAsync_v2);
  const char* there = device_range(from, bytes);
  if (there == nullptr || !is_stream(stream)) return kInvalidValue;
  return submit_copy(stream, static_cast<char*>(to), there, bytes, to);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  ENTER_IN_CONTEXT(cuMemcpyDtoDAsync_v2);
  char* target = device_range(to, bytes);
  const char* source = device_range(from, bytes);
  if (target == nullptr || source == nullptr || !is_stream(stream)) return kInvalidValue;
  return submit_copy(stream, target, source, bytes, nullptr);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  ENTER_IN_CONTEXT(cuMemsetD32Async);
  char* there = device_range(to, 4 * count);
  if (there == nullptr || !is_stream(stream)) return kInvalidValue;
  return submit(stream, {}, [=] {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(there + 4 * i, &value, 4);
    return kSuccess;
  });
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  ENTER_IN_CONTEXT(cuPointerGetAttribute);
  const bool on_device = device_range(pointer, 0) != nullptr;
  const std::lock_guard<std::mutex> guard(state->lock);
  const bool pinned = std::any_of(state->host_memory.begin(), state->host_memory.end(), [&](const auto& entry) {
    const CUdeviceptr begin = reinterpret_cast<CUdeviceptr>(entry.second.data);
    return pointer >= begin && pointer < begin + entry.second.bytes;
  });
  if (!on_device && !pinned) return kInvalidValue;
  int device = 0;
  if (on_device) device = std::prev(state->device_memory.upper_bound(pointer))->second.device;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) = on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
      return kSuccess;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = device;
      return kSuccess;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(value) = &state->contexts[static_cast<std::size_t>(device)].handle;
      return kSuccess;
  }
  return kInvalidValue;
}

// ---- Streams, events, launches.

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  ENTER_IN_CONTEXT(cuStreamCreate);
  auto made = std::make_unique<CUstream_st>();
  made->context = current_context();
  made->maker = std::this_thread::get_id();
  *stream = made.get();
  const std::lock_guard<std::mutex> guard(state->lock);
  state->streams[*stream] = std::move(made);
  return kSuccess;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  ENTER_IN_CONTEXT(cuStreamDestroy_v2);
  before_free();
  const std::lock_guard<std::mutex> guard(state->lock);
  return state->streams.erase(stream) == 1 ? kSuccess : kInvalidHandle;
}

CUresult cuStreamSynchronize(CUstream stream) {
  ENTER_IN_CONTEXT(cuStreamSynchronize);
  return is_stream(stream) ? wait_for(stream) : CUresult{kInvalidHandle};
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  ENTER_IN_CONTEXT(cuStreamWaitEvent);
  if (!is_stream(stream)) return kInvalidHandle;
  put(stream, [stream, event] {
    if (event->stream != nullptr) drain(event->stream);
    const std::lock_guard<std::mutex> guard(state->lock);
    stream->busy_until = std::max(stream->busy_until, event->when);
    stream->hangs = stream->hangs || event->never;
  });
  return kSuccess;
}

CUresult cuEventCreate(CUevent* event, unsigned) {
  ENTER_IN_CONTEXT(cuEventCreate);
  auto made = std::make_unique<CUevent_st>();
  *event = made.get();
  const std::lock_guard<std::mutex> guard(state->lock);
  state->events[*event] = std::move(made);
  return kSuccess;
}

CUresult cuEventDestroy_v2(CUevent event) {
  ENTER_IN_CONTEXT(cuEventDestroy_v2);
  const std::lock_guard<std::mutex> guard(state->lock);
  return state->events.erase(event) == 1 ? kSuccess : kInvalidHandle;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  ENTER_IN_CONTEXT(cuEventRecord);
  if (!is_stream(stream)) return kInvalidHandle;
  record(event, stream);
  put(stream, [stream, event] { reach(event, stream); });
  return kSuccess;
}

CUresult cuEventQuery(CUevent event) {
  ENTER_IN_CONTEXT(cuEventQuery);
  if (event->stream != nullptr) drain(event->stream);
  const std::lock_guard<std::mutex> guard(state->lock);
  return event->never || Clock::now() < event->when ? kNotReady : kSuccess;
}

CUresult cuEventSynchronize(CUevent event) {
  ENTER_IN_CONTEXT(cuEventSynchronize);
  return event->recorded ? wait_for(event->stream) : CUresult{kSuccess};
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  ENTER_IN_CONTEXT(cuEventElapsedTime);
  if (!begin->recorded || !end->recorded) return kInvalidHandle;
  if (!begin->done || !end->done || begin->never || end->never) return kNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(end->when - begin->when).count();
  return kSuccess;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned block_memory, CUstream stream, void** parameters,
                        void**) {
  Verdict verdict;
  if (const CUresult code = enter("cuLaunchKernel", true, &verdict); code != 0) return code;
  if (!is_stream(stream)) return kInvalidHandle;
  const HostLaunch launch = make_launch(*function, {function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                                    block_memory, parameters, nullptr, nullptr, nullptr});
  if (const CUresult code = check_launch(*function, launch); code != 0) return code;
  return submit(stream, verdict, [=] { return run_kernel(*function, launch); });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction function, void** parameters, void** extra) {
  ENTER_IN_CONTEXT(cuLaunchKernelEx);
  return cuLaunchKernel(function, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ,
                        c->sharedMemBytes, c->hStream, parameters, extra);
}

// ---- Graphs.

CUresult cuGraphCreate(CUgraph* graph, unsigned) {
  ENTER_IN_CONTEXT(cuGraphCreate);
  auto made = std::make_unique<CUgraph_st>();
  *graph = made.get();
  const std::lock_guard<std::mutex> guard(state->lock);
  state->graphs[*graph] = std::move(made);
  return kSuccess;
}

CUresult cuGraphDestroy(CUgraph graph) {
  ENTER_IN_CONTEXT(cuGraphDestroy);
  const std::lock_guard<std::mutex> guard(state->lock);
  return state->graphs.erase(graph) == 1 ? kSuccess : kInvalidHandle;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  ENTER_IN_CONTEXT(cuGraphAddKernelNode_v2);
  auto made = std::make_unique<CUgraphNode_st>();
  made->kind = CUgraphNode_st::Kind::kernel;
  made->function = parameters->func;
  made->launch = make_launch(*parameters->func, *parameters);
  if (const CUresult code = check_launch(*made->function, made->launch); code != 0) return code;
  return add_node(node, graph, after, count, std::move(made));
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                              const CUDA_MEMCPY3D_v2* copy, CUcontext context) {
  ENTER_IN_CONTEXT(cuGraphAddMemcpyNode);
  if (context == nullptr) return kInvalidContext;
  auto made = std::make_unique<CUgraphNode_st>();
  made->kind = CUgraphNode_st::Kind::copy;
  made->copy = *copy;
  return add_node(node, graph, after, count, std::move(made));
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                   CUevent event) {
  ENTER_IN_CONTEXT(cuGraphAddEventRecordNode);
  auto made = std::make_unique<CUgraphNode_st>();
  made->kind = CUgraphNode_st::Kind::event;
  made->event = event;
  return add_node(node, graph, after, count, std::move(made));
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  ENTER_IN_CONTEXT(cuGraphAddDependencies);
  const std::lock_guard<std::mutex> guard(state->lock);
  if (state->graphs.count(graph) == 0) return kInvalidHandle;
  for (size_t i = 0; i < count; ++i) to[i]->after.push_back(from[i]);
  return kSuccess;
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* edges, size_t count) {
  ENTER_IN_CONTEXT(cuGraphAddDependencies_v2);
  const std::lock_guard<std::mutex> guard(state->lock);
  if (state->graphs.count(graph) == 0) return kInvalidHandle;
  for (size_t i = 0; i < count; ++i) {
    const bool kernels = from[i]->kind == CUgraphNode_st::Kind::kernel && to[i]->kind == CUgraphNode_st::Kind::kernel;
    const bool early = edges != nullptr && edges[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    if (early && !kernels) return kInvalidValue;
    if (early) to[i]->early.insert(from[i]);
    to[i]->after.push_back(from[i]);
  }
  return kSuccess;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  ENTER_IN_CONTEXT(cuGraphInstantiateWithFlags);
  const std::lock_guard<std::mutex> guard(state->lock);
  if (state->graphs.count(graph) == 0) return kInvalidHandle;
  auto made = std::make_unique<CUgraphExec_st>();
  made->context = current_context();
  for (const auto& node : graph->nodes) {
    made->number[node.get()] = made->nodes.size();
    made->nodes.push_back(*node);
  }
  for (const auto& node : graph->nodes) {
    std::vector<std::size_t> after;
    for (CUgraphNode before : node->after) after.push_back(made->number.at(before));
    made->after.push_back(after);
  }
  describe_graph(*graph);
  *exec = made.get();
  state->execs[*exec] = std::move(made);
  return kSuccess;
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  ENTER_IN_CONTEXT(cuGraphUpload);
  if (!is_stream(stream)) return kInvalidHandle;
  exec->uploaded = true;
  return kSuccess;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  Verdict verdict;
  if (const CUresult code = enter("cuGraphLaunch", true, &verdict); code != 0) return code;
  if (!is_stream(stream)) return kInvalidHandle;
  for (const CUgraphNode_st& node : exec->nodes) {
    if (node.kind == CUgraphNode_st::Kind::event) record(node.event, stream);
  }
  // What is launched does not change with the graph any more.
  return submit(stream, verdict,
                [stream, nodes = exec->nodes, after = exec->after] { return run_graph(nodes, after, stream); });
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  ENTER_IN_CONTEXT(cuGraphExecDestroy);
  const std::lock_guard<std::mutex> guard(state->lock);
  return state->execs.erase(exec) == 1 ? kSuccess : kInvalidHandle;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  ENTER_IN_CONTEXT(cuGraphExecKernelNodeSetParams_v2);
  const auto found = exec->number.find(node);
  if (found == exec->number.end()) return kInvalidHandle;
  CUgraphNode_st& own = exec->nodes[found->second];
  if (own.kind != CUgraphNode_st::Kind::kernel) return kInvalidValue;
  own.function = parameters->func;
  own.launch = make_launch(*parameters->func, *parameters);
  return check_launch(*own.function, own.launch);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D_v2* copy,
                                        CUcontext context) {
  ENTER_IN_CONTEXT(cuGraphExecMemcpyNodeSetParams);
  const auto found = exec->number.find(node);
  if (found == exec->number.end() || context == nullptr) return kInvalidHandle;
  CUgraphNode_st& own = exec->nodes[found->second];
  // As the driver has it: the kinds of memory and the size stay.
  if (own.kind != CUgraphNode_st::Kind::copy || own.copy.srcMemoryType != copy->srcMemoryType ||
      own.copy.dstMemoryType != copy->dstMemoryType || own.copy.WidthInBytes != copy->WidthInBytes) {
    return kInvalidValue;
  }
  own.copy = *copy;
  return kSuccess;
}

}  // extern "C"

namespace whet::testing {

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
  for (const auto& [pointer, memory] : state->device_memory) munmap(memory.mapping, memory.mapped);
  for (const auto& [pointer, memory] : state->host_memory) munmap(memory.mapping, memory.mapped);
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
  munmap(found->second.mapping, found->second.mapped);
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
