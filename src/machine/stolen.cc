#include "machine/stolen.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "machine/cores.h"

namespace whet {
ProcessorTime processor_time(std::string_view proc_stat, const std::vector<int>& cpus, double ticks_per_second) {
  ProcessorTime sum;
  std::istringstream lines{std::string(proc_stat)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    if (!(words >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal)) continue;
    if (std::none_of(cpus.begin(), cpus.end(), [&](int cpu) { return name == "cpu" + std::to_string(cpu); })) continue;
    sum.busy += (user + nice + system + irq + softirq) / ticks_per_second;
    sum.stolen += steal / ticks_per_second;
  }
  return sum;
}

ProcessorTime processor_time(const std::vector<int>& cpus) {
  std::ifstream file("/proc/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return processor_time(text, cpus, static_cast<double>(std::max(1L, sysconf(_SC_CLK_TCK))));
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
