#include "machine/topology.h"

#include <algorithm>
#include <optional>
#include <set>

#include "machine/system_files.h"

namespace whet {
namespace {

std::int64_t read_integer(const std::string& path, std::int64_t otherwise) {
  const auto line = read_line(path);
  return line ? to_integer(*line).value_or(otherwise) : otherwise;
}

/// "48K", "2M" -> bytes; 0 for anything else.
std::int64_t parse_size(const std::string& text) {
  const std::int64_t number = to_integer(text).value_or(0);
  return text.ends_with('K') ? number << 10 : text.ends_with('M') ? number << 20 : number;
}

/// 80%: the gap between kinds of cores is far wider, that between equal cores of different turbo limits far narrower.
void mark_little(std::vector<LogicalCpu>& cpus) {
  std::int64_t strongest = 0;
  for (const LogicalCpu& cpu : cpus) strongest = std::max(strongest, cpu.strength);
  for (LogicalCpu& cpu : cpus) cpu.little = cpu.strength > 0 && cpu.strength * 10 < strongest * 8;
}

/// Quota of one cgroup folder in processors; 0: none.
double quota_of(const std::string& folder) {
  if (const auto line = read_line(folder + "/cpu.max")) {  // version 2: "max 100000" or "150000 100000"
    std::string_view words = *line;
    const std::int64_t quota = to_integer(take_word(words)).value_or(0),
                       period = to_integer(take_word(words)).value_or(0);
    return quota > 0 && period > 0 ? static_cast<double>(quota) / static_cast<double>(period) : 0;
  }
  const std::int64_t quota = read_integer(folder + "/cpu.cfs_quota_us", -1);
  const std::int64_t period = read_integer(folder + "/cpu.cfs_period_us", 0);
  return quota > 0 && period > 0 ? static_cast<double>(quota) / static_cast<double>(period) : 0;
}

/// Bytes that one cgroup folder allows; 0: no limit.
double memory_of(const std::string& folder) {
  const std::int64_t bytes = read_integer(folder + "/memory.max", 0);  // version 2; "max" is no number
  return static_cast<double>(bytes > 0 ? bytes : read_integer(folder + "/memory.limit_in_bytes", 0));
}

using LimitOf = double (*)(const std::string& folder);  ///< 0: none

/// The smallest limit of `group` and its ancestors under `mount`. A container may see a path of the host that does not
/// exist inside: the folders that do exist, the mount itself included, are what counts.
double smallest_limit(const std::string& mount, std::string group, LimitOf limit_of) {
  double smallest = 0;
  while (true) {
    const double limit = limit_of(mount + group);
    if (limit > 0 && (smallest == 0 || limit < smallest)) smallest = limit;
    if (group.empty()) return smallest;
    group.erase(group.rfind('/'));
  }
}

/// What `controller` (as version 1 names it) allows this process.
double smallest_limit(const SystemPaths& paths, const std::string& controller, LimitOf limit_of) {
  double smallest = 0;
  const std::string groups = read_system_file(paths.own_cgroup).value_or("");
  for (std::string_view left = groups; !left.empty();) {  // hierarchy:controllers:path
    const std::string line(take_until(left, '\n'));
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    const bool concerned =
        controllers.empty() || ("," + controllers + ",").find("," + controller + ",") != std::string::npos;
    if (!group.starts_with('/') || !concerned) continue;
    const std::string version1 = paths.cgroups + "/" + controllers;
    for (const std::string& mount : controllers.empty()
                                        ? std::vector<std::string>{paths.cgroups, paths.cgroups + "/unified"}
                                        : std::vector<std::string>{version1, paths.cgroups + "/" + controller}) {
      const double limit = smallest_limit(mount, group, limit_of);
      if (limit > 0 && (smallest == 0 || limit < smallest)) smallest = limit;
    }
  }
  return smallest;
}

}  // namespace

std::vector<int> parse_cpu_list(const std::string& text) {
  std::set<int> cpus;
  for (std::string_view left = text; !left.empty();) {
    const std::string_view part = take_until(left, ',');
    const std::size_t dash = part.find('-');
    const auto first = to_integer(part);
    const auto last = dash == std::string::npos ? first : to_integer(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > 65535) return {};
    for (std::int64_t id = *first; id <= *last; ++id) cpus.insert(static_cast<int>(id));
  }
  return {cpus.begin(), cpus.end()};
}

std::string cpu_list_text(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    if (!text.empty()) text += ",";
    text += std::to_string(cpus[i]);
    if (end - i > 1) text += (end - i > 2 ? "-" : ",") + std::to_string(cpus[end - 1]);
    i = end;
  }
  return text;
}

