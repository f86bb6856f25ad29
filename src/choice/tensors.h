#pragma once

#include <cstdint>
#include <vector>

#include "choice/choice.h"

namespace whet {

/// The items that may be the first ones to write a value of `values`: they write one and read none.
std::vector<int> first_writers(const ChoiceProblem&, const std::vector<std::vector<int>>& writers,
                               const std::vector<int>& values);

/// The values that are not given, by tensors, as ChoiceProblem::tensors has them. Tensors are numbered by their lowest values.
class Tensors {
 public:
  /// `writers` has for each value the allowed items that write it.
  Tensors(const ChoiceProblem&, const std::vector<char>& allowed, const std::vector<std::vector<int>>& writers);

  int count() const { return static_cast<int>(values_.size()); }
  const std::vector<int>& values(int tensor) const { return values_[tensor]; }
  int of(int value) const { return of_value_[value]; }  ///< less than 0 for a given value

  /// The tensors that every plan with `tensor` writes, `tensor` among them: they are needed whichever item writes it first.
  std::vector<int> needs(int tensor) const;

  /// Sets of values: those of `tensor` alone, and those of it and of tensors that it may be computed from, up to those that it needs. In
  /// every plan at least one item leads into each set.
  std::vector<std::vector<int>> sets_of(int tensor) const;

 private:
  using Bits = std::vector<std::uint64_t>;

  std::vector<int> components(const ChoiceProblem&, const std::vector<char>& allowed) const;
  void number(const ChoiceProblem&, const std::vector<char>& allowed);
  void find_needs();
  Bits needs_by_items(int tensor) const;
  bool is_needed(int tensor, int other) const { return needs_[tensor][other / 64] >> (other % 64) & 1; }
  std::vector<int> values_of(const std::vector<int>& tensors) const;
  std::vector<int> read_by_first_writers(const std::vector<int>& values) const;

  const ChoiceProblem& problem_;
  const std::vector<std::vector<int>>& writers_;
  std::vector<int> of_value_;
  std::vector<std::vector<int>> values_;
  std::vector<std::vector<int>> first_writers_;  // for each tensor
  std::vector<Bits> needs_;                      // for each tensor a bit for each tensor
};

}  // namespace whet
