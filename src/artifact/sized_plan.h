#pragma once

// The plan of a library for several sizes (docs/formats/model.md): the sizes, and whole plans (model_format.h), each for some
// boxes of their values. What changes within a box is a number that is a function of the sizes. Plain structs and a parser
// that allocates nothing, as there.

#include <cstdint>

#include "artifact/model_format.h"

namespace whet {

/// Of a plan for several sizes. A plan for one has kPlanVersion, also where it is one of several.
constexpr std::uint32_t kSizedPlanVersion = 3;
constexpr std::uint32_t kMaxSizes = 4;
constexpr std::uint32_t kMaxVariants = 4096, kMaxBoxes = 4096;
/// A kernel's own sizes have this room in PlanPlace::sizes.
constexpr std::uint64_t kSlotBytes = 64;
constexpr std::uint32_t kSlotValues = kSlotBytes / sizeof(std::int64_t);

struct SizedPlanHeader {
  char magic[8];               ///< "whetplan"
  std::uint32_t version;       ///< kSizedPlanVersion
  std::uint32_t header_bytes;  ///< sizeof(SizedPlanHeader)
  std::uint64_t total_bytes;   ///< of everything
  std::uint64_t checksum;      ///< whet_checksum of everything with 0 here
  std::uint32_t usual;         ///< the variant that a session starts with, at the least sizes of its first box
  std::uint32_t reserved;      ///< 0
  PlanTable sizes;             ///< PlanSize: 1 to kMaxSizes
  PlanTable values;            ///< int64
  PlanTable variants;          ///< PlanVariant: 1 to kMaxVariants
  PlanTable boxes;             ///< PlanBox: 1 to kMaxBoxes; the first that has the sizes counts
  PlanTable numbers;           ///< PlanNumber
  PlanTable fields;            ///< PlanField
  PlanTable strings;           ///< bytes
  std::uint64_t more[3];       ///< 0
};

/// A size that shapes may have. Dimension `dimension` of input `input` is its value: one of those listed, or each step-th
/// from min to max.
struct PlanSize {
  PlanString name;
  std::uint32_t input, dimension;
  std::uint32_t first_value, value_count;  ///< ascending; none: the whole range
  std::int64_t min, max;
  std::int64_t step;  ///< 0 where the values are listed
};

/// The sizes of a variant: from low to high, one value a size each, both included.
struct PlanBox {
  std::uint32_t variant;
  std::uint32_t first_value;  ///< of the low ones; the high ones follow
};

/// A plan at byte `offset`, a multiple of 8, and what changes in it with the sizes. Numbers and fields are those behind the ones of
/// the variant before, and so is the plan: a file is read in time of its length.
struct PlanVariant {
  std::uint64_t offset, bytes;
  std::uint32_t first_number, number_count;
  std::uint32_t first_field, field_count;  ///< none: the plan is for one point
  std::uint32_t slots;     ///< lists of kSlotBytes in PlanPlace::sizes; 0 where nothing changes, and on devices
  std::uint32_t reserved;  ///< 0
};

enum class PlanNumberOp : std::uint32_t {
  constant = 0,  ///< a
  size = 1,      ///< the value of size a
  // Of the numbers a and b of the variant, which stand before it. Integers wrap.
  add = 2,
  sub = 3,
  mul = 4,
  floordiv = 5,  ///< b is a constant of 1 or more, as for floormod
  floormod = 6,
  min = 7,
  max = 8,
};
struct PlanNumber {
  PlanNumberOp op;
  std::uint32_t b;
  std::int64_t a;
};

enum class PlanFieldKind : std::uint32_t {
  extent = 0,      ///< dims[index]
  offset = 1,      ///< of arguments[index]
  bytes = 2,       ///< of arguments[index]
  value = 3,       ///< the index-th int64 of PlanPlace::sizes
  step_flops = 4,  ///< of steps[index]
  step_bytes = 5,  ///< of steps[index]
};
/// A field of a variant's plan, and the number of the variant that it is.
struct PlanField {
  PlanFieldKind kind;
  std::uint32_t index, number;
};

/// A stored plan for one size or for several. What it points into has been checked; the plans of the variants have not.
struct SizedView {
  const void* data = nullptr;
  std::uint64_t bytes = 0;
  const SizedPlanHeader* header = nullptr;  ///< null: for one size
  const PlanSize* sizes = nullptr;
  const std::int64_t* values = nullptr;
  const PlanVariant* variants = nullptr;
  const PlanBox* boxes = nullptr;
  const PlanNumber* numbers = nullptr;
  const PlanField* fields = nullptr;
  const char* strings = nullptr;
  std::uint32_t usual_box = 0;

  std::uint32_t size_count() const { return header == nullptr ? 0 : header->sizes.count; }
  std::uint32_t variant_count() const { return header == nullptr ? 1 : header->variants.count; }
  std::uint32_t box_count() const { return header == nullptr ? 0 : header->boxes.count; }
  std::uint32_t usual() const { return header == nullptr ? 0 : header->usual; }
  /// Whether numbers of the variant's plan change with the sizes.
  bool changes(std::uint32_t variant) const { return header != nullptr && variants[variant].field_count > 0; }
  const std::int64_t* values_of(std::uint32_t size) const { return values + sizes[size].first_value; }
  const std::int64_t* low_of(std::uint32_t box) const { return values + boxes[box].first_value; }
  const std::int64_t* high_of(std::uint32_t box) const { return low_of(box) + size_count(); }
  /// One a size; null for one size.
  const std::int64_t* usual_values() const { return header == nullptr ? nullptr : low_of(usual_box); }
};

/// Whether the bytes begin as a plan for several sizes does.
bool is_sized_plan(const void* data, std::uint64_t bytes);

/// Fills `view` from a stored plan of either kind, which it points into; `data` is 8-byte aligned. Gives 0, or -1 and a
/// sentence. Of a plan for one size nothing is checked yet.
int parse_sizes(const void* data, std::uint64_t bytes, SizedView* view, whet_error* error);

/// Checks the plan of a variant and fills `plan`. Where nothing changes in it, it must have the sizes of its boxes; it must agree with
/// `usual`, the plan of the usual variant, in what sessions keep when shapes change; null: it is that one.
int parse_variant(const SizedView& view, std::uint32_t variant, const ModelView* usual, ModelView* plan,
                  whet_error* error);

/// The variant that has these values of the sizes; variant_count() where none has. Of a plan for one size it is the only one.
std::uint32_t variant_of(const SizedView& view, const std::int64_t* values);

/// A variant's plan at values of its sizes.
struct PlanAt {
  ModelView view;         ///< points into the memory, and into the stored plan
  char* sizes = nullptr;  ///< PlanPlace::sizes
};
/// Bytes of memory that plan_at needs.
std::uint64_t plan_at_bytes(const SizedView& view, std::uint32_t variant, const ModelView& plan);
/// Evaluates the numbers of a variant and puts them into a copy of what changes of its plan.
///   plan    as parse_variant gave it
///   values  of the sizes
///   memory  plan_at_bytes, 64-byte aligned
/// Gives 0, or -1 and a sentence where the plan is damaged.
int plan_at(const SizedView& view, std::uint32_t variant, const ModelView& plan, const std::int64_t* values,
            void* memory, PlanAt* at, whet_error* error);

}  // namespace whet
