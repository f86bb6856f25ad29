#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace whet {

/// The files in which the kernel describes the machine. Tests use folders of their own.
struct SystemPaths {
  std::string cpus = "/sys/devices/system/cpu";
  std::string own_cgroup = "/proc/self/cgroup";
  std::string cgroups = "/sys/fs/cgroup";
  std::string proc = "/proc";
  std::string huge_pages = "/sys/kernel/mm/transparent_hugepage/enabled";
};

/// One logical processor.
struct LogicalCpu {
  int id = 0;
  int package = 0, core = 0;  ///< equal pairs are SMT siblings
  std::int64_t strength = 0;  ///< cpu_capacity, or the highest clock [kHz], or 0; it compares big with little cores
  bool little = false;        ///< clearly weaker than the strongest (under 80%)
  bool prime = false;         ///< beside it there are big cores, clearly weaker (by `mark_clusters`)
  std::uint32_t midr = 0;     ///< AArch64: which processor it is; 0: unknown
};

struct CacheSizes {
  std::int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;  ///< 0 where unknown; l1: data
};

/// The online logical processors, by id.
std::vector<LogicalCpu> read_topology(const SystemPaths& = {});
/// Tells the kinds of cores of an AArch64 machine whose MIDRs are known, by its clusters: cores of one MIDR and about one strength
/// (within 15%). Of three and more clusters the strongest is prime, the weakest little and what is between big. Two are big and
/// little where one is clearly weaker, else prime and big. Leaves other machines as they are.
void mark_clusters(std::vector<LogicalCpu>&);
/// The cache sizes of processor `cpu`.
CacheSizes read_caches(int cpu, const SystemPaths& = {});
/// The processors' worth of time that the cgroups of this process allow (versions 1 and 2, the smallest of all
/// ancestors); 0: no limit.
double cgroup_quota(const SystemPaths& = {});
/// The memory that they allow [bytes]; 0: no limit.
std::int64_t cgroup_memory(const SystemPaths& = {});

/// Parses a list of processors in the kernel's notation, "0-3,8". Empty for any other text.
std::vector<int> parse_cpu_list(const std::string& text);
/// "0-3,8"
std::string cpu_list_text(const std::vector<int>& cpus);

}  // namespace whet
