#pragma once

// Internal to codegen/gpu; shows LLVM.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <string>

#include "program/intrinsic.h"

namespace whet {

/// What a function of a launch is made for.
struct GpuLaunchShape {
  std::string entry;
  std::int64_t blocks = 1, threads = 32;  ///< threads: a multiple of 32
  int arguments = 0;                      ///< of the kernel; a pointer to its workspace follows them
  std::int64_t min_blocks = 0;            ///< that an SM is to hold at once; 0: nothing is asked for
};

/// What the emitter of a GPU's kernels cannot say in plain IR. One object makes one function after the other; each call
/// emits at the builder's insertion point.
class GpuHooks {
 public:
  using Value = llvm::Value;
  using Builder = llvm::IRBuilder<>;
  virtual ~GpuHooks() = default;

  /// f16 <-> f32 are instructions.
  virtual bool has_half() const = 0;
  /// The function may be started before the launches in front of it have ended, and waits for them itself.
  virtual bool starts_early() const = 0;
  /// Makes the function, and leaves the builder at the end of its first block.
  virtual llvm::Function* begin(Builder&, llvm::Module&, const GpuLaunchShape&) = 0;
  virtual void end(Builder&) = 0;

  // Of the function that was begun.
  virtual Value* block(Builder&) = 0;                   ///< i32, 0 .. blocks - 1
  virtual Value* thread(Builder&) = 0;                  ///< i32, 0 .. threads - 1
  virtual Value* argument(Builder&, int position) = 0;  ///< 256-byte aligned; position `arguments`: the workspace
  virtual Value* block_memory(Builder&) = 0;            ///< 128-byte aligned

  /// All threads of the block meet.
  virtual void barrier(Builder&) = 0;
  /// Copies 4, 8 or 16 bytes, which both sides are aligned to. Where `valid`, an i1, is false zeros are stored and nothing
  /// is read; null: true. It lands between now and the wait for its group.
  virtual void copy(Builder&, Value* to, Value* from, int bytes, Value* valid) = 0;
  virtual void commit(Builder&) = 0;
  virtual void wait(Builder&, int pending) = 0;
  /// The i32 that thread ^ mask gives here; all threads of the warp meet.
  virtual Value* exchange(Builder&, Value* bits, int mask) = 0;

  /// a · b + c of f32, rounded once.
  virtual Value* fma(Builder&, Value* a, Value* b, Value* c) = 0;
  // f32, to 2 units in the last place.
  virtual Value* exp2(Builder&, Value*) = 0;
  virtual Value* rsqrt(Builder&, Value*) = 0;
  /// The larger of two f32, or the smaller; a NaN where one of them is. Null: no instruction does so.
  virtual Value* extreme(Builder&, bool larger, Value* a, Value* b) = 0;

  /// sum + Σ left[k] · right[k] over the four bytes of two words. Words and sums are i32. Bytes have a sign, but the left ones of
  /// dp4a_u8 have none.
  virtual Value* dot(Builder&, Intrinsic, Value* left, Value* right, Value* sum) = 0;

  // Tensor cores. All threads of the warp meet; words are i32, fragments as "Matrix fragments" in NVIDIA's PTX ISA has them.
  using Words = std::array<Value*, 4>;
  /// Four matrices of 8 rows of 16 bytes: thread 8m + r gives the 16-byte aligned address of row r of matrix m, in block memory,
  /// and gets word t % 4 of row t / 4 of each.
  virtual Words load_rows(Builder&, Value* row) = 0;
  /// The same of the first two, which threads 0 to 15 give the rows of; the other words are null.
  virtual Words load_two_rows(Builder&, Value* row) = 0;
  /// As load_rows and load_two_rows, of matrices of 8 rows of eight f16: thread t gets of each the elements of column t / 4 in
  /// rows 2 (t % 4), in the low half, and 2 (t % 4) + 1.
  virtual Words load_turned_rows(Builder&, Value* row) = 0;
  virtual Words load_two_turned_rows(Builder&, Value* row) = 0;
  /// sums + left · right of a warp-wide intrinsic; two words of the right operand, four sums of f32 or i32.
  virtual Words multiply(Builder&, Intrinsic, const Words& left, const std::array<Value*, 2>& right,
                         const Words& sums) = 0;
  /// An f32 rounded to tf32, as an i32. Its low 13 bits may be any: tensor cores do not read them.
  virtual Value* tf32_bits(Builder&, Value*) = 0;
  /// Two f32 rounded to what mma_f16 or mma_bf16 reads, as an i32, the first in its low half. Null: no instruction does so.
  virtual Value* pair_bits(Builder&, Intrinsic, Value* first, Value* second) = 0;

  /// The loop that this branch closes is kept as it is.
  virtual void keep_loop(llvm::BranchInst*) = 0;
  /// A hint that memory of an argument or of the workspace will be read.
  virtual void prefetch(Builder&, Value* pointer) = 0;
};

}  // namespace whet
