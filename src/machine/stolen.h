#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace whet {

/// The part of its processors' time that the host denies to a virtual machine. The host runs others meanwhile, and
/// kernels timed then seem slower. The kernel counts this time ("steal" in proc_stat(5)).
class StolenTime {
 public:
  /// Watches these processors from now on; without names, all that this process may use.
  explicit StolenTime(std::vector<int> cpus);

  /// The denied part of their time since then, 0 to 1. 0 on a machine that is not virtual, or that does not report it.
  double share() const;

 private:
  std::vector<int> cpus_;
  double at_first_ = 0;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

/// The seconds since the machine started in which `cpus` worked for any program, and those in which they were denied,
/// summed over `cpus`.
struct ProcessorTime {
  double busy = 0, stolen = 0;
};
/// Parses the text of /proc/stat.
ProcessorTime processor_time(std::string_view proc_stat, const std::vector<int>& cpus, double ticks_per_second);
/// The times of this machine until now.
ProcessorTime processor_time(const std::vector<int>& cpus);

/// "the host gave 12% of the processors' time to others"; "" below 1%, which the clock's ticks cannot distinguish from
/// none.
std::string stolen_text(double share);

}  // namespace whet
