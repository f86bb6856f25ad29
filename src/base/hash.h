#pragma once

#include <cstdint>
#include <string_view>

namespace whet {

/// FNV-1a, 64 bit. The hash is the same in all runs, machines and versions, so it may be stored.
constexpr std::uint64_t kHashSeed = 0xcbf29ce484222325ull;

constexpr std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed = kHashSeed) {
  for (char c : bytes) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return seed;
}

/// Mixes `value` into `seed` (splitmix64's finalizer).
constexpr std::uint64_t hash_combine(std::uint64_t seed, std::uint64_t value) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15ull + value;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace whet
