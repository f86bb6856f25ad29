#include "machine/placement.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <thread>

#include "machine/cores.h"

namespace whet {
namespace {

/// Alone on its line and on the neighbour that the prefetcher fetches with it.
struct alignas(128) Line {
  std::atomic<std::int64_t> turn{0};
};

constexpr int kBursts = 7;
constexpr std::int64_t kTrips = 5000, kProbeTrips = 200;

/// Waits for `value`. A processor shared with other work must not spin through its whole slice.
void wait_for(const Line& line, std::int64_t value) {
  for (int spins = 0; line.turn.load(std::memory_order_acquire) != value; ++spins)
    if (spins > 100000) std::this_thread::yield();
}

/// The mean round trip of each burst [ns], ascending.
using Bursts = std::array<double, kBursts>;
Bursts sorted_bursts(int first_cpu, int second_cpu, std::int64_t trips) {
  Line line;
  std::thread other([&] {
    const ScopedPin pin(second_cpu);
    for (std::int64_t i = 0; i < kBursts * trips; ++i) {
      wait_for(line, 2 * i + 1);
      line.turn.store(2 * i + 2, std::memory_order_release);
    }
  });
  Bursts bursts;
  const ScopedPin pin(first_cpu);
  std::int64_t i = 0;
  for (double& burst : bursts) {
    const auto start = std::chrono::steady_clock::now();
    for (const std::int64_t end = i + trips; i < end; ++i) {
      line.turn.store(2 * i + 1, std::memory_order_release);
      wait_for(line, 2 * i + 2);
    }
    burst = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() /
            static_cast<double>(trips);
  }
  other.join();
  std::ranges::sort(bursts);
  return bursts;
}

}  // namespace

CorePlacement::Kind placement_kind(double round_trip_ns) {
  if (round_trip_ns <= 200) return CorePlacement::Kind::near;
  if (round_trip_ns < 350) return CorePlacement::Kind::between;
  return round_trip_ns <= 700 ? CorePlacement::Kind::far : CorePlacement::Kind::disturbed;
}

std::string_view name_of(CorePlacement::Kind kind) {
  constexpr std::array<std::string_view, 4> names = {"near", "between near and far", "far", "disturbed"};
  return names[static_cast<std::size_t>(kind)];
}

CorePlacement measure_placement(int first_cpu, int second_cpu) {
  const Bursts bursts = sorted_bursts(first_cpu, second_cpu, kTrips);
  const double median = bursts[kBursts / 2];
  return {median, placement_kind(median)};
}

double probe_round_trip(int first_cpu, int second_cpu) {
  const double shortest = sorted_bursts(first_cpu, second_cpu, kProbeTrips).front();
  return placement_kind(shortest) == CorePlacement::Kind::disturbed ? 0 : std::round(10 * shortest) / 10;
}

}  // namespace whet
