#pragma once

// The checks that both kinds of stored plans share. Internal to their parsers, which allocate nothing.

#include <stddef.h>
#include <string.h>

#include <cstdint>

#include "artifact/model_format.h"

namespace whet {

/// What every stored plan begins with.
struct PlanFrame {
  char magic[8];
  std::uint32_t version, header_bytes;
  std::uint64_t total_bytes, checksum;
};
static_assert(sizeof(PlanFrame) == 32 && offsetof(PlanHeader, version) == offsetof(PlanFrame, version) &&
              offsetof(PlanHeader, checksum) == offsetof(PlanFrame, checksum));

using Wide = unsigned long long;

/// True where [offset, offset + bytes) lies in [0, size).
inline bool inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

/// Whether `data` is a whole plan of this version, with a header of this size: 0, or -1 and a sentence.
int check_plan_frame(const void* data, std::uint64_t bytes, std::uint32_t version, std::uint32_t header_bytes,
                     whet_error* error);

/// Whether a table of entries of `entry_bytes` bytes lies behind the header, aligned: 0, or -1 and a sentence.
int check_plan_range(const char* what, PlanTable table, int entry_bytes, int alignment, std::uint32_t header_bytes,
                     std::uint64_t total_bytes, whet_error* error);

/// The same; then `out` points to it.
template <typename T>
int check_plan_table(const char* what, PlanTable table, const void* data, std::uint32_t header_bytes,
                     std::uint64_t total_bytes, const T** out, whet_error* error) {
  if (check_plan_range(what, table, sizeof(T), alignof(T), header_bytes, total_bytes, error) != 0) return -1;
  *out = reinterpret_cast<const T*>(static_cast<const char*>(data) + table.offset);
  return 0;
}

/// Whether a string lies among `size` bytes of strings, with one zero at its end.
int check_plan_string(const char* what, std::uint32_t index, PlanString s, const char* strings, std::uint32_t size,
                      whet_error* error);

}  // namespace whet
