#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "machine/topology.h"
#include "target/target.h"

namespace whet {

/// The processors that run kernels.
struct Cores {
  std::vector<int>
      cpus;  ///< one logical processor a physical core, of one kind, that this process may use; at least one
  CoreKind kind = CoreKind::big;
  double quota = 0;    ///< processors' worth of time allowed by cgroups; 0: no limit
  bool mixed = false;  ///< the machine has big and little cores
};

/// The physical cores of the big kind that this process may use; affinity mask and cgroup quota respected.
Cores usable_cores();

/// The cores for `--threads` and `--cores`. `cores` is "" or "big", "little", "prime" or a list like "0-3". `threads` 0 means
/// all of them. Errors name the request and the processors that this process may use. More threads than the quota
/// allows are legal.
Result<Cores> choose_cores(std::string_view cores, int threads);

/// The cores of a given machine. `allowed` is the affinity mask.
Result<Cores> choose_cores(std::string_view cores, int threads, const std::vector<LogicalCpu>& machine,
                           const std::vector<int>& allowed, double quota);

/// The processors of this process's affinity mask.
std::vector<int> allowed_cpus();

/// Restricts the calling thread to one processor. Returns false where the system refuses.
bool pin_this_thread(int cpu);

/// Pins the calling thread while the object exists, and restores its mask afterwards.
class ScopedPin {
 public:
  explicit ScopedPin(int cpu);
  ~ScopedPin();
  ScopedPin(const ScopedPin&) = delete;
  ScopedPin& operator=(const ScopedPin&) = delete;

 private:
  std::vector<int> before_;
};

}  // namespace whet
