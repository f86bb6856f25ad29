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

/// "1, 2, 4 or 8"; of many the first ones and the last.
void write_values(const whet_size_info& size, char* text, std::size_t bytes) {
  constexpr std::uint32_t kMost = 12;
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

/// The number of a value among those of the size; `count` where it is none of them.
std::uint32_t number_of(const whet_size_info& size, std::int64_t value) {
  std::uint32_t low = 0, high = size.count;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    size.values[middle] < value ? low = middle + 1 : high = middle;
  }
  return low < size.count && size.values[low] == value ? low : size.count;
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

}  // namespace

whet_size_info* describe_sizes(const SizedView& plans) {
  whet_size_info* infos = static_cast<whet_size_info*>(calloc(plans.size_count() + 1, sizeof(whet_size_info)));
  if (infos == nullptr) return nullptr;
  for (std::uint32_t k = 0; k < plans.size_count(); ++k) {
    const PlanSize& size = plans.sizes[k];
    const std::int64_t* values = plans.values_of(k);
    infos[k] = {sizeof(whet_size_info),
                size.input,
                size.dimension,
                size.value_count,
                plans.strings + size.name.offset,
                values[0],
                values[size.value_count - 1],
                0,
                values[value_number(plans, k, plans.usual())],
                values};
  }
  return infos;
}

int find_variant(const ModelShapes& model, std::uint32_t now, const std::int64_t* const* shapes, std::uint32_t* found,
                 whet_error* error) {
  const auto shape_of = [&](std::uint32_t i) { return shapes != nullptr ? shapes[i] : nullptr; };
  *found = 0;
  for (std::uint32_t k = 0; k < model.plans->size_count(); ++k) {
    const whet_size_info& size = model.sizes[k];
    const std::int64_t* shape = shape_of(size.input);
    const bool given = shape != nullptr && shape[size.dimension] >= 0;
    const std::uint32_t number = given ? number_of(size, shape[size.dimension]) : value_number(*model.plans, k, now);
    if (number == size.count) return refuse_value(size, model.inputs_at(model.model, now)[size.input], shape, error);
    *found += number * stride_of(*model.plans, k);
  }
  const whet_tensor_info* const inputs = model.inputs_at(model.model, *found);
  for (std::uint32_t i = 0; i < model.inputs; ++i) {
    const whet_tensor_info& input = inputs[i];
    const std::int64_t* shape = shape_of(i);
    for (std::uint32_t d = 0; shape != nullptr && d < input.rank; ++d) {
      if (shape[d] >= 0 && shape[d] != input.shape[d]) return refuse_shape(model, inputs, i, shape, error);
    }
  }
  return 0;
}

bool is_within(const SizedView& plans, std::uint32_t a, std::uint32_t b) {
  for (std::uint32_t k = 0; k < plans.size_count(); ++k) {
    if (value_number(plans, k, a) > value_number(plans, k, b)) return false;
  }
  return true;
}

}  // namespace whet
