#include "machine/placement.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
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
constexpr std::int64_t kTrips = 5000;

/// Waits for `value`. A processor shared with other work must not spin through its whole slice.
void wait_for(const Line& line, std::int64_t value) {
  for (int spins = 0; line.turn.load(std::memory_order_acquire) != value; ++spins)
    if (spins > 100000) std::this_thread::yield();
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
  Line line;
  std::thread other([&] {
    const ScopedPin pin(second_cpu);
    for (std::int64_t i = 0; i < kBursts * kTrips; ++i) {
      wait_for(line, 2 * i + 1);
      line.turn.store(2 * i + 2, std::memory_order_release);
    }
  });
  std::array<double, kBursts> bursts;
  const ScopedPin pin(first_cpu);
  std::int64_t i = 0;
  for (double& burst : bursts) {
    const auto start = std::chrono::steady_clock::now();
    for (const std::int64_t end = i + kTrips; i < end; ++i) {
      line.turn.store(2 * i + 1, std::memory_order_release);
      wait_for(line, 2 * i + 2);
    }
    burst = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / kTrips;
  }
  other.join();
  std::sort(bursts.begin(), bursts.end());
  return {bursts[kBursts / 2], placement_kind(bursts[kBursts / 2])};
}

}  // namespace whet
