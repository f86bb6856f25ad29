#pragma once

#include <span>

#include "target/target.h"

namespace whet {

/// A kind of target: how its text reads and how two targets of the kind compare.
struct TargetKind {
  std::string_view kind;     ///< the first word of the text form
  std::string_view example;  ///< a whole text form, for messages
  std::string (*text)(const Target&);
  /// `switches`: the words behind the kind, none of them empty.
  Result<Target> (*parse)(std::span<const std::string_view> switches);
  /// As `target_distance`, `target_differences` and `last_cache_bytes`, for two targets of this kind.
  std::optional<TargetDistance> (*distance)(const Target& has, const Target& want);
  std::vector<std::string> (*differences)(const Target& has, const Target& want);
  std::int64_t (*cache_bytes)(const Target&);
};
/// All kinds, in the order in which messages name them.
std::span<const TargetKind> target_kinds();

// cpu.cc
std::string cpu_text(const Target&);
Result<Target> parse_cpu(std::span<const std::string_view> switches);
std::optional<TargetDistance> cpu_distance(const Target& has, const Target& want);
std::vector<std::string> cpu_differences(const Target& has, const Target& want);
std::int64_t cpu_cache_bytes(const Target&);

// gpu.cc
std::string gpu_text(const Target&);
Result<Target> parse_gpu(std::span<const std::string_view> switches);
std::optional<TargetDistance> gpu_distance(const Target& has, const Target& want);
std::vector<std::string> gpu_differences(const Target& has, const Target& want);
std::int64_t gpu_cache_bytes(const Target&);

/// The parts of `text` between separators; one empty part where there is no text.
std::vector<std::string_view> split_text(std::string_view text, char separator);

}  // namespace whet
