#pragma once

// A CUDA driver for tests, on the host: the functions of driver.h over host memory. Graphs are recorded and replayed, and a
// script makes any call fail, hang or come late. Work on a stream is done when somebody waits for it, the latest moment that a
// driver may choose, or at once.
//
// It is stricter than a driver. Device addresses cannot be used on the host; allocations have guard pages on both sides;
// a call without a current context, a range outside an allocation and a kernel's pointer to nothing are errors; nodes of
// a graph that no edge orders run in an order that a seed shuffles.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/driver.h"

namespace whet::testing {

/// What happens to one call.
struct ScriptRule {
  enum class What {
    code,   ///< the call does nothing and gives `code`. A sticky code is given by every later call too
    late,   ///< the call, or for launches and graphs the work, takes `milliseconds` longer
    hangs,  ///< the work of the stream never ends; calls that wait for it end with `code` after `milliseconds`
  };
  std::string function;  ///< the symbol, "cuMemAlloc_v2"
  int nth = 1;           ///< call of this function, counted from 1 since the rule was added; 0: every one
  What what = What::code;
  CUresult code = 999;
  int milliseconds = 0;
};

struct ScriptedDevice {
  std::string name = "Scripted GPU";
  int arch = 90, sms = 132;
  std::size_t memory = std::size_t{256} << 20;
};

struct DriverScript {
  int version = 13000;
  bool optional_functions = true;  ///< false: the table of a driver of CUDA 12.0
  bool split_compile = true;       ///< whether modules may be loaded with CU_JIT_SPLIT_COMPILE
  std::vector<ScriptedDevice> devices = {{}};
  std::vector<ScriptRule> rules;
  bool at_once = false;    ///< work is done when it is put on a stream
  std::uint64_t seed = 1;  ///< of the order in which independent nodes run
};

/// A launch as a kernel sees it.
struct HostLaunch {
  std::uint32_t grid[3], block[3];
  std::uint32_t block_memory;
  std::vector<void*> parameters;  ///< usable on the host
};
/// A kernel's code: all of the grid in one call. It gives 0 or the error of the device.
using HostKernel = std::function<CUresult(const HostLaunch&)>;

/// One a process: it is made when the one before has ended. Thread-safe, as drivers are.
class ScriptedDriver {
 public:
  explicit ScriptedDriver(DriverScript script = {});
  ~ScriptedDriver();
  ScriptedDriver(const ScriptedDriver&) = delete;
  ScriptedDriver& operator=(const ScriptedDriver&) = delete;

  const CudaDriver& driver() const;

  /// A function that every image has whose text names it. All parameters are pointers.
  void add_kernel(const std::string& name, int parameters, HostKernel kernel);
  void add_rule(ScriptRule rule);
  void clear_rules();
  /// Every device works again, as after a restart of the process: what was made can be given back.
  void forgive();

  /// How often a function was called.
  int calls(const std::string& function) const;
  /// What is still alive: "2 allocations, 1 streams"; "" when all was given back, and nothing while work was on its way.
  std::string alive() const;
  /// What the functions were given of an SM's memory for their blocks [percent], in the order in which they were found; -1: nothing.
  std::vector<int> percents_of_memory() const;
  /// The graph that was instantiated last, one line a node: "2 kernel add after 0 1 (early)".
  std::string last_graph() const;
  /// Device memory of another library in the process, for which no call counts. `device` is in use.
  CUdeviceptr allocate(std::size_t bytes, int device = 0);
  void release(CUdeviceptr pointer);
  /// Reads and writes device memory, as a debugger would; null outside of an allocation.
  void* host_view(CUdeviceptr pointer) const;
  /// Bytes of device memory in use.
  std::size_t memory_in_use() const;
};

/// Text that the scripted driver takes for PTX with these entries.
std::string scripted_ptx(const std::vector<std::string>& entries, int arch = 80, const std::string& version = "7.0");
/// The same for a cubin.
std::string scripted_cubin(const std::vector<std::string>& entries, int arch);

}  // namespace whet::testing
