#include "artifact/emulated_module.h"

#include <cmath>
#include <cstring>
#include <set>

namespace whet {
namespace {

constexpr std::string_view kMagic("whetemu\n", 8);
constexpr std::uint32_t kVersion = 1;
/// Of an entry in the stored form: its time, its object, its parameters, the length of its name.
constexpr std::size_t kEntryBytes = 20;

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Takes values off the front of the stored form; after the end it gives zeros.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  std::size_t left() const { return rest_.size(); }

  template <typename T>
  T take() {
    T value{};
    const std::string_view bytes = take(sizeof value);
    if (ok_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string_view take(std::uint64_t bytes) {
    ok_ = ok_ && bytes <= rest_.size();
    if (!ok_) return {};
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

Error damaged(const std::string& what) { return Error{"the emulated code is damaged: " + what}; }

Status check(const EmulatedModule& module) {
  std::set<std::string> names;
  for (const EmulatedModule::Entry& entry : module.entries) {
    if (!names.insert(entry.name).second) return damaged("entry " + entry.name + " is there twice");
    if (entry.object >= module.objects.size())
      return damaged("entry " + entry.name + " is in object " + std::to_string(entry.object) + " of " +
                     std::to_string(module.objects.size()));
    if (!std::isfinite(entry.seconds) || entry.seconds < 0)
      return damaged("entry " + entry.name + " takes a time that no launch takes");
  }
  return ok_status();
}

}  // namespace

std::string write_emulated_module(const EmulatedModule& module) {
  std::string out(kMagic);
  put(out, kVersion);
  put(out, static_cast<std::uint32_t>(module.entries.size()));
  put(out, static_cast<std::uint64_t>(module.objects.size()));
  put(out, std::uint64_t{0});  // the whole length, below
  for (const EmulatedModule::Entry& entry : module.entries) {
    put(out, entry.seconds);
    put(out, entry.object);
    put(out, entry.parameters);
    put(out, static_cast<std::uint32_t>(entry.name.size()));
    out += entry.name;
  }
  for (const std::string& object : module.objects) {
    put(out, static_cast<std::uint64_t>(object.size()));
    out += object;
  }
  const std::uint64_t bytes = out.size();
  std::memcpy(out.data() + kEmulatedHead - sizeof bytes, &bytes, sizeof bytes);
  return out;
}

std::uint64_t emulated_module_bytes(const void* stored) {
  Reader reader({static_cast<const char*>(stored), kEmulatedHead});
  if (reader.take(kMagic.size()) != kMagic) return 0;
  reader.take(kEmulatedHead - kMagic.size() - sizeof(std::uint64_t));
  return reader.take<std::uint64_t>();
}

Result<EmulatedModule> read_emulated_module(std::string_view stored) {
  Reader reader(stored);
  if (reader.take(kMagic.size()) != kMagic) return damaged("it does not begin as such code does");
  if (const auto version = reader.take<std::uint32_t>(); version != kVersion)
    return Error{"the emulated code is of version " + std::to_string(version) + "; this whet reads version " +
                 std::to_string(kVersion)};
  const auto entries = reader.take<std::uint32_t>();
  const auto objects = reader.take<std::uint64_t>();
  if (const auto bytes = reader.take<std::uint64_t>(); bytes != stored.size())
    return damaged("it has " + std::to_string(stored.size()) + " bytes and says " + std::to_string(bytes));
  if (entries > reader.left() / kEntryBytes || objects > reader.left() / sizeof(std::uint64_t))
    return damaged("it is too short for " + std::to_string(entries) + " entries and " + std::to_string(objects) +
                   " objects");
  EmulatedModule module;
  for (std::uint32_t i = 0; i < entries && reader.ok(); ++i) {
    EmulatedModule::Entry entry;
    entry.seconds = reader.take<double>();
    entry.object = reader.take<std::uint32_t>();
    entry.parameters = reader.take<std::uint32_t>();
    entry.name = reader.take(reader.take<std::uint32_t>());
    module.entries.push_back(std::move(entry));
  }
  for (std::uint64_t i = 0; i < objects && reader.ok(); ++i)
    module.objects.emplace_back(reader.take(reader.take<std::uint64_t>()));
  if (!reader.ok()) return damaged("it ends too early");
  if (!reader.at_end()) return damaged(std::to_string(reader.left()) + " bytes stand behind its last object");
  WHET_RETURN_IF_ERROR(check(module));
  return module;
}

EmulatedModule joined(std::span<const EmulatedModule> modules) {
  EmulatedModule all;
  for (const EmulatedModule& module : modules) {
    const auto first = static_cast<std::uint32_t>(all.objects.size());
    for (EmulatedModule::Entry entry : module.entries) {
      entry.object += first;
      all.entries.push_back(std::move(entry));
    }
    all.objects.insert(all.objects.end(), module.objects.begin(), module.objects.end());
  }
  return all;
}

}  // namespace whet
