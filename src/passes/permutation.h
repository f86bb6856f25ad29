#pragma once

#include <cstdint>
#include <vector>

#include "tensor/shape.h"

namespace whet {

/// An order of dimensions: dimension i of the result is dimension perm[i] of the source.
using Permutation = std::vector<std::int64_t>;

Permutation identity_permutation(std::size_t rank);
/// [0, 2, 3, ..., 1]: channels last of a tensor that is channels first.
Permutation channels_last_permutation(std::size_t rank);
Permutation inverse(const Permutation&);
/// First `inner`, then `outer`: result[i] = inner[outer[i]].
Permutation compose(const Permutation& inner, const Permutation& outer);
/// The entries of `list` in the order `perm`.
std::vector<std::int64_t> permuted(const std::vector<std::int64_t>& list, const Permutation& perm);
/// Whether the dimensions with extents other than 1 keep their order. The bytes then stay in place.
bool moves_only_ones(const Shape& source, const Permutation& perm);

/// A transpose of a tensor of shape `source`.
struct Move {
  Shape source;
  Permutation perm;
};
/// The same move of bytes with the fewest dimensions: no dimension of 1, and dimensions that stay adjacent are one.
Move essential(const Move&);

}  // namespace whet
