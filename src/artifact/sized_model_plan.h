#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/model_plan.h"
#include "base/result.h"

namespace whet {

/// A size that the shapes of a model may have, and the values for which a library is made.
struct ModelSize {
  std::string name;                        ///< "x.0"
  std::uint32_t input = 0, dimension = 0;  ///< whose extent it is
  std::vector<std::int64_t> values;        ///< positive, ascending
};

/// How many choices of values there are; 1 without sizes. At most 2^62 are counted.
std::size_t variant_count(const std::vector<ModelSize>&);
/// The values of one of them: from one to the next the value of the last size changes.
std::vector<std::int64_t> values_at(const std::vector<ModelSize>&, std::size_t variant);

/// What a library runs by: a plan for each choice of its sizes.
struct SizedModelPlan {
  std::vector<ModelSize> sizes;     ///< none: the one plan is for all that the model has
  std::vector<ModelPlan> variants;  ///< one a choice
  std::uint32_t usual = 0;          ///< the variant that a session starts with
};

/// The stored form; of a model without sizes that of its plan (model_plan.h), byte for byte.
std::string write_sized_plan(const SizedModelPlan&);
/// Parses and checks a stored plan for one size or for several.
Result<SizedModelPlan> read_sized_plan(std::string_view stored);
/// For people and tests: a line a size, then the plans.
std::string to_text(const SizedModelPlan&);

}  // namespace whet
