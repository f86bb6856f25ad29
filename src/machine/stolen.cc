#include "machine/stolen.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "machine/cores.h"
#include "machine/system_files.h"

namespace whet {
ProcessorTime processor_time(std::string_view proc_stat, const std::vector<int>& cpus, double ticks_per_second) {
  ProcessorTime sum;
  while (!proc_stat.empty()) {
    std::string_view words = take_until(proc_stat, '\n');
    const std::string_view name = take_word(words);
    double ticks[8];
    bool whole = true;
    for (double& number : ticks) {
      const std::optional<std::int64_t> read = to_integer(take_word(words));
      whole = whole && read.has_value();
      number = static_cast<double>(read.value_or(0));
    }
    if (!whole) continue;
    const auto [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    if (std::none_of(cpus.begin(), cpus.end(), [&](int cpu) { return name == "cpu" + std::to_string(cpu); })) continue;
    sum.busy += (user + nice + system + irq + softirq) / ticks_per_second;
    sum.stolen += steal / ticks_per_second;
  }
  return sum;
}

ProcessorTime processor_time(const std::vector<int>& cpus) {
  return processor_time(read_system_file("/proc/stat").value_or(""), cpus,
                        static_cast<double>(std::max(1L, sysconf(_SC_CLK_TCK))));
}

StolenTime::StolenTime(std::vector<int> cpus)
    : cpus_(cpus.empty() ? allowed_cpus() : std::move(cpus)), at_first_(processor_time(cpus_).stolen) {}

double StolenTime::share() const {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - since_;
  const double whole = passed.count() * static_cast<double>(cpus_.size());
  return whole > 0 ? std::clamp((processor_time(cpus_).stolen - at_first_) / whole, 0.0, 1.0) : 0;
}

std::string stolen_text(double share) {
  return share < 0.01 ? ""
                      : "the host gave " + std::to_string(static_cast<int>(100 * share + 0.5)) +
                            "% of the processors' time to others";
}

}  // namespace whet
