#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine/topology.h"
#include "target/target.h"

namespace whet {

/// What decides whether times measured on some processors mean something. What the kernel does not tell is absent.
struct Conditions {
  // as the machine is set up
  std::vector<int> cpus;                  ///< the processors that run kernels
  std::vector<std::string> governors;     ///< of each of them (cpufreq)
  std::optional<bool> turbo;              ///< may clocks rise above the nominal one while it is cool?
  std::vector<int> siblings;              ///< SMT siblings of `cpus` that are online
  bool is_virtual = false;                ///< under a hypervisor
  double quota = 0;                       ///< processors' worth of time that cgroups allow; 0: no limit
  std::int64_t available_bytes = 0;       ///< memory that programs may still take, cgroup limits respected; 0: not told
  std::optional<std::string> huge_pages;  ///< "always", "madvise" or "never"
  // seen while watching
  double busy_by_others = 0;   ///< part of the processors' time that other programs took while we slept
  double stolen = 0;           ///< part that a host denied while we computed
  double slowest_of_peak = 1;  ///< the same multiply-adds, again and again: the slowest burst's speed by the fastest's
  double round_trip_ns = 0;    ///< between the first two; 0: one processor
};

/// The part that is written somewhere; at once.
Conditions read_conditions(const std::vector<int>& cpus, const SystemPaths& = {});
/// Adds what must be watched: a second asleep and one of multiply-adds as `target` has them.
void watch(Conditions&, const Target&);

/// One thing looked at, and what would be better.
struct Finding {
  enum class Verdict { good, beware, bad };
  Verdict verdict = Verdict::good;
  std::string what;    ///< "governor"
  std::string found;   ///< "powersave on 0,1"
  std::string advice;  ///< "" where all is well
};
const char* name_of(Finding::Verdict);

/// Every condition judged, in the order of a reader's questions.
std::vector<Finding> judge(const Conditions&);

}  // namespace whet
