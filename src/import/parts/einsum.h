#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "import/site.h"

/// Einsum as transposes, products of matrices and sums: operands are contracted one after the other. A part, see
/// arithmetic.h.
namespace whet {

/// "bij,bjk->bik"; "..." stands for leading dimensions. Without "->" the result has the labels that occur once.
struct Einsum {
  std::string equation;
  std::string what = "the equation";  ///< begins messages about it
};
/// The number of operands that an equation names.
std::size_t operand_count(const Einsum&);
/// Needs: as many inputs. Errors: letters that do not fit the inputs' dimensions.
Result<ValueId> einsum(NodeSite&, const std::vector<ValueId>& inputs, const Einsum&);

}  // namespace whet
