#include "compiler/cpu/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "compiler/cpu/archive.h"
#include "compiler/cpu/image_object.h"
#include "compiler/cpu/link.h"
#include "compiler/cpu/required_isa.h"
#include "compiler/cpu/weights_file.h"
#include "compiler/scratch.h"
#include "runtime/cpu/embedded_aarch64.h"
#include "runtime/embedded.h"
#include "tensor_files/file.h"

namespace whet {
namespace {

/// What a library for a processor is made with.
struct Machine {
  std::uint16_t elf;
  std::string_view runtime;
};

Result<Machine> machine_of(const Target& target) {
  if (target.cpu().isa == Isa::x86_64) return Machine{kElfX86_64, cpu_runtime_object()};
  if (!aarch64_runtime_object().empty()) return Machine{kElfAArch64, aarch64_runtime_object()};
  return Error{"this whet writes no libraries for " + to_string(target) +
               ": clang 19 or Debian's cross packages for arm64 were missing when it was built (scripts/bootstrap)"};
}

/// The instruction sets of the tiles that the kernel multiplies by.
IsaSet tiles_of(const CompiledTask& task, const CpuTarget& cpu) {
  IsaSet tiles = 0;
  for_each(
      task.lowered.program.body,
      [&](const Stmt& part) {
        const auto* loop = std::get_if<Loop>(&part->kind);
        if (!loop) return;
        if (loop->intrinsic == Intrinsic::tile_bf16 && cpu.bf16_tiles) tiles |= isa_set("amx-tile", "amx-bf16");
        if (loop->intrinsic == Intrinsic::tile_u8 && cpu.byte_tiles) tiles |= isa_set("amx-tile", "amx-int8");
      },
      nullptr);
  return tiles;
}

/// The weights as an object has them: code reaches 2 GB, some of them its own.
Result<std::string> weights_in_code(const WeightTable& weights) {
  constexpr std::uint64_t kMostBytes = 1'500'000'000;
  if (weights.bytes() > kMostBytes)
    return Error{fmt::format("the archive's weights are {:.1f} GB, and a program's code can address 1.5 GB of them; "
                             "give --weights-file FILE, or compile a library (.so)",
                             static_cast<double>(weights.bytes()) / 1e9),
                 ErrorKind::limit};
  std::string bytes(weights.bytes(), '\0');
  for (const WeightPiece& piece : weights.pieces()) std::memcpy(bytes.data() + piece.offset, piece.data, piece.bytes);
  return bytes;
}

}  // namespace

Status write_cpu_library(AssembledLibrary& library, const std::vector<CompiledTask>& tasks, const Target& target,
                         const std::string& output, const CompileOptions& options) {
  WHET_TRY(const Machine machine, machine_of(target));
  IsaSet tiles = 0;
  for (const CompiledTask& task : tasks) tiles |= tiles_of(task, target.cpu());
  WHET_TRY(const std::string needed, required_isa(target, tiles));
  for (AssembledModel& variant : library.variants) variant.plan.required_isa = needed;
  const bool own_file = !options.weights_file.empty();
  const std::uint64_t key = own_file ? weights_key(library, tasks) : 0;
  if (!options.like.empty()) {
    WHET_RETURN_IF_ERROR(check_like(options.like, library, key));
    return write_weights_file(library.weights, key, options.weights_file);
  }
  WHET_TRY(const ScratchDirectory scratch, ScratchDirectory::make());
  std::vector<std::string> objects, symbols;
  const auto write = [&](const std::string& name, const std::string& object) -> Status {
    objects.push_back(scratch.path() + "/" + name + ".o");
    std::ofstream file(objects.back(), std::ios::binary);
    file << object << std::flush;
    if (!file) return Error{objects.back() + ": cannot write: " + std::strerror(errno)};
    return ok_status();
  };
  for (const CompiledTask& task : tasks) {
    symbols.push_back(task.kernel.launches.at(0).entry);
    WHET_RETURN_IF_ERROR(write(symbols.back(), task.kernel.code));
  }
  const std::string plan = stored_plan(library);
  const int threads = std::max(1, options.jobs);
  // The weights first: a library has its own, or none that are newer.
  if (own_file) WHET_RETURN_IF_ERROR(write_weights_file(library.weights, key, options.weights_file));
  if (options.archive.empty()) {
    WHET_RETURN_IF_ERROR(write("image", image_object(machine.elf, plan, symbols, library.weights.bytes(), key)));
    return link_model(machine.runtime, objects, own_file ? WeightTable() : library.weights, output, scratch.path(),
                      threads, key);
  }
  if (own_file) {
    WHET_RETURN_IF_ERROR(write("image", image_object(machine.elf, plan, symbols, library.weights.bytes(), key)));
  } else {
    WHET_TRY(std::string weights, weights_in_code(library.weights));
    WHET_RETURN_IF_ERROR(write("image", image_object_with(machine.elf, plan, symbols, std::move(weights))));
  }
  WHET_RETURN_IF_ERROR(write_archive(machine.runtime, objects, options.archive, output, scratch.path(), threads));
  if (options.header.empty()) return ok_status();
  const AssembledModel& usual = library.variants[library.usual];
  return write_file(options.header, c_header(options.archive, usual.plan, !library.sizes.empty(), own_file));
}

}  // namespace whet