std::vector<LogicalCpu> read_topology(const SystemPaths& paths) {
  std::vector<LogicalCpu> cpus;
  for (int id : parse_cpu_list(read_line(paths.cpus + "/online").value_or("0"))) {
    const std::string folder = paths.cpus + "/cpu" + std::to_string(id);
    LogicalCpu cpu;
    cpu.id = id;
    cpu.package = static_cast<int>(read_integer(folder + "/topology/physical_package_id", 0));
    cpu.core = static_cast<int>(read_integer(folder + "/topology/core_id", id));
    const std::int64_t clock = read_integer(folder + "/cpufreq/cpuinfo_max_freq", 0);
    cpu.strength = read_integer(folder + "/cpu_capacity", clock);
    cpus.push_back(cpu);
  }
  mark_little(cpus);
  return cpus;
}

void mark_clusters(std::vector<LogicalCpu>& cpus) {
  std::vector<LogicalCpu*> order;  // devices tell the MIDRs of cores that can be used alone
  for (LogicalCpu& cpu : cpus)
    if (cpu.midr != 0 && cpu.strength > 0) order.push_back(&cpu);
  std::ranges::stable_sort(order, [](const LogicalCpu* a, const LogicalCpu* b) {
    return a->strength != b->strength ? a->strength > b->strength : a->midr > b->midr;
  });
  std::vector<std::vector<LogicalCpu*>> clusters;  // strongest first
  for (LogicalCpu* cpu : order) {
    const LogicalCpu* first = clusters.empty() ? nullptr : clusters.back().front();
    if (!first || first->midr != cpu->midr || first->strength * 100 > cpu->strength * 115) clusters.emplace_back();
    clusters.back().push_back(cpu);
  }
  if (clusters.size() < 2) return;
  const bool last_is_little = clusters.size() > 2 || clusters.back().front()->little;
  const bool first_is_prime = clusters.size() > 2 || !last_is_little;
  for (std::size_t i = 0; i < clusters.size(); ++i)
    for (LogicalCpu* cpu : clusters[i]) {
      cpu->prime = i == 0 && first_is_prime;
      cpu->little = i + 1 == clusters.size() && last_is_little;
    }
}

CacheSizes read_caches(int cpu, const SystemPaths& paths) {
  CacheSizes sizes;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = paths.cpus + "/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index);
    const auto type = read_line(folder + "/type");
    if (!type) break;
    if (*type == "Instruction") continue;
    const std::int64_t bytes = parse_size(read_line(folder + "/size").value_or("0"));
    const std::int64_t level = read_integer(folder + "/level", 0);
    if (level == 1) sizes.l1_bytes = bytes;
    if (level == 2) sizes.l2_bytes = bytes;
    if (level == 3) sizes.l3_bytes = bytes;
  }
  return sizes;
}

double cgroup_quota(const SystemPaths& paths) { return smallest_limit(paths, "cpu", quota_of); }

std::int64_t cgroup_memory(const SystemPaths& paths) {
  return static_cast<std::int64_t>(smallest_limit(paths, "memory", memory_of));
}

}  // namespace whet
