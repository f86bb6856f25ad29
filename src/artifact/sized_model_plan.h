#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/model_plan.h"
#include "artifact/sized_plan.h"
#include "base/result.h"

namespace whet {

/// A size that the shapes of a model may have, and the values for which a library is made.
struct ModelSize {
  std::string name;                         ///< "x.0"
  std::uint32_t input = 0, dimension = 0;   ///< whose extent it is
  std::vector<std::int64_t> values = {};    ///< listed: positive, ascending; none: it is a range
  std::int64_t min = 1, max = 1, step = 1;  ///< of a range: min, min + step, ..., max

  bool is_range() const { return values.empty(); }
};
/// "1..512", "64..960:32", "1, 2 or 4"
std::string to_text(const ModelSize&);

/// How many choices of values listed sizes have; 1 without sizes. At most 2^62 are counted.
std::size_t variant_count(const std::vector<ModelSize>&);
/// The values of one of them: from one to the next the value of the last size changes.
std::vector<std::int64_t> values_at(const std::vector<ModelSize>&, std::size_t variant);

/// Values of the sizes from `low` to `high`, one a size each, which a variant is for.
struct ModelBox {
  std::size_t variant = 0;
  std::vector<std::int64_t> low, high;
};

/// What changes in a plan with the sizes. Its numbers are those of the largest sizes, or at least no smaller ones where they say how
/// much memory there is.
struct PlanFunctions {
  std::vector<PlanNumber> numbers;
  std::vector<PlanField> fields;
  std::uint32_t slots = 0;
};

/// What a library runs by: plans for all that its sizes may be.
struct SizedModelPlan {
  std::vector<ModelSize> sizes;  ///< none: the one plan is for all that the model has
  std::vector<ModelPlan> variants;
  std::uint32_t usual = 0;                    ///< the variant that a session starts with
  std::vector<ModelBox> boxes = {};           ///< none: a variant is for a choice of listed values
  std::vector<PlanFunctions> functions = {};  ///< one a variant; none: no plan changes
};

/// The boxes of a plan; of listed sizes without boxes a point a choice.
std::vector<ModelBox> boxes_of(const SizedModelPlan&);

/// The stored form; of a model without sizes that of its plan (model_plan.h), byte for byte.
std::string write_sized_plan(const SizedModelPlan&);
/// Parses and checks a stored plan for one size or for several.
Result<SizedModelPlan> read_sized_plan(std::string_view stored);
/// For people and tests: a line a size, then the plans.
std::string to_text(const SizedModelPlan&);

}  // namespace whet
