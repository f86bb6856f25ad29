#include "passes/permutation.h"

#include <numeric>

namespace whet {

Permutation identity_permutation(std::size_t rank) {
  Permutation perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  return perm;
}

Permutation channels_last_permutation(std::size_t rank) {
  Permutation perm = {0};
  for (std::size_t d = 2; d < rank; ++d) perm.push_back(static_cast<std::int64_t>(d));
  perm.push_back(1);
  return perm;
}

Permutation inverse(const Permutation& perm) {
  Permutation result(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i)
    result[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  return result;
}

Permutation compose(const Permutation& inner, const Permutation& outer) { return permuted(inner, outer); }

std::vector<std::int64_t> permuted(const std::vector<std::int64_t>& list, const Permutation& perm) {
  std::vector<std::int64_t> result;
  for (std::int64_t p : perm) result.push_back(list[static_cast<std::size_t>(p)]);
  return result;
}

bool moves_only_ones(const Shape& source, const Permutation& perm) {
  std::int64_t last = -1;
  for (std::int64_t p : perm) {
    if (source[static_cast<std::size_t>(p)] == 1) continue;
    if (p < last) return false;
    last = p;
  }
  return true;
}

}  // namespace whet
