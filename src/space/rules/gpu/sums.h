#pragma once

#include "space/gpu/product_form.h"
#include "space/rules/rule.h"

namespace whet {

// Questions of the rules for GPUs about sums.

/// The op sums up products of two copies that were made for it (unfold.cc).
bool is_unfolded(const Derivation&, OpId);
/// The form of such an op. Its output is the op that is fused to it. The depth of a sum in parts is that of all parts together.
ProductForm unfolded_form(const Derivation&, OpId);
/// The tiles among which the template `product` chooses (product_choices.h), as far as its constraints permit them; for sums in
/// several parts, or in one.
std::vector<Choices> legal_tiles(const ProductForm&, const GpuTarget&, bool in_parts);
/// The op adds up the parts of a sum (split_sum.cc). A decision has the number of parts.
bool adds_parts(const Derivation&, OpId op);
/// The op that is computed on the threads of `op`, element by element (fuse_consumer.cc); invalid where there is none.
OpId fused_reader(const Derivation&, OpId op);

}  // namespace whet
