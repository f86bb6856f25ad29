#include "passes/permutation.h"

#include <algorithm>
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

Move essential(const Move& move) {
  std::vector<std::int64_t> first;  // of the source's dimensions that are one, in the order of the result
  Shape extents;
  std::int64_t next = -1;  // what would continue the last of them
  for (std::int64_t p : move.perm) {
    const std::int64_t extent = move.source[static_cast<std::size_t>(p)];
    if (extent == 1) continue;
    if (p == next) {
      extents.back() *= extent;
    } else {
      first.push_back(p), extents.push_back(extent);
    }
    for (next = p + 1; next < std::ssize(move.source) && move.source[static_cast<std::size_t>(next)] == 1;) ++next;
  }
  Move result{Shape(first.size()), Permutation(first.size())};
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto place = std::count_if(first.begin(), first.end(), [&](std::int64_t other) { return other < first[i]; });
    result.perm[i] = place;
    result.source[static_cast<std::size_t>(place)] = extents[i];
  }
  return result;
}

}  // namespace whet
