#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace whet {

/// What an emulated device loads (CodeFormat::emulated): objects for the host with entries as artifact/emulated_block.h has
/// them, and how long the analytic estimate says that a launch of each entry takes.
struct EmulatedModule {
  struct Entry {
    std::string name;
    double seconds = 0;            ///< of one launch; 0: nobody estimated it
    std::uint32_t object = 0;      ///< number of the object that has it
    std::uint32_t parameters = 0;  ///< pointers that it takes: the kernel's arguments and its workspace
  };
  std::vector<Entry> entries;
  std::vector<std::string> objects;
};

/// docs/formats/model.md has the stored form.
std::string write_emulated_module(const EmulatedModule&);
/// Errors: damaged bytes; a name twice; an entry of an object that is not there; times below zero or not finite.
Result<EmulatedModule> read_emulated_module(std::string_view stored);
/// The bytes of the module that begins at `stored`, of which at least kEmulatedHead can be read; 0 where none begins there.
std::uint64_t emulated_module_bytes(const void* stored);
constexpr std::size_t kEmulatedHead = 32;
/// One module with the entries and objects of all.
EmulatedModule joined(std::span<const EmulatedModule> modules);

}  // namespace whet
