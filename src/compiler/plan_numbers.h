#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "artifact/sized_model_plan.h"
#include "base/result.h"
#include "compute/size.h"

namespace whet {

/// Functions of sizes as the numbers of a plan, each once.
class PlanNumbers {
 public:
  /// The number that the function is: i64, as check_size_expr has it. Errors: a cast.
  Result<std::uint32_t> add(const Expr& function);
  std::vector<PlanNumber> take() { return std::move(numbers_); }

 private:
  std::uint32_t add(PlanNumberOp op, std::int64_t a, std::uint32_t b);

  std::vector<PlanNumber> numbers_;
  std::map<std::tuple<PlanNumberOp, std::int64_t, std::uint32_t>, std::uint32_t> known_;
};

/// The most that a function is over boxes of the sizes; nothing where no bound is known.
std::optional<std::int64_t> most_of(const Expr& function, const std::vector<SizeRange>&, const std::vector<SizeBox>&);

}  // namespace whet
