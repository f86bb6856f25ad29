#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "target/cpu.h"
#include "target/gpu.h"

namespace whet {

/// More workers than any machine that runs one kernel has.
constexpr int kMaxThreads = 1024;

/// A machine of a kind that needs no description: its name is a row of `target_kinds()`.
struct PlainTarget {
  std::string kind;
  friend bool operator==(const PlainTarget&, const PlainTarget&) = default;
};

/// The machine that kernels are made for. The first word of its text form names the kind, a row of `target_kinds()`;
/// the switches behind it are that kind's. Tables of other rooms (lowering passes, templates, features, code
/// generators, devices) have one row a kind.
struct Target {
  std::variant<CpuTarget, GpuTarget, PlainTarget> machine;
  int threads = 1;  ///< workers that run a kernel together; 1 except on a CPU

  /// "cpu", "cuda", ...
  std::string_view kind() const;
  bool is_cpu() const { return std::holds_alternative<CpuTarget>(machine); }
  /// Needs: `is_cpu()`.
  const CpuTarget& cpu() const {
    WHET_CHECK(is_cpu(), "the target is no CPU");
    return *std::get_if<CpuTarget>(&machine);
  }
  CpuTarget& cpu() {
    WHET_CHECK(is_cpu(), "the target is no CPU");
    return *std::get_if<CpuTarget>(&machine);
  }
  bool is_gpu() const { return std::holds_alternative<GpuTarget>(machine); }
  /// Needs: `is_gpu()`.
  const GpuTarget& gpu() const {
    WHET_CHECK(is_gpu(), "the target is no GPU");
    return *std::get_if<GpuTarget>(&machine);
  }
  friend bool operator==(const Target&, const Target&) = default;
};

/// The text form. It parses back to an equal target, except for cache sizes that were detected on a machine. The default
/// kind of cores is left out.
std::string to_string(const Target&);

/// Parses the text form. Errors name the switch, what was found and the nearest right one.
Result<Target> parse_target(std::string_view text);

/// The target as kernels that take their sizes when they run have it: without a unit of tiles, which are whole at one size alone.
Target for_ranges(Target);

/// How far the target of a measurement is from the wanted one.
struct TargetDistance {
  /// Compared one after the other, the weightiest difference first. All 0: times of one are times of the other.
  std::array<double, 3> differences = {};
  bool none() const { return differences == std::array<double, 3>{}; }
  friend auto operator<=>(const TargetDistance&, const TargetDistance&) = default;
};
/// Nothing where schedules for `has` are of no use for `want`: other kinds, other widths of vectors.
std::optional<TargetDistance> target_distance(const Target& has, const Target& want);
/// The differences as clauses, the weightiest first: "measured on haswell, not znver5", "tuned for 2 threads, not 4".
/// Needs: a distance.
std::vector<std::string> target_differences(const Target& has, const Target& want);

/// Bytes of the last cache level that all workers share, or of all their own caches where those hold more; 0: unknown.
std::int64_t last_cache_bytes(const Target&);

/// The row of a table for the target's kind, or null. Rows have a member `kind`.
template <typename Table>
auto row_of(const Table& table, const Target& target) -> decltype(&*table.begin()) {
  for (const auto& row : table)
    if (row.kind == target.kind()) return &row;
  return nullptr;
}

}  // namespace whet
