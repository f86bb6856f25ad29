#pragma once

#include <map>
#include <vector>

#include "choice/choice.h"
#include "choice/tensors.h"

namespace whet {

/// Finds sets of values into which a solution of the linear program leads too little: less than is read of the set. What is read of
/// a value or a tensor flows to it through items that are chosen in part or whole, and a smallest cut of that flow is such a set. The
/// flow starts a few tensors before the sink, where everything is taken to be there. An item takes its flow from one of the values that it
/// reads: this can miss sets, and finds none that is wrong.
class Separation {
 public:
  struct Sink {
    std::vector<int> values;
    int column;  ///< how much of them is read
  };

  /// `columns` are the linear program's: those of the items, those of the values, then others.
  Separation(const ChoiceProblem&, const Tensors&, const std::vector<std::vector<int>>& writers,
             const std::vector<double>& columns);

  /// The sets with smallest cuts, for several ways to choose the read that an item has its flow from; none where enough flows.
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
