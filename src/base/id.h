#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace whet {

/// A typed index: `struct LoopTag; using LoopId = Id<LoopTag>;`. Ids are counted inside the object that owns the named
/// things.
template <typename Tag>
struct Id {
  std::int32_t value = -1;

  constexpr Id() = default;
  constexpr explicit Id(std::int64_t v) : value(static_cast<std::int32_t>(v)) {}
  constexpr bool valid() const { return value >= 0; }
  constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace whet

template <typename Tag>
struct std::hash<whet::Id<Tag>> {
  std::size_t operator()(whet::Id<Tag> id) const { return std::hash<std::int32_t>()(id.value); }
};
