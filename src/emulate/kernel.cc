#include "emulate/kernel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "artifact/emulated_module.h"
#include "emulate/block.h"

namespace whet {
namespace {

std::vector<std::uint32_t> blocks_in_order(std::uint32_t count, const EmulateOptions& options) {
  std::vector<std::uint32_t> blocks;
  if (options.blocks.empty()) {
    for (std::uint32_t b = 0; b < count; ++b) blocks.push_back(b);
  } else {
    for (std::uint32_t b : options.blocks)
      if (b < count) blocks.push_back(b);
  }
  Rng rng(options.seed);
  put_in_order(blocks, options.order, rng);
  return blocks;
}

}  // namespace

Status run_emulated(const EmulatedGrid& grid, const EmulateOptions& options) {
  const std::vector<std::uint32_t> blocks = blocks_in_order(grid.blocks, options);
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::optional<std::pair<std::uint32_t, Error>> first;  // by the block's number
  const auto work = [&] {
    EmulatedBlock block(grid, options);
    for (std::size_t i = next++; i < blocks.size(); i = next++) {
      const Status status = block.run(blocks[i]);
      if (status.ok()) continue;
      const std::lock_guard lock(mutex);
      if (!first || blocks[i] < first->first) first.emplace(blocks[i], status.error());
      next = blocks.size();
      return;
    }
  };
  const std::size_t workers =
      std::min<std::size_t>(static_cast<std::size_t>(std::max(options.workers, 1)), blocks.size());
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < workers; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  if (first) return first->second;
  return ok_status();
}

Result<EmulatedCode> EmulatedCode::load(std::string_view stored) {
  WHET_TRY(const EmulatedModule module, read_emulated_module(stored));
  EmulatedCode code;
  for (const EmulatedModule::Entry& entry : module.entries) {
    const std::string& bytes = module.objects[entry.object];
    char error[256];
    LoadedObject object;
    if (!load_object(bytes.data(), bytes.size(), entry.name.c_str(), &object, error, sizeof error)) return Error{error};
    code.objects_.push_back(object);
    code.entries_.push_back(
        {entry.name, entry.seconds, entry.parameters, reinterpret_cast<EmulatedEntry>(object.entry)});
  }
  return code;
}

EmulatedCode::~EmulatedCode() {
  for (LoadedObject& object : objects_) unload_object(&object);
}

const EmulatedCode::Entry* EmulatedCode::find(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  return found != entries_.end() ? &*found : nullptr;
}

Result<EmulatedKernel> EmulatedKernel::load(const Kernel& kernel) {
  if (kernel.format != CodeFormat::emulated)
    return Error{std::string("emulation runs kernels of format emulated; this one is ") + name_of(kernel.format)};
  WHET_TRY(EmulatedCode code, EmulatedCode::load(kernel.code));
  for (const Launch& launch : kernel.launches)
    if (code.find(launch.entry) == nullptr) return Error{"the emulated code has no entry " + launch.entry};
  return EmulatedKernel(std::move(code), kernel.launches);
}

Status EmulatedKernel::run(std::span<void* const> arguments, const EmulateOptions& options) const {
  for (std::size_t launch = 0; launch < launches_.size(); ++launch)
    WHET_RETURN_IF_ERROR(run(launch, arguments, options));
  return ok_status();
}

Status EmulatedKernel::run(std::size_t number, std::span<void* const> arguments, const EmulateOptions& options) const {
  const Launch& launch = launches_[number];
  const EmulatedGrid grid = {code_.find(launch.entry)->function, arguments.data(), launch.grid.x, launch.block.x,
                             launch.block_memory};
  const Status status = run_emulated(grid, options);
  if (!status.ok()) return status.error().at(launch.entry);
  return ok_status();
}

}  // namespace whet
