#include "machine/fitness.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <set>
#include <thread>

#include "base/counted.h"
#include "machine/placement.h"
#include "machine/stolen.h"
#include "machine/system_files.h"

namespace whet {
namespace {

using Verdict = Finding::Verdict;

/// Shares of the processors' time: what a minimum of several runs shrugs off, and what it does not.
constexpr double kSomeTime = 0.02, kMuchTime = 0.15;
/// Speeds of the same work that differ by less are the same machine; by more than the second, several.
constexpr double kSteady = 0.95, kUnsteady = 0.8;
/// A model, its packed weights and a few processes that compile.
constexpr std::int64_t kEnoughMemory = std::int64_t{2} << 30;

std::optional<std::string> read_word(const std::string& path) {
  const std::string text = read_system_file(path).value_or("");
  std::string_view left = text;
  const std::string word(take_word(left));
  if (word.empty()) return std::nullopt;
  return word;
}

/// intel_pstate says when turbo is off; acpi-cpufreq and amd-pstate when it is on.
std::optional<bool> turbo_of(const std::string& cpus) {
  if (const auto off = read_word(cpus + "/intel_pstate/no_turbo")) return *off == "0";
  if (const auto on = read_word(cpus + "/cpufreq/boost")) return *on == "1";
  return std::nullopt;
}

/// "always [madvise] never" -> "madvise"
std::optional<std::string> chosen_of(const std::optional<std::string>& line) {
  if (!line) return std::nullopt;
  const std::size_t begin = line->find('['), end = line->find(']');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return std::nullopt;
  return line->substr(begin + 1, end - begin - 1);
}

/// The number behind "MemAvailable:" [kB].
std::int64_t available_of(const std::string& meminfo) {
  for (std::string_view left = meminfo; !left.empty();) {
    std::string_view words = take_until(left, '\n');
    if (take_word(words) == "MemAvailable:") return to_integer(take_word(words)).value_or(0) << 10;
  }
  return 0;
}

bool has_flag(const std::string& cpuinfo, const std::string& flag) {
  std::string_view left = cpuinfo;
  for (std::string_view word = take_word(left); !word.empty(); word = take_word(left))
    if (word == flag) return true;
  return false;
}

std::string percent(double share) { return std::to_string(static_cast<int>(100 * share + 0.5)) + "%"; }
std::string list(const std::vector<int>& cpus) {
  return std::string(for_count(std::ssize(cpus), "processor ", "processors ")) + cpu_list_text(cpus);
}

Verdict by_share(double share) {
  return share < kSomeTime ? Verdict::good : share < kMuchTime ? Verdict::beware : Verdict::bad;
}

Finding governor(const Conditions& c) {
  const std::set<std::string> names(c.governors.begin(), c.governors.end());
  if (names.empty()) return {Verdict::good, "governor", c.is_virtual ? "the host's business" : "none", ""};
  std::string found;
  for (const std::string& name : names) found += (found.empty() ? "" : ", ") + name;
  if (names == std::set<std::string>{"performance"}) return {Verdict::good, "governor", found, ""};
  return {Verdict::bad, "governor", found + " on " + list(c.cpus),
          "clocks follow the load, so that short kernels seem slow: cpupower frequency-set -g performance"};
}

Finding turbo(const Conditions& c) {
  if (!c.turbo) return {Verdict::good, "turbo", c.is_virtual ? "the host's business" : "not told", ""};
  if (!*c.turbo) return {Verdict::good, "turbo", "off", ""};
  return {Verdict::beware, "turbo", "on",
          "clocks move with heat and busy cores: compare figures of one run only, or switch it off"};
}

Finding siblings(const Conditions& c) {
  if (c.siblings.empty())
    return {Verdict::good, "SMT", c.is_virtual ? "none that the host tells of" : "no siblings", ""};
  return {Verdict::beware, "SMT", list(c.siblings) + " share cores with " + list(c.cpus),
          "keep them idle while measuring"};
}

Finding others(const Conditions& c) {
  const Verdict verdict = by_share(c.busy_by_others);
  return {verdict, "load", "other programs took " + percent(c.busy_by_others) + " of " + list(c.cpus),
          verdict == Verdict::good ? "" : "end them, or choose other processors with --cores"};
}

Finding host(const Conditions& c) {
  if (!c.is_virtual && c.stolen < kSomeTime) return {Verdict::good, "host", "not a virtual machine", ""};
  const Verdict verdict = std::max(by_share(c.stolen), c.is_virtual ? Verdict::beware : Verdict::good);
  std::string advice = "a host may move and share these processors: alternate the measurements that you compare";
  if (verdict == Verdict::bad) advice = "wait for a quieter hour, or measure on a machine of your own";
  return {verdict, "host", "a virtual machine; the host took " + percent(c.stolen) + " of the time", advice};
}

Finding steadiness(const Conditions& c) {
  const Verdict verdict = c.slowest_of_peak >= kSteady     ? Verdict::good
                          : c.slowest_of_peak >= kUnsteady ? Verdict::beware
                                                           : Verdict::bad;
  return {verdict, "speed",
          "the slowest of the same bursts had " + percent(c.slowest_of_peak) + " of the fastest's speed",
          verdict == Verdict::good ? "" : "trust ratios of alternating measurements, not single times"};
}

Finding placement(const Conditions& c) {
  if (c.round_trip_ns == 0) return {Verdict::good, "placement", "one processor", ""};
  const CorePlacement::Kind kind = placement_kind(c.round_trip_ns);
  const std::string found =
      std::to_string(static_cast<int>(c.round_trip_ns)) + " ns there and back (" + std::string(name_of(kind)) + ")";
  if (kind == CorePlacement::Kind::near) return {Verdict::good, "placement", found, ""};
  if (kind == CorePlacement::Kind::disturbed)
    return {Verdict::bad, "placement", found, "another program runs on one of the two"};
  return {Verdict::beware, "placement", found,
          "small networks on several threads wait for each other: try --threads 1"};
}

Finding quota(const Conditions& c) {
  const double wanted = static_cast<double>(c.cpus.size());
  if (c.quota == 0) return {Verdict::good, "quota", "no limit of processor time", ""};
  char found[96];
  std::snprintf(found, sizeof found, "cgroups allow %g processors' worth of time, kernels use %g", c.quota, wanted);
  if (c.quota >= wanted) return {Verdict::good, "quota", found, ""};
  return {Verdict::bad, "quota", found, "threads are stopped in the middle of a run: take fewer with --threads"};
}

Finding memory(const Conditions& c) {
  if (c.available_bytes == 0) return {Verdict::good, "memory", "not told", ""};
  const std::string found = std::to_string(c.available_bytes >> 20) + " MiB to be had";
  if (c.available_bytes >= kEnoughMemory) return {Verdict::good, "memory", found, ""};
  return {Verdict::beware, "memory", found, "tuning takes some 400 MB and a few times the weights"};
}

Finding huge_pages(const Conditions& c) {
  if (!c.huge_pages) return {Verdict::good, "huge pages", "not told", ""};
  if (*c.huge_pages != "never") return {Verdict::good, "huge pages", *c.huge_pages, ""};
  return {Verdict::beware, "huge pages", "never",
          "large weights pay for page misses: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"};
}

/// Part of the processors' time between two texts of /proc/stat, `seconds` apart.
double share(double before, double after, std::size_t cpus, double seconds) {
  return std::clamp((after - before) / (seconds * static_cast<double>(cpus)), 0.0, 1.0);
}

}  // namespace

const char* name_of(Verdict verdict) {
  return verdict == Verdict::good ? "good" : verdict == Verdict::beware ? "beware" : "bad";
}

Conditions read_conditions(const std::vector<int>& cpus, const SystemPaths& paths) {
  Conditions c;
  c.cpus = cpus;
  for (int cpu : cpus)
    if (const auto name = read_word(paths.cpus + "/cpu" + std::to_string(cpu) + "/cpufreq/scaling_governor"))
      c.governors.push_back(*name);
  c.turbo = turbo_of(paths.cpus);
  const std::vector<LogicalCpu> machine = read_topology(paths);
  const auto used = [&](int id) { return std::find(cpus.begin(), cpus.end(), id) != cpus.end(); };
  for (const LogicalCpu& other : machine) {
    const bool shares = std::any_of(machine.begin(), machine.end(), [&](const LogicalCpu& cpu) {
      return used(cpu.id) && cpu.package == other.package && cpu.core == other.core;
    });
    if (shares && !used(other.id)) c.siblings.push_back(other.id);
  }
  c.is_virtual = has_flag(read_system_file(paths.proc + "/cpuinfo").value_or(""), "hypervisor");
  c.quota = cgroup_quota(paths);
  c.available_bytes = available_of(read_system_file(paths.proc + "/meminfo").value_or(""));
  const std::int64_t allowed = cgroup_memory(paths);
  if (allowed > 0 && c.available_bytes > 0) c.available_bytes = std::min(c.available_bytes, allowed);
  c.huge_pages = chosen_of(read_system_file(paths.huge_pages));
  return c;
}

void watch(Conditions& c, const std::function<double()>& peak_gflops) {
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };

  const double busy = processor_time(c.cpus).busy;
  const auto asleep = Clock::now();
  std::this_thread::sleep_for(1s);
  c.busy_by_others = share(busy, processor_time(c.cpus).busy, c.cpus.size(), since(asleep));

  const StolenTime stolen(c.cpus);
  double slowest = std::numeric_limits<double>::infinity(), fastest = 0;
  for (const auto start = Clock::now(); since(start) < 1;) {
    const double speed = peak_gflops();
    slowest = std::min(slowest, speed);
    fastest = std::max(fastest, speed);
  }
  c.stolen = stolen.share();
  c.slowest_of_peak = fastest > 0 ? slowest / fastest : 1;
  if (c.cpus.size() > 1) c.round_trip_ns = measure_placement(c.cpus[0], c.cpus[1]).round_trip_ns;
}

std::vector<Finding> judge(const Conditions& c) {
  return {governor(c),   turbo(c),     siblings(c), others(c), host(c),
          steadiness(c), placement(c), quota(c),    memory(c), huge_pages(c)};
}

}  // namespace whet
