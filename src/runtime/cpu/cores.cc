#include "runtime/cpu/cores.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace whet {
namespace {

constexpr std::uint32_t kPath = 512;

/// The first bytes of a small file as a string; false where it cannot be read.
bool read_text(const char* path, char* text, std::uint32_t capacity) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::uint32_t length = 0;
  while (length + 1 < capacity) {
    const ssize_t got = read(file, text + length, capacity - 1 - length);
    if (got <= 0) break;
    length += static_cast<std::uint32_t>(got);
  }
  close(file);
  text[length] = '\0';
  return true;
}

/// The same of a file that may be longer, on the heap: the caller's stack may be small. Empty where it cannot be read.
class Text {
 public:
  explicit Text(const char* path) : text_(static_cast<char*>(calloc(1, kCapacity))) {
    if (text_ != nullptr) read_text(path, text_, kCapacity);
  }
  ~Text() { free(text_); }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  char* get() { return text_ != nullptr ? text_ : empty_; }

 private:
  static constexpr std::uint32_t kCapacity = 8192;
  char* text_;
  char empty_[1] = {};
};

/// A set of core numbers below kMaxCores.
class CoreSet {
 public:
  void add(std::uint32_t core) {
    if (core < kMaxCores) words_[core / 64] |= std::uint64_t{1} << (core % 64);
  }
  bool has(std::uint32_t core) const { return core < kMaxCores && ((words_[core / 64] >> (core % 64)) & 1); }

 private:
  std::uint64_t words_[kMaxCores / 64] = {};
};

void affinity(CoreSet* allowed, std::uint32_t* count) {
  static_assert(kMaxCores <= CPU_SETSIZE);
  cpu_set_t mask;
  *count = 0;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return;
  for (std::uint32_t core = 0; core < kMaxCores; ++core) {
    if (!CPU_ISSET(core, &mask)) continue;
    allowed->add(core);
    ++*count;
  }
}

/// A number that is higher for stronger cores of one machine; 0 where the system does not tell.
long core_strength(std::uint32_t core) {
  char path[kPath], text[64];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cpu_capacity", core);
  if (read_text(path, text, sizeof text)) return atol(text);
  return 0;
}

/// True for the first allowed one of the cores that share a physical core.
bool is_first_sibling(std::uint32_t core, const CoreSet& allowed) {
  char path[kPath], siblings[kPath];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", core);
  bool first = true;
  if (read_text(path, siblings, sizeof siblings)) {
    for_each_core(siblings, [&](std::uint32_t sibling) { first &= sibling >= core || !allowed.has(sibling); });
  }
  return first;
}

/// The efficiency cores of hybrid x86 processors.
CoreSet find_little_cores() {
  CoreSet little;
  Text list("/sys/devices/cpu_atom/cpus");
  for_each_core(list.get(), [&](std::uint32_t core) { little.add(core); });
  return little;
}

double min_quota(double a, double b) { return a == 0 ? b : b == 0 ? a : a < b ? a : b; }

/// The tightest limit from `group` up to the root: limits are inherited, whatever the group itself says.
double quota_v2(const char* group) {
  char directory[kPath], path[kPath + 64], text[64];
  double quota = 0;
  if (strlen(group) >= sizeof directory) return 0;
  strcpy(directory, group);
  while (true) {
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", directory);
    if (read_text(path, text, sizeof text)) quota = min_quota(quota, parse_cpu_max(text));
    char* slash = strrchr(directory, '/');
    if (slash == nullptr) return quota;
    *slash = '\0';
  }
}

double quota_v1(const char* group) {
  char path[kPath + 96], text[64];
  snprintf(path, sizeof path, "/sys/fs/cgroup/cpu%.400s/cpu.cfs_quota_us", group);
  if (!read_text(path, text, sizeof text)) return 0;
  const double time = atof(text);
  snprintf(path, sizeof path, "/sys/fs/cgroup/cpu%.400s/cpu.cfs_period_us", group);
  if (time <= 0 || !read_text(path, text, sizeof text)) return 0;
  const double period = atof(text);
  return period > 0 ? time / period : 0;
}

double find_quota() {
  Text groups("/proc/self/cgroup");
  double quota = 0;
  char* rest = nullptr;
  for (char* line = strtok_r(groups.get(), "\n", &rest); line != nullptr; line = strtok_r(nullptr, "\n", &rest)) {
    char* controllers = strchr(line, ':');
    char* group = controllers != nullptr ? strchr(controllers + 1, ':') : nullptr;
    if (group == nullptr) continue;
    *group++ = '\0';
    ++controllers;
    if (*controllers == '\0') quota = min_quota(quota, quota_v2(group));
    if (strcmp(controllers, "cpu") == 0 || strcmp(controllers, "cpu,cpuacct") == 0) {
      // Inside a container the group's path is often that of the host, and its files are at the root.
      quota = min_quota(quota, min_quota(quota_v1(group), quota_v1("")));
    }
  }
  return quota;
}

}  // namespace

double parse_cpu_max(const char* text) {
  char* end;
  const double time = strtod(text, &end);
  if (end == text || time <= 0) return 0;
  const double period = strtod(end, nullptr);
  return period > 0 ? time / period : 0;
}

void find_usable_cores(UsableCores* cores) {
  CoreSet allowed;
  affinity(&allowed, &cores->allowed);
  cores->count = 0;
  cores->quota = find_quota();
  const CoreSet little = find_little_cores();
  long strongest = 0;
  std::uint32_t found = 0;
  for (std::uint32_t core = 0; core < kMaxCores; ++core) {
    if (!allowed.has(core) || little.has(core) || !is_first_sibling(core, allowed)) continue;
    cores->core[found] = core;
    cores->strength[found] = core_strength(core);
    if (cores->strength[found] > strongest) strongest = cores->strength[found];
    ++found;
  }
  // Arm systems grade their cores: those far below the strongest are the little ones.
  for (std::uint32_t i = 0; i < found; ++i) {
    if (cores->strength[i] * 10 < strongest * 7) continue;
    cores->core[cores->count] = cores->core[i];
    cores->strength[cores->count++] = cores->strength[i];
  }
  if (cores->count > 0) return;
  for (std::uint32_t core = 0; core < kMaxCores; ++core) {  // only little cores are allowed: they it is
    if (allowed.has(core)) cores->core[cores->count++] = core;
  }
}

}  // namespace whet
