#include "artifact/sized_plan.h"

#include "artifact/plan_checks.h"

namespace whet {
namespace {

static_assert(sizeof(SizedPlanHeader) == 96 && sizeof(PlanSize) == 24 && sizeof(PlanVariant) == 16,
              "the plan's structs are stored: their layout never changes within a version");

int check_size(const SizedView& view, std::uint32_t k, whet_error* error) {
  const PlanSize& size = view.sizes[k];
  if (check_plan_string("size", k, size.name, view.strings, view.header->strings.count, error) != 0) return -1;
  bool good = size.value_count > 0 && inside(size.first_value, size.value_count, view.header->values.count);
  for (std::uint32_t i = 0; good && i < size.value_count; ++i)
    good = view.values_of(k)[i] > (i == 0 ? 0 : view.values_of(k)[i - 1]);
  if (good) return 0;
  return whet_fail(error,
                   "the model's plan: size %u has %u values from %u on; expected positive ones, ascending, among the "
                   "%u stored",
                   k, size.value_count, size.first_value, view.header->values.count);
}

int check_variants(const SizedView& view, whet_error* error) {
  const std::uint32_t count = view.header->variants.count;
  std::uint64_t choices = 1;
  for (std::uint32_t k = 0; k < view.header->sizes.count && choices <= count; ++k) choices *= view.sizes[k].value_count;
  if (choices != count || view.header->usual >= count) {
    return whet_fail(error,
                     "the model's plan has %u variants, of which %u is the usual one; expected one for each choice of "
                     "its sizes",
                     count, view.header->usual);
  }
  for (std::uint32_t v = 0; v < count; ++v) {
    const PlanVariant& variant = view.variants[v];
    if (variant.offset % 8 == 0 && variant.offset >= sizeof(SizedPlanHeader) &&
        inside(variant.offset, variant.bytes, view.bytes))
      continue;
    return whet_fail(error, "the model's plan: variant %u is at %llu, %llu bytes; expected it inside the %llu bytes", v,
                     Wide(variant.offset), Wide(variant.bytes), Wide(view.bytes));
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

/// Whether the plan's inputs have the sizes of its place.
bool has_its_sizes(const SizedView& view, std::uint32_t variant, const ModelView& plan) {
  for (std::uint32_t k = 0; k < view.size_count(); ++k) {
    const PlanSize& size = view.sizes[k];
    if (size.input >= plan.header->inputs.count || size.dimension >= plan.inputs[size.input].rank) return false;
    const std::int64_t extent = plan.dims[plan.inputs[size.input].first_dim + size.dimension];
    if (extent != view.values_of(k)[value_number(view, k, variant)]) return false;
  }
  return true;
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
      !table("variants", header.variants, &view->variants) || !table("strings", header.strings, &view->strings))
    return -1;
  view->header = &header;
  if (header.sizes.count < 1 || header.sizes.count > kMaxSizes) {
    return whet_fail(error, "the model's plan has %u sizes; expected 1 to %u", header.sizes.count, kMaxSizes);
  }
  for (std::uint32_t k = 0; k < header.sizes.count; ++k) {
    if (check_size(*view, k, error) != 0) return -1;
  }
  return check_variants(*view, error);
}

int parse_variant(const SizedView& view, std::uint32_t variant, const ModelView* usual, ModelView* plan,
                  whet_error* error) {
  if (view.header == nullptr) return parse_model(view.data, view.bytes, plan, error);
  const PlanVariant& where = view.variants[variant];
  if (parse_model(static_cast<const char*>(view.data) + where.offset, where.bytes, plan, error) != 0) return -1;
  if (!has_its_sizes(view, variant, *plan)) {
    return whet_fail(error, "the model's plan: the inputs of variant %u have other sizes than its place says", variant);
  }
  if (usual != nullptr && !agree(*usual, *plan)) {
    return whet_fail(error,
                     "the model's plan: variant %u has other kernels, weights, inputs or outputs than the usual one; "
                     "expected other extents alone",
                     variant);
  }
  return 0;
}

std::uint32_t stride_of(const SizedView& view, std::uint32_t size) {
  std::uint32_t stride = 1;
  for (std::uint32_t k = size + 1; k < view.size_count(); ++k) stride *= view.sizes[k].value_count;
  return stride;
}

}  // namespace whet
