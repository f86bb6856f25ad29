#pragma once

// How an emulated GPU kernel is called. The code is a relocatable object for the host (CodeFormat::emulated) whose
// entries are
//   int32_t entry(whet_block* thread);
// Each thread of a block has a whet_block and a stack of its own, and calls the entry once. The functions below may switch to
// another thread of the block; all others of the block then go on from where they are. C, so that code generation and the
// emulated driver agree on the layout.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct whet_block whet_block;
struct whet_block {
  void* const* arguments;  ///< the kernel's arguments, behind them its workspace
  unsigned char* memory;   ///< block memory, 128-byte aligned, of the launch's size
  uint32_t thread;         ///< 0 .. threads - 1
  uint32_t threads;        ///< of the block, a multiple of 32
  uint32_t block;          ///< 0 .. blocks - 1
  uint32_t blocks;         ///< of the grid
  void* scheduler;         ///< the caller's own

  /// All threads of the block meet.
  void (*barrier)(whet_block*);
  /// All threads of the warp meet, and each gets what thread `thread ^ mask` gave (mask < 32).
  uint32_t (*exchange)(whet_block*, uint32_t bits, uint32_t mask);
  /// An asynchronous copy of 4, 8 or 16 bytes; `valid` of them are read, the rest of `to` becomes 0. It lands between now
  /// and the `wait` for its group.
  void (*copy)(whet_block*, void* to, const void* from, uint32_t bytes, uint32_t valid);
  void (*commit)(whet_block*);
  void (*wait)(whet_block*, uint32_t pending);

  /// All threads of the warp meet. Thread 8m + r gives row r of matrix m, four words in block memory; `words` gets word
  /// t % 4 of row t / 4 of each matrix, where t is the thread's number in the warp.
  void (*load_rows)(whet_block*, const void* row, uint32_t words[4]);
  /// All threads of the warp meet, and `sums` becomes sums + left · right, the fragments of a tile as NVIDIA's PTX ISA lays
  /// them out. One kind for all threads.
  void (*multiply)(whet_block*, uint32_t kind, const uint32_t left[4], const uint32_t right[2], uint32_t sums[4]);
  /// As load_rows, of rows of eight f16: `words` gets the elements of column t / 4 in rows 2 (t % 4) and 2 (t % 4) + 1.
  void (*load_turned_rows)(whet_block*, const void* row, uint32_t words[4]);
};

/// Kinds of tiles: 16 x 8 f32 sums of 8 products of tf32, of 16 of f16 or bf16; i32 sums of 32 products of i8 or u8 by i8.
enum { WHET_TILE_TF32 = 0, WHET_TILE_F16 = 1, WHET_TILE_BF16 = 2, WHET_TILE_S8 = 3, WHET_TILE_U8 = 4 };

#ifdef __cplusplus
}
#endif
