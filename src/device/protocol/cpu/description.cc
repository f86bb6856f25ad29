#include "device/protocol/cpu/description.h"

#include <algorithm>

#include "device/protocol/bounds.h"

namespace whet {
namespace {

constexpr std::size_t kMostCores = 1024, kMostNames = 64;

bool is_size(std::int64_t bytes) { return bytes >= 0 && bytes <= std::int64_t{1} << 50; }
bool is_core(std::uint32_t id) { return id < kMostCores; }
bool is_some(std::uint32_t count) { return count >= 1; }
bool are_names(const std::vector<std::string>& names) {
  return names.size() <= kMostNames && std::ranges::all_of(names, is_short_text);
}
bool is_named_and_has_cores(const DeviceDescription& d) {
  return !d.name.empty() && !d.machine.empty() && !d.cores.empty();
}

}  // namespace

template <>
constexpr auto kRow<DeviceCore> =
    row<where<is_core, &DeviceCore::id>, &DeviceCore::package, &DeviceCore::core, &DeviceCore::strength,
        &DeviceCore::little, &DeviceCore::usable, &DeviceCore::midr>;
template <>
constexpr auto kRow<DeviceLimits> =
    row<&DeviceLimits::message_bytes, where<is_some, &DeviceLimits::kernels, &DeviceLimits::threads>,
        where<is_session_time, &DeviceLimits::kernel_seconds>>;
template <>
constexpr auto kRow<DeviceDescription> =
    row<where<is_short_text, &DeviceDescription::name, &DeviceDescription::unit, &DeviceDescription::slot,
              &DeviceDescription::machine, &DeviceDescription::system, &DeviceDescription::processor,
              &DeviceDescription::brand, &DeviceDescription::emulator>,
        where<are_names, &DeviceDescription::features, &DeviceDescription::governors, &DeviceDescription::sandbox>,
        where<is_size, &DeviceDescription::page_bytes, &DeviceDescription::memory_bytes, &DeviceDescription::l1_bytes,
              &DeviceDescription::l2_bytes, &DeviceDescription::l3_bytes>,
        where<is_session_time, &DeviceDescription::quota>, at_most<kMostCores, &DeviceDescription::cores>,
        &DeviceDescription::limits, is_named_and_has_cores>;
template struct Codec<DeviceDescription>;

}  // namespace whet
