// Emulated kernels of 1,000 floats for tests, as an object file. Arguments: from, to, workspace.
#include "artifact/emulated_block.h"

enum { kSize = 1000 };

static uint32_t element(const whet_block* t) { return t->block * t->threads + t->thread; }

int32_t add_one(whet_block* t) {
  const uint32_t i = element(t);
  if (i < kSize) ((float*)t->arguments[1])[i] = ((const float*)t->arguments[0])[i] + 1;
  return 0;
}

/// The elements of each block in reverse, through its memory.
int32_t turn(whet_block* t) {
  const uint32_t i = element(t);
  float* const memory = (float*)t->memory;
  if (i < kSize) memory[t->thread] = ((const float*)t->arguments[0])[i];
  t->barrier(t);
  if (i < kSize) ((float*)t->arguments[1])[i] = memory[t->threads - 1 - t->thread];
  return 0;
}

int32_t stuck(whet_block* t) {
  if (t->thread != 7) t->barrier(t);
  return 0;
}

/// Stores behind the end of what it is given.
int32_t beyond(whet_block* t) {
  ((volatile float*)t->arguments[1])[2000 + element(t)] = 0;
  return 0;
}
