#pragma once

// Internal to the scripted driver: what it holds, and how work comes and goes. The functions of the driver are in the files
// beside this one, a file a chapter of the driver's manual.

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cuda/errors.h"
#include "runtime/cuda/testing/scripted_driver.h"

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
  int percent_of_memory = -1;  ///< of an SM, for its blocks; -1: not said
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

namespace whet::testing::scripted {

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
Guarded map_guarded(std::size_t bytes);
void unmap(const Guarded&);

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

/// The one that there is.
extern State* state;
extern thread_local std::vector<CUcontext> current;
inline CUcontext current_context() { return current.empty() ? nullptr : current.back(); }

/// The script's entry for a call.
struct CallScript {
  CUresult code = kSuccess;
  int late_milliseconds = 0;
  bool hangs = false;
  CUresult hang_code = 0;
};

/// The code that the call gives before it does anything. A lost context answers all that needs one.
CUresult enter(const char* function, bool needs_context, CallScript* verdict = nullptr);
/// The context ends where the code is one that it does not survive.
void lose(CUcontext, CUresult code);

// ---- Memory and devices.

/// The memory of [pointer, pointer + bytes) on the host; null where it is in no allocation.
char* device_range(CUdeviceptr pointer, std::size_t bytes);
CUresult allocate_on(int device, std::size_t bytes, CUdeviceptr* pointer);
/// Bytes of a device. The caller holds the lock.
std::size_t in_use(int device);
/// Memory is freed while work is on its way, of the thread that frees it: a mistake, after which drivers wait.
void before_free();
/// The device, or null for a number that is none.
const ScriptedDevice* device_of(CUdevice device);

// ---- Work.

CUresult run_copy(const CUDA_MEMCPY3D_v2&);
CUresult run_kernel(const CUfunc_st& function, const HostLaunch& given);
CUresult check_launch(const CUfunc_st& function, const HostLaunch& launch);
HostLaunch make_launch(const CUfunc_st& function, const CUDA_KERNEL_NODE_PARAMS_v2&);

/// Puts work on a stream; it ends as the script says. The errors of the device come with the next call that waits.
CUresult submit(CUstream stream, const CallScript& verdict, std::function<CUresult()> work);
/// A copy from or to memory of the host is done before the call returns, unless the memory is pinned.
CUresult submit_copy(CUstream stream, char* to, const char* from, std::size_t bytes, const void* host);
/// Does the work of a stream that is on its way, in order.
void drain(CUstream stream);
/// The same, until it is done, and gives what went wrong.
CUresult wait_for(CUstream stream);
bool is_stream(CUstream stream);

/// An event will be reached; what was recorded before is forgotten.
void record(CUevent event, CUstream stream);
void reach(CUevent event, CUstream stream);

}  // namespace whet::testing::scripted

#define ENTER(function)                                                        \
  do {                                                                         \
    if (const CUresult code = enter(#function, false); code != 0) return code; \
  } while (false)
#define ENTER_IN_CONTEXT(function)                                            \
  do {                                                                        \
    if (const CUresult code = enter(#function, true); code != 0) return code; \
  } while (false)
