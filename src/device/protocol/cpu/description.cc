#include "device/protocol/cpu/description.h"

#include <algorithm>

#include "device/protocol/bounds.h"
#include "runner/wire.h"

namespace whet {
namespace {

constexpr std::size_t kMostCores = 1024, kMostNames = 64;
constexpr std::size_t kCoreBytes = 3 * 4 + 8 + 1 + 1 + 4;

bool is_size(std::int64_t bytes) { return bytes >= 0 && bytes <= std::int64_t{1} << 50; }

void pack_names(Packer& p, const std::vector<std::string>& names) {
  p.u64(names.size());
  for (const std::string& name : names) p.text(name);
}
std::vector<std::string> unpack_names(Unpacker& u) {
  std::vector<std::string> names;
  for (std::size_t n = u.count(8); n > 0 && u.ok(); --n) names.push_back(u.text());
  return names;
}
bool are_names(const std::vector<std::string>& names) {
  return names.size() <= kMostNames && std::ranges::all_of(names, is_short_text);
}

DeviceCore unpack_core(Unpacker& u) {
  DeviceCore core;
  core.id = u.u32();
  core.package = u.u32();
  core.core = u.u32();
  core.strength = u.i64();
  core.little = u.u8() != 0;
  core.usable = u.u8() != 0;
  core.midr = u.u32();
  return core;
}

bool sane_device(const DeviceDescription& d) {
  for (const std::string* text :
       {&d.name, &d.unit, &d.slot, &d.machine, &d.system, &d.processor, &d.brand, &d.emulator})
    if (!is_short_text(*text)) return false;
  if (d.name.empty() || d.machine.empty()) return false;
  for (const std::vector<std::string>* names : {&d.features, &d.governors, &d.sandbox})
    if (!are_names(*names)) return false;
  for (const std::int64_t bytes : {d.page_bytes, d.memory_bytes, d.l1_bytes, d.l2_bytes, d.l3_bytes})
    if (!is_size(bytes)) return false;
  if (!is_session_time(d.quota) || d.cores.empty() || d.cores.size() > kMostCores) return false;
  for (const DeviceCore& core : d.cores)
    if (core.id >= kMostCores) return false;
  return d.limits.kernels >= 1 && d.limits.threads >= 1 && is_session_time(d.limits.kernel_seconds);
}

}  // namespace

std::string encode(const DeviceDescription& d) {
  Packer p;
  for (const std::string* text :
       {&d.name, &d.unit, &d.slot, &d.machine, &d.system, &d.processor, &d.brand, &d.emulator})
    p.text(*text);
  for (const std::vector<std::string>* names : {&d.features, &d.governors, &d.sandbox}) pack_names(p, *names);
  for (const std::int64_t bytes : {d.page_bytes, d.memory_bytes, d.l1_bytes, d.l2_bytes, d.l3_bytes}) p.i64(bytes);
  p.f64(d.quota);
  p.u64(d.cores.size());
  for (const DeviceCore& core : d.cores) {
    p.u32(core.id);
    p.u32(core.package);
    p.u32(core.core);
    p.i64(core.strength);
    p.u8(core.little);
    p.u8(core.usable);
    p.u32(core.midr);
  }
  p.u64(d.limits.message_bytes);
  p.u32(d.limits.kernels);
  p.u32(d.limits.threads);
  p.f64(d.limits.kernel_seconds);
  return p.take();
}
std::optional<DeviceDescription> decode_device_description(std::string_view bytes) {
  Unpacker u(bytes);
  DeviceDescription d;
  for (std::string* text : {&d.name, &d.unit, &d.slot, &d.machine, &d.system, &d.processor, &d.brand, &d.emulator})
    *text = u.text();
  for (std::vector<std::string>* names : {&d.features, &d.governors, &d.sandbox}) *names = unpack_names(u);
  for (std::int64_t* size : {&d.page_bytes, &d.memory_bytes, &d.l1_bytes, &d.l2_bytes, &d.l3_bytes}) *size = u.i64();
  d.quota = u.f64();
  for (std::size_t n = u.count(kCoreBytes); n > 0 && u.ok(); --n) d.cores.push_back(unpack_core(u));
  d.limits.message_bytes = u.u64();
  d.limits.kernels = u.u32();
  d.limits.threads = u.u32();
  d.limits.kernel_seconds = u.f64();
  if (!u.done() || !sane_device(d)) return std::nullopt;
  return d;
}

}  // namespace whet
