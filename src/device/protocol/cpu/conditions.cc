#include "device/protocol/cpu/conditions.h"

#include <cmath>

#include "device/protocol/bounds.h"

namespace whet {
namespace {

constexpr std::size_t kMostCoresOfJob = 1024;
constexpr double kMostGhz = 100, kMostCelsius = 1000;

}  // namespace

void pack(Packer& p, const RunConditions& conditions) {
  p.u64(conditions.cores.size());
  for (const std::uint32_t core : conditions.cores) p.u32(core);
  p.text(conditions.governor);
  p.f64(conditions.ghz);
  p.f64(conditions.celsius);
  p.u8(conditions.throttled ? 1 : 0);
}
std::optional<RunConditions> unpack_conditions(Unpacker& u) {
  RunConditions conditions;
  for (std::size_t n = u.count(4); n > 0 && u.ok(); --n) conditions.cores.push_back(u.u32());
  conditions.governor = u.text();
  conditions.ghz = u.f64();
  conditions.celsius = u.f64();
  const std::uint8_t throttled = u.u8();
  conditions.throttled = throttled == 1;
  const bool sane = u.ok() && throttled <= 1 && conditions.cores.size() <= kMostCoresOfJob &&
                    is_short_text(conditions.governor) && conditions.ghz >= 0 && conditions.ghz <= kMostGhz &&
                    std::abs(conditions.celsius) <= kMostCelsius;
  return sane ? std::optional(std::move(conditions)) : std::nullopt;
}

}  // namespace whet
