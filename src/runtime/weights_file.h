#pragma once

#include <time.h>

#include <cstdint>

#include "runtime/lost_pages.h"
#include "runtime/memory.h"
#include "whet/model.h"

namespace whet {

/// What a weights file has to be, to be a model's.
struct WeightsOf {
  const char* model;  ///< its name
  std::uint64_t key, bytes;
};

/// The weights of a model whose library has none. Zeros where there are none yet.
struct OwnWeights {
  const char* data;  ///< 64-byte aligned
  Pages copy;        ///< the file as it was read
  void* mapped;      ///< the file itself; null: it is not mapped
  std::uint64_t mapped_bytes;
  int file_and_one;       ///< of `mapped`: the open file, counted from 1
  WatchedPages* watched;  ///< of `mapped`
  timespec written;       ///< when `mapped` was last
};

/// Takes the weights from a file or from the program's memory.
///   map  nothing is copied: the file is mapped, or the memory used where it is aligned
/// Errors: a file that cannot be read, or is cut while it is; one of another format, damaged or of another compile; both at once.
int open_weights(const WeightsOf&, const whet_open_source&, bool map, OwnWeights*, whet_error*);
void close_weights(OwnWeights*);
/// Fails where a mapped file was cut or written to since, or could not be read while `watched` was in use: what was computed by it is no
/// answer.
int check_weights(const OwnWeights&, whet_error*);

}  // namespace whet
