#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "machine/topology.h"

namespace whet {

/// The conditions that decide whether times measured on some processors are meaningful. A condition that the kernel
/// does not report is absent.
struct Conditions {
  // From the machine's settings:
  std::vector<int> cpus;                  ///< the processors that run kernels
  std::vector<std::string> governors;     ///< of each of them (cpufreq)
  std::optional<bool> turbo;              ///< whether clocks may rise above the nominal one while the processor is cool
  std::vector<int> siblings;              ///< SMT siblings of `cpus` that are online
  bool is_virtual = false;                ///< under a hypervisor
  double quota = 0;                       ///< processors' worth of time that cgroups allow; 0: no limit
  std::int64_t available_bytes = 0;       ///< memory that programs may still take, cgroup limits respected; 0: unknown
  std::optional<std::string> huge_pages;  ///< "always", "madvise" or "never"
  // From watching:
  double busy_by_others = 0;   ///< part of the processors' time that other programs took while we slept
  double stolen = 0;           ///< part that a host denied while we computed
  double slowest_of_peak = 1;  ///< slowest by fastest speed of bursts of multiply-adds
  double round_trip_ns = 0;    ///< between the first two; 0: one processor
};

/// Reads the settings, without waiting.
Conditions read_conditions(const std::vector<int>& cpus, const SystemPaths& = {});
/// Adds the conditions that must be watched: a second asleep, and a second in which `peak_gflops` measures the peak of the
/// processors again and again.
void watch(Conditions&, const std::function<double()>& peak_gflops);

/// One judged condition, and advice.
struct Finding {
  enum class Verdict { good, beware, bad };
  Verdict verdict = Verdict::good;
  std::string what;    ///< "governor"
  std::string found;   ///< "powersave on 0,1"
  std::string advice;  ///< "" where all is well
};
const char* name_of(Finding::Verdict);

/// Judges every condition, in the order in which a reader asks.
std::vector<Finding> judge(const Conditions&);

}  // namespace whet
