#pragma once

#include <span>
#include <string>
#include <string_view>

#include "program/intrinsic.h"
#include "target/cpu.h"

namespace llvm {
class IRBuilderBase;
class MCSubtargetInfo;
class MachineFunctionPass;
class Value;
}  // namespace llvm

namespace whet {

/// The instructions of a processor that the emitter asks for.
struct CpuFeatures {
  bool round = false;               ///< floor, ceil and round
  bool half = false;                ///< f16 <-> f32
  bool bf16 = false;                ///< f32 -> bf16, of any number of lanes
  bool bf16_products = false;       ///< sums of two products of bf16
  bool dot_products = false;        ///< sums of four products of bytes
  bool mixed_dot_products = false;  ///< of bytes without a sign with bytes that have one
  bool masked_loads = false;        ///< masked loads of vectors of 4 and 8 bytes
  int dot_lanes = 0;            ///< sums of a vector that `dot_product` takes and that bytes of rows may be joined for
  int pair_lanes = 0;           ///< sums of a vector that `pair_product` takes
  int product_lanes = 0;        ///< sums of a vector that `product` takes
  bool permutes_bytes = false;  ///< bytes of a vector of 64 by one instruction
  bool permutes_words = false;  ///< words of 16 bits of such a vector
};

struct TileShape {
  int rows = 0, bytes = 0;  ///< bytes of a row
};
/// A unit of registers that hold matrices, tiles 0 to 7 of up to 16 rows of up to 64 bytes. A thread that has configured it
/// keeps its tiles until it releases them.
struct TileUnit {
  static constexpr int kTiles = 8;
  /// The 64 bytes that say how many rows of how many bytes each tile has.
  std::string (*shapes)(std::span<const TileShape> tiles);
  void (*configure)(llvm::IRBuilderBase&, llvm::Value* shapes);
  void (*zero)(llvm::IRBuilderBase&, int tile);
  /// Rows are `stride` bytes apart, an i64.
  void (*load)(llvm::IRBuilderBase&, int tile, llvm::Value* address, llvm::Value* stride);
  void (*store)(llvm::IRBuilderBase&, int tile, llvm::Value* address, llvm::Value* stride);
  /// sums += a * b, of words as in Intrinsic::tile_bf16 or tile_u8.
  void (*multiply)(llvm::IRBuilderBase&, Intrinsic, int sums, int a, int b);
  void (*release)(llvm::IRBuilderBase&);
};

/// One of LLVM's architectures for CPUs, and how whet uses it.
struct Architecture {
  const char* triple;
  const char* name;                       ///< for messages: "x86-64"
  void (*initialize)();                   ///< called once in a process
  std::span<const char* const> left_out;  ///< LLVM's passes that are not run, by the names that they give themselves
  CpuFeatures (*features)(const llvm::MCSubtargetInfo&);
  /// A pass of whet's own that runs when phis have been removed; null: none.
  llvm::MachineFunctionPass* (*make_accumulate_pass)();
  /// sums[i] + x[4i] * w[4i] + ... + x[4i+3] * w[4i+3] for 16 sums of i32, or `dot_lanes` of them; x: u8, w: i8, both as
  /// words. Called only where `dot_products`, and vectors of the target have as many bytes as the next line says, or more.
  llvm::Value* (*dot_product)(llvm::IRBuilderBase&, const CpuFeatures&, llvm::Value* sums, llvm::Value* x,
                              llvm::Value* w);
  int dot_product_vector_bytes;
  /// sums[i] + x[2i] * w[2i] + x[2i+1] * w[2i+1] of numbers of i16, two in a word. Null: there is no such instruction.
  llvm::Value* (*pair_product)(llvm::IRBuilderBase&, const CpuFeatures&, llvm::Value* sums, llvm::Value* x,
                               llvm::Value* w);
  /// sums[i] + x[2i] * w[2i] + x[2i+1] * w[2i+1] for 16 sums of f32; x, w: bf16, two in a word. Called only where `bf16_products`.
  llvm::Value* (*bf16_product)(llvm::IRBuilderBase&, const CpuFeatures&, llvm::Value* sums, llvm::Value* x,
                               llvm::Value* w);
  /// sums[i] + x[i] * w[i] of numbers of i16, `product_lanes` of them. Null: there is no such instruction.
  llvm::Value* (*product)(llvm::IRBuilderBase&, llvm::Value* sums, llvm::Value* x, llvm::Value* w);
  const TileUnit* tile_unit = nullptr;  ///< null: there is none
  /// Words of one byte of each row, the first one lowest; up to four rows, as many words as bytes in a row.
  /// `order`: what `byte_order` made, at the beginning of the function.
  llvm::Value* (*join_bytes)(llvm::IRBuilderBase&, const CpuFeatures&, llvm::Value* order,
                             std::span<llvm::Value* const> rows);
  llvm::Value* (*byte_order)(llvm::IRBuilderBase&, const CpuFeatures&);
  /// table[bytes[i]] of a table of 256 bytes. Gives null for vectors of which the processor has no instruction for that. May be null
  /// itself.
  llvm::Value* (*look_up)(llvm::IRBuilderBase&, const CpuFeatures&, llvm::Value* table, llvm::Value* bytes);
  /// f32 rounded to the nearest i32, half to even, by one instruction.
  /// Gives null for vectors of which the processor has no such instruction. May be null itself.
  llvm::Value* (*nearest_integers)(llvm::IRBuilderBase&, const CpuFeatures&, llvm::Value*);
  /// Loads reach addresses from -256 to this many bytes behind a register; 0: any whose distance has 32 bits.
  std::int64_t address_reach;
  bool multiplies_by_lane;  ///< a product of vectors of f32 takes one lane of a vector of four for all of a factor's
  // Machine code, by LLVM's names of registers and opcodes.
  std::string_view stack_pointer, frame_pointer;
  bool (*is_vector_register)(std::string_view name);
  bool (*is_multiply_add)(std::string_view opcode);  ///< fused
};

/// Makes LLVM know the architecture; again has no effect. Safe to call from several threads.
void initialize(const Architecture&);

/// The architecture of a CPU (cpu/architectures.cc).
const Architecture& architecture_of(const CpuTarget&);

}  // namespace whet
