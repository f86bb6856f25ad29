#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace whet {

/// How much of its processors' time a virtual machine is denied: its host runs others meanwhile, and whatever is timed
/// then seems slower. The kernel counts it ("steal" in proc_stat(5)).
class StolenTime {
 public:
  /// Watches these processors from now on; none named: all that this process may use.
  explicit StolenTime(std::vector<int> cpus);

  /// The denied part of their time since then, 0 to 1; 0 on a machine that is not virtual, or does not tell.
  double share() const;

 private:
  std::vector<int> cpus_;
  double at_first_ = 0;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

/// Seconds that `cpus` worked for any program, and that were denied to them, since the machine started, added up.
struct ProcessorTime {
  double busy = 0, stolen = 0;
};
/// Out of the text of /proc/stat.
ProcessorTime processor_time(std::string_view proc_stat, const std::vector<int>& cpus, double ticks_per_second);
/// Now, of this machine.
ProcessorTime processor_time(const std::vector<int>& cpus);

/// "the host gave 12% of the processors' time to others"; "" below 1%, which the clock's ticks cannot tell from none.
std::string stolen_text(double share);

}  // namespace whet
