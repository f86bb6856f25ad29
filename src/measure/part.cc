#include "measure/part.h"

#include <algorithm>

namespace whet {

bool is_part(const ComputeDag& dag, const Shape& within) {
  if (dag.outputs.size() != 1) return false;
  const Shape& part = dag.op(dag.outputs.front()).shape;
  if (part.empty() || part.size() > within.size() ||
      std::ranges::any_of(within, [](std::int64_t extent) { return extent < 1; }))
    return false;
  // A kernel may see several dimensions as one: the rows are as many, however they are numbered.
  return num_elements(part) / std::max<std::int64_t>(1, part.back()) == num_elements(within) / within.back() &&
         part.back() <= within.back();
}

Result<std::string> part_of(const std::string& whole, const TensorType& part, const Shape& within, char untouched) {
  const auto size = static_cast<std::size_t>(size_of(part.dtype));
  const std::size_t row = static_cast<std::size_t>(within.back()) * size;
  const std::size_t used = static_cast<std::size_t>(part.shape.back()) * size;
  const std::size_t rows = static_cast<std::size_t>(num_elements(within) / within.back());
  if (whole.size() != rows * row)
    return Error{"the whole has " + std::to_string(whole.size()) + " bytes, not " + std::to_string(rows * row)};
  std::string out;
  out.reserve(rows * used);
  for (std::size_t r = 0; r < rows; ++r) {
    const char* begin = whole.data() + r * row;
    const char* stray = std::find_if(begin + used, begin + row, [&](char byte) { return byte != untouched; });
    if (stray != begin + row)
      return Error{"it wrote beside its part of " + to_string(within) + ", in row " + std::to_string(r)};
    out.append(begin, used);
  }
  return out;
}

}  // namespace whet
