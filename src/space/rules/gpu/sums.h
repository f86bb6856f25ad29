#pragma once

#include "space/gpu/product_form.h"
#include "space/rules/rule.h"

namespace whet {

// What the rules for GPUs ask about sums.

/// The op sums up products of two copies that were made for it (unfold.cc).
bool is_unfolded(const Derivation&, OpId);
/// Of such an op; its output is what is fused to it. Of a sum in parts, the depth is that of all parts together.
ProductForm unfolded_form(const Derivation&, OpId);
/// The tiles that the template `product` chooses among (product_choices.h) and that its constraints permit; of sums in
/// several parts, or in one.
std::vector<Choices> legal_tiles(const ProductForm&, const GpuTarget&, bool in_parts);
/// The op adds up the parts of a sum (split_sum.cc), of which there are as many as is chosen.
bool adds_parts(const Derivation&, OpId op);
/// The op that is computed on the threads of `op`, element by element (fuse_consumer.cc); invalid where there is none.
OpId fused_reader(const Derivation&, OpId op);

}  // namespace whet
