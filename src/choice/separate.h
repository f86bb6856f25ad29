#pragma once

#include <map>
#include <vector>

#include "choice/choice.h"
#include "choice/tensors.h"

namespace whet {

/// Finds sets of values whose row (formulate.h) a solution of the linear program breaks: the items that lead into the set are chosen
/// to a smaller part than the set is read. The read part of a value or tensor is a flow to it through items that are chosen in part or
/// whole. If the largest flow is smaller than that part, a smallest cut is such a set. The flow starts a few tensors before the
/// sink; all values there count as written. An item takes its flow from one of the values that it reads. So some sets are
/// missed, and every set that is found is broken.
class Separation {
 public:
  struct Sink {
    std::vector<int> values;
    int column;  ///< how much of them is read
  };

  /// `columns` are the linear program's: those of the items, those of the values, then others.
  Separation(const ChoiceProblem&, const Tensors&, const std::vector<std::vector<int>>& writers,
             const std::vector<double>& columns);

  /// The sets of smallest cuts, for several ways to choose the value that an item takes its flow from. None where the flow is enough.
  std::vector<std::vector<int>> broken_sets(const Sink& sink) const;

 private:
  enum class MainRead { least_read, first, last };
  struct Surroundings {
    std::vector<int> tensors;  // the sink's, and those before it
    std::map<int, int>
        items;  // that write their values, to the value that each has its flow from; less than 0 where that is given
    bool in_part = false;  // some item is chosen in part
  };

  double read(int value) const { return columns_[problem_.items.size() + value]; }
  int main_read(int item, MainRead which) const;
  Surroundings before(const Sink& sink, MainRead which) const;
  std::vector<int> broken_set(const Sink& sink, const Surroundings& around) const;

  const ChoiceProblem& problem_;
  const Tensors& tensors_;
  const std::vector<double>& columns_;
  std::vector<std::vector<int>> writers_;  // for each value those that are chosen in part or whole
};

}  // namespace whet
