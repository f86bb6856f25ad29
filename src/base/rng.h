#pragma once

#include <cstdint>

namespace whet {

/// splitmix64: a seeded, reproducible stream. It has the same numbers on every machine and with every standard library.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += kStep);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// Leaves out `numbers` of the stream.
  void skip(std::int64_t numbers) { state_ += static_cast<std::uint64_t>(numbers) * kStep; }
  /// Uniform in 0 .. bound-1; bound >= 1.
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(bound));
  }
  /// Uniform in low .. high, both included.
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  /// Uniform in [low, high).
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  bool chance(double probability) { return uniform() < probability; }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ull;

  std::uint64_t state_;
};

}  // namespace whet
