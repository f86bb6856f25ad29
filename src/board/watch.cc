#include "board/watch.h"

#include <dirent.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "machine/cores.h"
#include "machine/system_files.h"

namespace whet {
namespace {

/// A part of the usual clock below which a board is throttled: clocks repeat within 1%, and the first step down is larger.
constexpr double kUsualClock = 0.97;
/// So near to the trip point the system is about to slow the processor down [degrees].
constexpr double kNearTrip = 5;
/// Of a Raspberry Pi's flags: low voltage, capped, throttled, hot; all of just now.
constexpr std::int64_t kThrottledNow = 0xf;
constexpr int kSensors = 64;

/// Sensors of boards and PCs that are on the processor.
bool is_of_processor(const std::string& type) {
  for (const char* word : {"cpu", "soc", "pkg", "bigcore", "littlecore", "cluster"})
    if (type.find(word) != std::string::npos) return true;
  return false;
}

std::int64_t number_in(const std::string& path) {
  const auto line = read_line(path);
  return line ? to_integer(*line).value_or(0) : 0;
}

void look_at_sensors(const std::string& sys, BoardState& state) {
  for (int i = 0; i < kSensors; ++i) {
    const std::string zone = sys + "/class/thermal/thermal_zone" + std::to_string(i);
    const auto type = read_line(zone + "/type");
    if (!type) break;
    const double celsius = static_cast<double>(number_in(zone + "/temp")) / 1e3;
    if (!is_of_processor(*type) || celsius <= state.celsius) continue;
    state.celsius = celsius;
    state.trip_celsius = 0;
    for (int trip = 0; trip < kSensors; ++trip) {
      const std::string point = zone + "/trip_point_" + std::to_string(trip);
      const auto kind = read_line(point + "_type");
      if (!kind) break;
      if (*kind == "passive") state.trip_celsius = static_cast<double>(number_in(point + "_temp")) / 1e3;
    }
  }
}

bool firmware_throttles(const std::string& sys) {
  const auto line = read_line(sys + "/devices/platform/soc/soc:firmware/get_throttled");
  return line && (std::strtol(line->c_str(), nullptr, 16) & kThrottledNow) != 0;
}

double seconds_of_clock() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string cpu_folder(const std::string& sys, std::uint32_t core) {
  return sys + "/devices/system/cpu/cpu" + std::to_string(core);
}

}  // namespace

double measured_ghz() {
  constexpr int kRounds = 500, kAdds = 16, kTries = 4;
  double best = 0;
  for (int attempt = 0; attempt < kTries; ++attempt) {  // the fastest: others were interrupted
    std::uint64_t sum = 1;
    const std::uint64_t one = 1;
    const double start = seconds_of_clock();
    for (int i = 0; i < kRounds; ++i) {
#if defined(__x86_64__)
      asm volatile(".rept 16\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(one));
#elif defined(__aarch64__)
      asm volatile(".rept 16\n\tadd %0, %0, %1\n\t.endr" : "+r"(sum) : "r"(one));
#endif
    }
    const double seconds = seconds_of_clock() - start;
    if (seconds > 0 && sum > 1) best = std::max(best, kRounds * kAdds / seconds / 1e9);
  }
  return best;
}

BoardState look_at(const std::vector<std::uint32_t>& cores, const std::string& sys) {
  BoardState state;
  if (!cores.empty()) {
    const ScopedPin pin(static_cast<int>(cores.front()));
    state.ghz = measured_ghz();
  }
  look_at_sensors(sys, state);
  state.firmware_throttles = firmware_throttles(sys);
  for (const std::uint32_t core : cores)
    state.throttle_count += number_in(cpu_folder(sys, core) + "/thermal_throttle/core_throttle_count");
  return state;
}

std::string governor_of(const std::vector<std::uint32_t>& cores, const std::string& sys) {
  std::vector<std::string> names;
  for (const std::uint32_t core : cores) {
    const auto name = read_line(cpu_folder(sys, core) + "/cpufreq/scaling_governor");
    if (name && std::ranges::find(names, *name) == names.end()) names.push_back(*name);
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::vector<std::uint32_t> cores_of_process(int pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/task";
  cpu_set_t all;
  CPU_ZERO(&all);
  if (DIR* tasks = opendir(folder.c_str())) {
    while (const dirent* entry = readdir(tasks)) {
      cpu_set_t mask;
      const auto thread = to_integer(entry->d_name);
      if (thread && sched_getaffinity(static_cast<pid_t>(*thread), sizeof mask, &mask) == 0) CPU_OR(&all, &all, &mask);
    }
    closedir(tasks);
  }
  std::vector<std::uint32_t> cores;
  for (std::uint32_t core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &all)) cores.push_back(core);
  return cores;
}

std::string why_hot(const BoardState& before, const BoardState& now, double best_ghz) {
  char text[96];
  if (now.firmware_throttles) return "its firmware has slowed it down";
  if (now.throttle_count > before.throttle_count) return "it was so hot that it slowed itself down";
  if (now.trip_celsius > 0 && now.celsius > now.trip_celsius - kNearTrip) {
    std::snprintf(text, sizeof text, "it has %.0f degrees, and slows down at %.0f", now.celsius, now.trip_celsius);
    return text;
  }
  if (now.ghz > 0 && now.ghz < kUsualClock * best_ghz) {
    std::snprintf(text, sizeof text, "it runs at %.2f GHz, not at %.2f", now.ghz, best_ghz);
    return text;
  }
  return "";
}

}  // namespace whet
