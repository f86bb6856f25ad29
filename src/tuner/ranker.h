#pragma once

#include <map>
#include <memory>
#include <vector>

#include "cost/cost_model.h"
#include "space/space.h"
#include "target/target.h"
#include "trial/outcome.h"

namespace whet {

/// Ranks the candidates of one task: by the learned model as soon as there is one, before that by the analytic estimate.
/// Keeps the features of each candidate, so that a pool can be ranked again after every fit.
class Ranker {
 public:
  /// `task` numbers the task within the model, which all tasks of a run share.
  Ranker(std::shared_ptr<const DesignSpace> space, Target target, std::shared_ptr<CostModel> model, int task)
      : space_(std::move(space)), target_(std::move(target)), model_(std::move(model)), task_(task) {}

  /// One figure a candidate, the higher the faster; the lowest for what cannot be scheduled. With a fitted model it is
  /// the expected share of the task's best speed.
  std::vector<double> rank(const std::vector<Candidate>&);
  /// The model's expectation, 0 where there is none.
  double predicted(const Candidate&);
  /// Adds a measurement to the model.
  void learn(const Candidate&, const Outcome&);

 private:
  struct Known {
    std::vector<float> row;  ///< empty: it cannot be scheduled
    double analytic = 0;     ///< [s]
  };
  const Known& known(const Candidate&);

  std::shared_ptr<const DesignSpace> space_;
  Target target_;
  std::shared_ptr<CostModel> model_;
  int task_;
  std::map<Candidate, Known> known_;
};

}  // namespace whet
