#include "runtime/shapes.h"

#include <stdio.h>
#include <stdlib.h>

namespace whet {
namespace {

/// "1x600", with "?" where the extent follows.
void write_extents(const std::int64_t* shape, std::uint32_t rank, char* text, std::size_t bytes) {
  std::size_t length = 0;
  snprintf(text, bytes, "a scalar");
  for (std::uint32_t d = 0; d < rank && length < bytes; ++d) {
    const char* between = d ? "x" : "";
    length += static_cast<std::size_t>(
        shape[d] < 0 ? snprintf(text + length, bytes - length, "%s?", between)
                     : snprintf(text + length, bytes - length, "%s%lld", between, static_cast<long long>(shape[d])));
  }
}

/// "1, 2, 4 or 8", of many the first ones and the last; "1..512" or "64..960:32".
void write_values(const whet_size_info& size, char* text, std::size_t bytes) {
  constexpr std::uint32_t kMost = 12;
  if (size.count == 0) {
    const int length =
        snprintf(text, bytes, "%lld..%lld", static_cast<long long>(size.min), static_cast<long long>(size.max));
    if (size.step > 1)
      snprintf(text + length, bytes - static_cast<std::size_t>(length), ":%lld", static_cast<long long>(size.step));
    return;
  }
  std::size_t length = 0;
  for (std::uint32_t i = 0; i < size.count && length < bytes; ++i) {
    const bool last = i + 1 == size.count, skips = !last && size.count > kMost && i + 2 == kMost;
    if (skips) i = size.count - 2;
    const char* between = i == 0 ? "" : last ? " or " : ", ";
    length += static_cast<std::size_t>(
        skips ? snprintf(text + length, bytes - length, ", ...")
              : snprintf(text + length, bytes - length, "%s%lld", between, static_cast<long long>(size.values[i])));
  }
}

bool has_value(const whet_size_info& size, std::int64_t value) {
  if (size.count == 0) return value >= size.min && value <= size.max && (value - size.min) % size.step == 0;
  std::uint32_t low = 0, high = size.count;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    size.values[middle] < value ? low = middle + 1 : high = middle;
  }
  return low < size.count && size.values[low] == value;
}

int refuse_value(const whet_size_info& size, const whet_tensor_info& input, const std::int64_t* shape,
                 whet_error* error) {
  char given[128], values[160];
  write_extents(shape, input.rank, given, sizeof given);
  write_values(size, values, sizeof values);
  return whet_fail(error, "input \"%s\" is %s; %s is %s", input.name, given, size.name, values);
}

/// An input whose shape does not follow from the sizes, which another one has where there is one.
int refuse_shape(const ModelShapes& model, const whet_tensor_info* wanted, std::uint32_t i, const std::int64_t* shape,
                 whet_error* error) {
  char given[128], needed[128], other[128], because[320] = "";
  const whet_tensor_info& input = wanted[i];
  write_extents(shape, input.rank, given, sizeof given);
  write_extents(input.shape, input.rank, needed, sizeof needed);
  for (std::uint32_t k = 0; k < model.plans->size_count(); ++k) {
    if (model.sizes[k].input == i) continue;
    const whet_tensor_info& decides = wanted[model.sizes[k].input];
    write_extents(decides.shape, decides.rank, other, sizeof other);
    snprintf(because, sizeof because, "with input \"%.128s\" %s ", decides.name, other);
    break;
  }
  return whet_fail(error, "input \"%s\" is %s; %sit must be %s", input.name, given, because, needed);
}

const std::int64_t* shape_of(const std::int64_t* const* shapes, std::uint32_t i) {
  return shapes != nullptr ? shapes[i] : nullptr;
}

}  // namespace

whet_size_info* describe_sizes(const SizedView& plans) {
  whet_size_info* infos = static_cast<whet_size_info*>(calloc(plans.size_count() + 1, sizeof(whet_size_info)));
  if (infos == nullptr) return nullptr;
  for (std::uint32_t k = 0; k < plans.size_count(); ++k) {
    const PlanSize& size = plans.sizes[k];
    infos[k] = {sizeof(whet_size_info),
                size.input,
                size.dimension,
                size.value_count,
                plans.strings + size.name.offset,
                size.min,
                size.max,
                size.step,
                plans.usual_values()[k],
                size.value_count > 0 ? plans.values_of(k) : nullptr};
  }
  return infos;
}

int find_sizes(const ModelShapes& model, const std::int64_t* now, const std::int64_t* const* shapes,
               std::int64_t* values, std::uint32_t* variant, whet_error* error) {
  for (std::uint32_t k = 0; k < model.plans->size_count(); ++k) {
    const whet_size_info& size = model.sizes[k];
    const std::int64_t* shape = shape_of(shapes, size.input);
    values[k] = shape != nullptr && shape[size.dimension] >= 0 ? shape[size.dimension] : now[k];
    if (values[k] != now[k] && !has_value(size, values[k]))
      return refuse_value(size, model.inputs[size.input], shape, error);
  }
  *variant = variant_of(*model.plans, values);
  if (*variant < model.plans->variant_count()) return 0;
  return whet_fail(error, "the model's plan has no variant of these sizes");
}

int check_shapes(const ModelShapes& model, const whet_tensor_info* inputs, const std::int64_t* const* shapes,
                 whet_error* error) {
  for (std::uint32_t i = 0; i < model.input_count; ++i) {
    const whet_tensor_info& input = inputs[i];
    const std::int64_t* shape = shape_of(shapes, i);
    for (std::uint32_t d = 0; shape != nullptr && d < input.rank; ++d) {
      if (shape[d] >= 0 && shape[d] != input.shape[d]) return refuse_shape(model, inputs, i, shape, error);
    }
  }
  return 0;
}

bool largest_within(const SizedView& plans, std::uint32_t box, const std::int64_t* most, std::int64_t* values) {
  for (std::uint32_t k = 0; k < plans.size_count(); ++k) {
    const std::int64_t high = plans.high_of(box)[k];
    values[k] = high < most[k] ? high : most[k];
    if (values[k] < plans.low_of(box)[k]) return false;
  }
  return true;
}

}  // namespace whet
