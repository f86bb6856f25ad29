#pragma once

// The plan of a library for several sizes (docs/formats/model.md): the sizes, and a whole plan (model_format.h) for each
// choice of their values. Plain structs and a parser that allocates nothing, as there.

#include <cstdint>

#include "artifact/model_format.h"

namespace whet {

/// Of a plan for several sizes. A plan for one has kPlanVersion, also where it is one of several.
constexpr std::uint32_t kSizedPlanVersion = 3;
constexpr std::uint32_t kMaxSizes = 4;

struct SizedPlanHeader {
  char magic[8];               ///< "whetplan"
  std::uint32_t version;       ///< kSizedPlanVersion
  std::uint32_t header_bytes;  ///< sizeof(SizedPlanHeader)
  std::uint64_t total_bytes;   ///< of everything
  std::uint64_t checksum;      ///< whet_checksum of everything with 0 here
  std::uint32_t usual;         ///< the variant that a session starts with
  std::uint32_t reserved;      ///< 0
  PlanTable sizes;             ///< PlanSize: 1 to kMaxSizes
  PlanTable values;            ///< int64
  PlanTable variants;  ///< PlanVariant: one a choice of values. From one to the next the value of the last size changes
  PlanTable strings;   ///< bytes
  std::uint64_t more[3];  ///< 0
};

/// A size that shapes may have. Dimension `dimension` of input `input` is its value.
struct PlanSize {
  PlanString name;
  std::uint32_t input, dimension;
  std::uint32_t first_value, value_count;  ///< ascending
};

/// A plan at byte `offset`, a multiple of 8.
struct PlanVariant {
  std::uint64_t offset, bytes;
};

/// A stored plan for one size or for several. What it points into has been checked; the plans of the variants have not.
struct SizedView {
  const void* data = nullptr;
  std::uint64_t bytes = 0;
  const SizedPlanHeader* header = nullptr;  ///< null: for one size
  const PlanSize* sizes = nullptr;
  const std::int64_t* values = nullptr;
  const PlanVariant* variants = nullptr;
  const char* strings = nullptr;

  std::uint32_t size_count() const { return header == nullptr ? 0 : header->sizes.count; }
  std::uint32_t variant_count() const { return header == nullptr ? 1 : header->variants.count; }
  std::uint32_t usual() const { return header == nullptr ? 0 : header->usual; }
  const std::int64_t* values_of(std::uint32_t size) const { return values + sizes[size].first_value; }
};

/// Whether the bytes begin as a plan for several sizes does.
bool is_sized_plan(const void* data, std::uint64_t bytes);

/// Fills `view` from a stored plan of either kind, which it points into; `data` is 8-byte aligned. Gives 0, or -1 and a
/// sentence. Of a plan for one size nothing is checked yet.
int parse_sizes(const void* data, std::uint64_t bytes, SizedView* view, whet_error* error);

/// Checks the plan of a variant and fills `plan`. It must have the sizes of its place, and agree with `usual`, the
/// plan of the usual variant, in what sessions keep when shapes change; null: it is that one.
int parse_variant(const SizedView& view, std::uint32_t variant, const ModelView* usual, ModelView* plan,
                  whet_error* error);

/// How many variants lie between two with neighbouring values of a size, the others being equal.
std::uint32_t stride_of(const SizedView& view, std::uint32_t size);
/// The number, among the values of a size, of the one that a variant has.
inline std::uint32_t value_number(const SizedView& view, std::uint32_t size, std::uint32_t variant) {
  return variant / stride_of(view, size) % view.sizes[size].value_count;
}

}  // namespace whet
