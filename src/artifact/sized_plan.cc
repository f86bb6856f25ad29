#include "artifact/sized_plan.h"

#include "artifact/plan_checks.h"

namespace whet {
namespace {

static_assert(sizeof(SizedPlanHeader) == 120 && sizeof(PlanSize) == 48 && sizeof(PlanBox) == 8 &&
                  sizeof(PlanVariant) == 40 && sizeof(PlanNumber) == 16 && sizeof(PlanField) == 12,
              "the plan's structs are stored: their layout never changes within a version");

bool is_range(std::int64_t min, std::int64_t max, std::int64_t step) {
  constexpr std::int64_t kLargest = (std::int64_t{1} << 31) - 1;
  return min >= 1 && min <= max && max <= kLargest && step >= 1 && (max - min) % step == 0;
}

int check_size(const SizedView& view, std::uint32_t k, whet_error* error) {
  const PlanSize& size = view.sizes[k];
  if (check_plan_string("size", k, size.name, view.strings, view.header->strings.count, error) != 0) return -1;
  if (size.value_count == 0 && is_range(size.min, size.max, size.step)) return 0;
  bool good =
      size.value_count > 0 && size.step == 0 && inside(size.first_value, size.value_count, view.header->values.count);
  for (std::uint32_t i = 0; good && i < size.value_count; ++i)
    good = view.values_of(k)[i] > (i == 0 ? 0 : view.values_of(k)[i - 1]);
  if (good && size.min == view.values_of(k)[0] && size.max == view.values_of(k)[size.value_count - 1]) return 0;
  return whet_fail(error,
                   "the model's plan: size %u has %u values from %u on; expected positive ones, ascending, among the "
                   "%u stored, or a range",
                   k, size.value_count, size.first_value, view.header->values.count);
}

int check_box(const SizedView& view, std::uint32_t b, whet_error* error) {
  const PlanBox& box = view.boxes[b];
  const std::uint32_t sizes = view.size_count();
  bool good = box.variant < view.variant_count() &&
              inside(box.first_value, std::uint64_t{2} * sizes, view.header->values.count);
  for (std::uint32_t k = 0; good && k < sizes; ++k)
    good = view.sizes[k].min <= view.low_of(b)[k] && view.low_of(b)[k] <= view.high_of(b)[k] &&
           view.high_of(b)[k] <= view.sizes[k].max;
  if (good) return 0;
  return whet_fail(error,
                   "the model's plan: box %u has values from %u on, for variant %u; expected some of each size, and "
                   "one of the %u variants",
                   b, box.first_value, box.variant, view.variant_count());
}

int check_number(const SizedView& view, std::uint32_t variant, std::uint32_t i, whet_error* error) {
  const PlanNumber* numbers = view.numbers + view.variants[variant].first_number;
  const PlanNumber& n = numbers[i];
  bool good = true;
  if (n.op == PlanNumberOp::size) {
    good = n.a >= 0 && n.a < view.size_count();
  } else if (n.op != PlanNumberOp::constant) {
    good = n.op <= PlanNumberOp::max && n.a >= 0 && n.a < i && n.b < i;
    if (good && (n.op == PlanNumberOp::floordiv || n.op == PlanNumberOp::floormod))
      good = numbers[n.b].op == PlanNumberOp::constant && numbers[n.b].a >= 1;
  }
  if (good) return 0;
  return whet_fail(error,
                   "the model's plan: number %u of variant %u is of kind %u; expected a constant, one of the %u sizes, "
                   "or arithmetic of numbers before it",
                   i, variant, static_cast<unsigned>(n.op), view.size_count());
}

int check_variant(const SizedView& view, std::uint32_t v, whet_error* error) {
  const PlanVariant& variant = view.variants[v];
  if (variant.offset % 8 != 0 || variant.offset < sizeof(SizedPlanHeader) ||
      !inside(variant.offset, variant.bytes, view.bytes)) {
    return whet_fail(error, "the model's plan: variant %u is at %llu, %llu bytes; expected it inside the %llu bytes", v,
                     Wide(variant.offset), Wide(variant.bytes), Wide(view.bytes));
  }
  if (!inside(variant.first_number, variant.number_count, view.header->numbers.count) ||
      !inside(variant.first_field, variant.field_count, view.header->fields.count)) {
    return whet_fail(error,
                     "the model's plan: variant %u has %u numbers and %u fields; expected them among the %u and %u "
                     "stored",
                     v, variant.number_count, variant.field_count, view.header->numbers.count,
                     view.header->fields.count);
  }
  if (v > 0) {
    const PlanVariant& before = view.variants[v - 1];
    if (variant.offset < before.offset + before.bytes ||
        variant.first_number != before.first_number + before.number_count ||
        variant.first_field != before.first_field + before.field_count)
      return whet_fail(error,
                       "the model's plan: variant %u begins inside the one before it; expected it behind that one", v);
  }
  for (std::uint32_t i = 0; i < variant.number_count; ++i) {
    if (check_number(view, v, i, error) != 0) return -1;
  }
  return 0;
}

/// Finds the first box of the usual variant.
int find_usual(SizedView* view, whet_error* error) {
  const std::uint32_t count = view->box_count();
  for (view->usual_box = 0; view->usual_box < count; ++view->usual_box) {
    if (view->boxes[view->usual_box].variant == view->usual()) return 0;
  }
  return whet_fail(error, "the model's plan has %u variants, of which %u is the usual one; expected one with sizes",
                   view->variant_count(), view->usual());
}

int check_counts(const SizedView& view, whet_error* error) {
  const SizedPlanHeader& h = *view.header;
  if (h.sizes.count < 1 || h.sizes.count > kMaxSizes) {
    return whet_fail(error, "the model's plan has %u sizes; expected 1 to %u", h.sizes.count, kMaxSizes);
  }
  if (h.variants.count < 1 || h.variants.count > kMaxVariants || h.boxes.count < 1 || h.boxes.count > kMaxBoxes) {
    return whet_fail(error, "the model's plan has %u variants for %u boxes of sizes; expected 1 to %u, and 1 to %u",
                     h.variants.count, h.boxes.count, kMaxVariants, kMaxBoxes);
  }
  return 0;
}

bool is_text(const ModelView& a, PlanString of_a, const ModelView& b, PlanString of_b) {
  return of_a.length == of_b.length && memcmp(a.text(of_a), b.text(of_b), of_a.length) == 0;
}

/// Whether tensors of two variants differ in extents alone.
bool are_alike(const ModelView& a, const PlanTensor* of_a, PlanTable count_a, const ModelView& b,
               const PlanTensor* of_b, PlanTable count_b) {
  bool alike = count_a.count == count_b.count;
  for (std::uint32_t i = 0; alike && i < count_a.count; ++i)
    alike = of_a[i].dtype == of_b[i].dtype && of_a[i].rank == of_b[i].rank && is_text(a, of_a[i].name, b, of_b[i].name);
  return alike;
}

/// Whether both run by the same kernels on the same weights, from inputs to outputs of the same kinds.
bool agree(const ModelView& a, const ModelView& b) {
  return a.header->weights_bytes == b.header->weights_bytes && a.header->entries == b.header->entries &&
         a.header->images_bytes == b.header->images_bytes && is_text(a, a.header->device, b, b.header->device) &&
         are_alike(a, a.inputs, a.header->inputs, b, b.inputs, b.header->inputs) &&
         are_alike(a, a.outputs, a.header->outputs, b, b.outputs, b.header->outputs);
}

/// Whether the plan's inputs have these sizes.
bool has_sizes(const SizedView& view, const ModelView& plan, const std::int64_t* values) {
  for (std::uint32_t k = 0; k < view.size_count(); ++k) {
    const PlanSize& size = view.sizes[k];
    if (size.input >= plan.header->inputs.count || size.dimension >= plan.inputs[size.input].rank) return false;
    if (plan.dims[plan.inputs[size.input].first_dim + size.dimension] != values[k]) return false;
  }
  return true;
}

int refuse_sizes(std::uint32_t variant, whet_error* error) {
  return whet_fail(error, "the model's plan: the inputs of variant %u have other sizes than its place says", variant);
}

/// A plan in which nothing changes is for one point a box.
int check_points(const SizedView& view, std::uint32_t variant, const ModelView& plan, whet_error* error) {
  for (std::uint32_t b = 0; b < view.box_count(); ++b) {
    if (view.boxes[b].variant != variant) continue;
    if (!has_sizes(view, plan, view.low_of(b)) || !has_sizes(view, plan, view.high_of(b)))
      return refuse_sizes(variant, error);
  }
  return 0;
}

int check_fields(const SizedView& view, std::uint32_t v, const ModelView& plan, whet_error* error) {
  const PlanVariant& variant = view.variants[v];
  for (std::uint32_t i = 0; i < variant.field_count; ++i) {
    const PlanField& field = view.fields[variant.first_field + i];
    std::uint64_t count = 0;
    if (field.kind == PlanFieldKind::extent) count = plan.header->dims.count;
    if (field.kind == PlanFieldKind::offset || field.kind == PlanFieldKind::bytes) count = plan.header->arguments.count;
    if (field.kind == PlanFieldKind::value) count = std::uint64_t{variant.slots} * kSlotValues;
    if (field.kind == PlanFieldKind::step_flops || field.kind == PlanFieldKind::step_bytes)
      count = plan.header->steps.count;
    if (field.index < count && field.number < variant.number_count) continue;
    return whet_fail(error,
                     "the model's plan: field %u of variant %u is of kind %u, index %u, number %u; expected one of the "
                     "plan's, and one of %u numbers",
                     i, v, static_cast<unsigned>(field.kind), field.index, field.number, variant.number_count);
  }
  return 0;
}

// ---- A plan at values of its sizes.

std::int64_t value_of(const PlanNumber& n, const std::int64_t* values, const std::int64_t* numbers) {
  if (n.op == PlanNumberOp::constant) return n.a;
  if (n.op == PlanNumberOp::size) return values[n.a];
  const std::int64_t a = numbers[n.a], b = numbers[n.b];
  const std::uint64_t wide_a = static_cast<std::uint64_t>(a), wide_b = static_cast<std::uint64_t>(b);
  switch (n.op) {
    case PlanNumberOp::add:
      return static_cast<std::int64_t>(wide_a + wide_b);
    case PlanNumberOp::sub:
      return static_cast<std::int64_t>(wide_a - wide_b);
    case PlanNumberOp::mul:
      return static_cast<std::int64_t>(wide_a * wide_b);
    case PlanNumberOp::floordiv:
      return a / b - (a % b < 0 ? 1 : 0);
    case PlanNumberOp::floormod:
      return a % b + (a % b < 0 ? b : 0);
    case PlanNumberOp::min:
      return a < b ? a : b;
    case PlanNumberOp::max:
      return a > b ? a : b;
    case PlanNumberOp::constant:
    case PlanNumberOp::size:
      break;
  }
  return 0;
}

/// Where the parts of the memory of plan_at lie, in bytes from its begin.
struct PartsOfMemory {
  std::uint64_t numbers, dims, inputs, outputs, arguments, steps, end;  // sizes come first
};

PartsOfMemory parts_of(const SizedView& view, std::uint32_t v, const ModelView& plan) {
  const PlanVariant& variant = view.variants[v];
  const PlanHeader& header = *plan.header;
  PartsOfMemory parts;
  parts.numbers = variant.slots * kSlotBytes;
  parts.dims = parts.numbers + variant.number_count * sizeof(std::int64_t);
  parts.inputs = parts.dims + header.dims.count * sizeof(std::int64_t);
  parts.outputs = parts.inputs + header.inputs.count * sizeof(PlanTensor);
  parts.arguments = parts.outputs + header.outputs.count * sizeof(PlanTensor);
  parts.steps = parts.arguments + header.arguments.count * sizeof(PlanArgument);
  parts.end = parts.steps + header.steps.count * sizeof(PlanStep);
  return parts;
}

template <typename T>
T* copied(const T* stored, std::uint32_t count, void* memory) {
  return static_cast<T*>(memcpy(memory, stored, count * sizeof(T)));
}

}  // namespace

bool is_sized_plan(const void* data, std::uint64_t bytes) {
  PlanFrame frame;
  if (bytes < sizeof frame) return false;
  memcpy(&frame, data, sizeof frame);
  return memcmp(frame.magic, "whetplan", 8) == 0 && frame.version == kSizedPlanVersion;
}

int parse_sizes(const void* data, std::uint64_t bytes, SizedView* view, whet_error* error) {
  *view = SizedView{};
  view->data = data;
  view->bytes = bytes;
  if (!is_sized_plan(data, bytes)) return 0;
  if (reinterpret_cast<std::uintptr_t>(data) % 8 != 0) {
    return whet_fail(error, "the model's plan is not 8-byte aligned in memory");
  }
  if (check_plan_frame(data, bytes, kSizedPlanVersion, sizeof(SizedPlanHeader), error) != 0) return -1;
  const SizedPlanHeader& header = *static_cast<const SizedPlanHeader*>(data);
  const auto table = [&](const char* what, PlanTable where, const auto** out) {
    return check_plan_table(what, where, data, sizeof(SizedPlanHeader), bytes, out, error) == 0;
  };
  if (!table("sizes", header.sizes, &view->sizes) || !table("values", header.values, &view->values) ||
      !table("variants", header.variants, &view->variants) || !table("boxes", header.boxes, &view->boxes) ||
      !table("numbers", header.numbers, &view->numbers) || !table("fields", header.fields, &view->fields) ||
      !table("strings", header.strings, &view->strings))
    return -1;
  view->header = &header;
  if (check_counts(*view, error) != 0) return -1;
  for (std::uint32_t k = 0; k < header.sizes.count; ++k) {
    if (check_size(*view, k, error) != 0) return -1;
  }
  for (std::uint32_t v = 0; v < header.variants.count; ++v) {
    if (check_variant(*view, v, error) != 0) return -1;
  }
  for (std::uint32_t b = 0; b < header.boxes.count; ++b) {
    if (check_box(*view, b, error) != 0) return -1;
  }
  return find_usual(view, error);
}

int parse_variant(const SizedView& view, std::uint32_t variant, const ModelView* usual, ModelView* plan,
                  whet_error* error) {
  if (view.header == nullptr) return parse_model(view.data, view.bytes, plan, error);
  const PlanVariant& where = view.variants[variant];
  const char* const data = static_cast<const char*>(view.data) + where.offset;
  if (parse_model(data, where.bytes, plan, error, where.slots * kSlotBytes) != 0) return -1;
  if (where.slots > 0 && (!view.changes(variant) || plan->header->device.length > 0)) {
    return whet_fail(
        error, "the model's plan: kernels of variant %u read sizes; expected one whose numbers change, on the CPU",
        variant);
  }
  if (check_fields(view, variant, *plan, error) != 0) return -1;
  if (!view.changes(variant) && check_points(view, variant, *plan, error) != 0) return -1;
  if (usual != nullptr && !agree(*usual, *plan)) {
    return whet_fail(error,
                     "the model's plan: variant %u has other kernels, weights, inputs or outputs than the usual one; "
                     "expected other extents alone",
                     variant);
  }
  return 0;
}

std::uint32_t variant_of(const SizedView& view, const std::int64_t* values) {
  if (view.header == nullptr) return 0;
  for (std::uint32_t b = 0; b < view.box_count(); ++b) {
    bool has = true;
    for (std::uint32_t k = 0; has && k < view.size_count(); ++k)
      has = values[k] >= view.low_of(b)[k] && values[k] <= view.high_of(b)[k];
    if (has) return view.boxes[b].variant;
  }
  return view.variant_count();
}

std::uint64_t plan_at_bytes(const SizedView& view, std::uint32_t variant, const ModelView& plan) {
  return parts_of(view, variant, plan).end;
}

int plan_at(const SizedView& view, std::uint32_t variant, const ModelView& plan, const std::int64_t* values,
            void* memory, PlanAt* at, whet_error* error) {
  const PlanVariant& changing = view.variants[variant];
  const PartsOfMemory parts = parts_of(view, variant, plan);
  char* const begin = static_cast<char*>(memory);
  std::int64_t* const sizes = reinterpret_cast<std::int64_t*>(begin);
  std::int64_t* const numbers = reinterpret_cast<std::int64_t*>(begin + parts.numbers);
  std::int64_t* const dims = copied(plan.dims, plan.header->dims.count, begin + parts.dims);
  PlanTensor* const inputs = copied(plan.inputs, plan.header->inputs.count, begin + parts.inputs);
  PlanTensor* const outputs = copied(plan.outputs, plan.header->outputs.count, begin + parts.outputs);
  PlanArgument* const arguments = copied(plan.arguments, plan.header->arguments.count, begin + parts.arguments);
  PlanStep* const steps = copied(plan.steps, plan.header->steps.count, begin + parts.steps);
  memset(sizes, 0, parts.numbers);  // values that no field says
  for (std::uint32_t i = 0; i < changing.number_count; ++i)
    numbers[i] = value_of(view.numbers[changing.first_number + i], values, numbers);
  for (std::uint32_t i = 0; i < changing.field_count; ++i) {
    const PlanField& field = view.fields[changing.first_field + i];
    const std::int64_t value = numbers[field.number];
    switch (field.kind) {
      case PlanFieldKind::extent:
        dims[field.index] = value;
        break;
      case PlanFieldKind::offset:
        arguments[field.index].offset = static_cast<std::uint64_t>(value);
        break;
      case PlanFieldKind::bytes:
        arguments[field.index].bytes = static_cast<std::uint64_t>(value);
        break;
      case PlanFieldKind::value:
        sizes[field.index] = value;
        break;
      case PlanFieldKind::step_flops:
        steps[field.index].flops = static_cast<double>(value);
        break;
      case PlanFieldKind::step_bytes:
        steps[field.index].bytes = static_cast<double>(value);
        break;
    }
  }
  at->view = plan;
  at->view.dims = dims;
  at->view.inputs = inputs;
  at->view.outputs = outputs;
  at->view.arguments = arguments;
  at->view.steps = steps;
  at->sizes = begin;
  if (parse_again(at->view, inputs, outputs, changing.slots * kSlotBytes, error) != 0) return -1;
  return has_sizes(view, at->view, values) ? 0 : refuse_sizes(variant, error);
}

}  // namespace whet
