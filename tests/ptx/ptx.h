#pragma once

// The PTX that whet emits, read for the interpreter of machine.h. Source: NVIDIA's PTX ISA 8.5.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace whet::ptx {

enum class Type : std::uint8_t { none, pred, b8, b16, b32, b64, u8, u16, u32, u64, s8, s16, s32, s64, f16, f32, f64 };
/// 1 of pred.
int bits_of(Type);
bool is_signed(Type);
bool is_float(Type);

enum class Op : std::uint8_t {
  // Of each lane alone.
  absolute,
  add,
  bit_and,
  bit_not,
  bit_or,
  bit_xor,
  compare,
  convert,
  convert_bf16x2,
  convert_f16x2,
  convert_tf32,
  convert_tf32_to_even,
  copysign,
  divide,
  dp4a,
  exp2,
  extract_bits,
  fma,
  funnel_left,
  funnel_right,
  insert_bits,
  maximum,
  minimum,
  move,
  multiply,
  multiply_add,
  multiply_high,
  multiply_wide,
  negate,
  pack,
  permute,
  reciprocal,
  remainder,
  rsqrt,
  select,
  shift_left,
  shift_right,
  sqrt,
  subtract,
  unpack,
  // Memory.
  bulk_copy,
  copy,
  copy_commit,
  copy_wait,
  load,
  pixel_copy,
  prefetch,
  store,
  tensor_copy,
  mbarrier_arrive,
  mbarrier_expect,
  mbarrier_init,
  mbarrier_wait,
  // All lanes of a warp meet.
  barrier,
  group_commit,
  group_multiply,
  group_wait,
  give_registers,
  load_matrices,
  load_turned_matrices,
  multiply_tile,
  shuffle,
  take_registers,
  // Control.
  branch,
  leave,
  nothing,
};
bool is_collective(Op);

enum class Comparison : std::uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
/// Of a conversion: to the nearest, towards zero, down or up; of an integral one to an integer.
enum class Rounding : std::uint8_t { none, nearest, zero, down, up };
enum class Space : std::uint8_t { generic, global, shared, local, param };
/// Operands of a tile of mma.sync.
enum class Tile : std::uint8_t { tf32, f16, bf16, s8, u8 };

/// Addresses. A window is far larger than what is in it, and a buffer is in the middle of its part of the global one, so that an
/// access beside it belongs to no other.
constexpr std::uint64_t kSharedWindow = 0x400, kSharedBytes = 0x40000, kParamWindow = 1ull << 32,
                        kLocalWindow = 2ull << 32, kGlobalWindow = 1ull << 40, kBufferWindow = 1ull << 33;
constexpr int kLanes = 32;
constexpr int kSink = 0;  ///< the slot that `_` stands for

struct Address {
  int slot = kSink;
  bool narrow = false;  ///< the slot is a register of 32 bits
  std::int64_t offset = 0;
};

/// Operands are slots of a warp's register file, 32 words of 64 bits each: registers, and what is written there before the warp
/// starts (Fill).
struct Instruction {
  Op op = Op::nothing;
  Type type = Type::none, from = Type::none;
  Comparison comparison = Comparison::eq;
  Rounding rounding = Rounding::none;
  Space space = Space::generic;
  Tile tile = Tile::tf32;
  bool integral = false;  ///< rounds to an integer
  bool flushes = false;   ///< ftz: subnormal f32 are zeros
  bool saturates = false;
  bool gives_nan = false;  ///< of minima and maxima: where an operand is NaN
  bool wraps = false;      ///< the amount of a shift
  bool read_only = false;  ///< ld.global.nc
  int width = 1;           ///< elements of a load or store
  int guard = -1;          ///< the slot of a predicate; -1: none
  bool guard_is = true;
  int target = 0;           ///< of a branch
  int columns = 0;          ///< of wgmma
  std::int64_t number = 0;  ///< bytes of a copy; groups that a wait leaves pending; registers of a thread
  std::vector<int> results, operands;
  std::vector<Address> addresses;
  int kind = 0;  ///< its text is Entry::kinds[kind]
  int line = 0;
};

struct Fill {
  enum class Kind : std::uint8_t { literal, thread, block, threads, blocks };
  int slot = 0;
  Kind kind = Kind::literal;
  std::uint64_t value = 0;  ///< of a literal
};

/// A pointer, or a tensor map of 128 bytes.
struct Parameter {
  std::string name;
  std::int64_t bytes = 8, offset = 0;
};
constexpr std::int64_t kTensorMapBytes = 128;

struct Entry {
  std::string name;
  std::vector<Parameter> parameters;
  int most_threads = 0;  ///< .maxntid; 0: unknown
  int slots = 1;
  std::int64_t local_bytes = 0;  ///< of a thread
  std::vector<Fill> fills;
  std::vector<Instruction> code;
  std::vector<std::string> kinds;  ///< "fma.rn.ftz.f32", ...
};

struct Module {
  std::string version, target;  ///< "" where the text does not have them
  std::vector<Entry> entries;

  /// Null where there is none of this name.
  const Entry* find(std::string_view name) const;
};

/// Reads a module. An error names the line and what is there that whet does not emit, or that PTX does not have.
Result<Module> parse(std::string_view text);

}  // namespace whet::ptx
