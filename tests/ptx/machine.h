#pragma once

// Runs PTX on the host, as slowly and plainly as NVIDIA's PTX ISA describes it. It shares nothing with src/emulate: a kernel that both
// run alike was read twice.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "ptx/ptx.h"

namespace whet::ptx {

/// Memory that a parameter points to. The machine places it in its own addresses, 256-byte aligned.
struct GlobalBuffer {
  std::string name;
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
};

/// What cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col make a parameter of. Dimensions are innermost first.
struct TensorMap {
  GlobalBuffer memory;
  std::int64_t element_bytes = 2;
  std::vector<std::int64_t> extents;  ///< [elements]
  std::vector<std::int64_t> strides;  ///< of the second dimension and those behind it [bytes]
  std::vector<std::int64_t> box;      ///< of a tile [elements]; of pixels: channels and pixels of a copy
  std::int64_t swizzle = 128;         ///< bytes of a row whose 16-byte parts are exchanged; 0: none
  // Of pixels alone, by column and row: the first one and, counted from the last one, the last one of a picture's windows.
  std::vector<std::int64_t> lower, upper;
  std::vector<std::int64_t> steps = {1, 1};
};
using Argument = std::variant<GlobalBuffer, TensorMap>;

struct Grid {
  std::uint32_t blocks = 1, threads = 32;
  std::int64_t block_memory = 0;  ///< bytes
};

struct RunOptions {
  std::uint64_t seed = 1;    ///< how far warps drift apart, and which asynchronous copies land at once
  double late = 0.5;         ///< the part of the copies that land when they are waited for
  bool judges_races = true;  ///< block memory that two warps access without a barrier between is an error
  std::int64_t most_instructions = 200'000'000;  ///< of all warps
  std::span<const std::uint32_t> blocks = {};    ///< those that run; empty: all
};

/// Wavefronts that accesses to block memory take, 128 bytes of 32 banks each, and those that they would take without conflicts.
struct Wavefronts {
  std::int64_t taken = 0, least = 0;
};

/// By the text of the instruction, "fma.rn.ftz.f32".
struct Tally {
  std::map<std::string, std::int64_t> instructions;  ///< of warps
  std::map<std::string, Wavefronts> block_memory;
};
/// Sums of all whose text starts so.
std::int64_t instructions_of(const Tally&, std::string_view start);
Wavefronts wavefronts_of(const Tally&, std::string_view start);
void add(Tally& sum, const Tally&);

/// Runs a launch. Block memory and registers hold NaN at first.
///   arguments  one a parameter
///   Errors   say the line, the instruction and the thread: an access outside of every buffer, beside its alignment, or to bytes that
///            an asynchronous copy may still write; a race of two warps in block memory; a part of a warp where all must meet; warps
///            that wait for ever; copies that a thread leaves behind
Result<Tally> run(const Entry&, const Grid&, const std::vector<Argument>& arguments, const RunOptions& = {});

}  // namespace whet::ptx
