#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trial/value_range.h"

namespace whet {

/// A kernel of a plan that is not the usual one.
struct PlannedKernel {
  std::string node;   ///< whose result it computes, or the value that it copies, by its name in the graph
  std::string forms;  ///< "nchw16c", "nhwc -> nchw16c"
  bool transform = false;
  friend bool operator==(const PlannedKernel&, const PlannedKernel&) = default;
};

/// What a network takes longer than the sum of its kernels, each timed alone. Nobody knows of which kernels: it is laid on the
/// activations that these read and write, or on each kernel alike, or on both.
struct NetworkExcess {
  double seconds_a_byte = 0, seconds_a_kernel = 0;
  friend bool operator==(const NetworkExcess&, const NetworkExcess&) = default;
};

/// A plan that was timed in the network, alternately with the usual one, in several comparisons.
struct TriedPlan {
  std::int64_t kernels = 0;                               ///< that differ from the usual ones
  double network_seconds = 0, usual_network_seconds = 0;  ///< of one inference, in the comparison in the middle
  std::int64_t comparisons = 0;                           ///< 0: not known
  std::int64_t slower = 0;                 ///< in how many of them the plan was slower than is asked of it
  double least_usual = 0, most_usual = 0;  ///< what the usual plan took in them [s]
  bool adopted = false;
  std::int64_t weights_bytes = 0, usual_weights_bytes = 0;  ///< of the libraries; 0: not known
  friend bool operator==(const TriedPlan&, const TriedPlan&) = default;
};

/// What a plan that rounds activations and weights was allowed to err by on a user's samples, and what it did.
struct PlanPrecision {
  std::string samples;                         ///< the samples' digest
  std::string weights;                         ///< hash of the network's constants: with others the plan is void
  std::vector<std::string> allowed;            ///< the user's limits, as plan/accuracy.h reads them
  std::int64_t calibration = 0, held_out = 0;  ///< samples that took part in the choice, and that did not
  double share = 0, held_out_share = 0;        ///< the largest part of a limit that they needed: measured / allowed
  double error = 0, held_out_error = 0;        ///< relative L2 of the worst of them, of the output where it is largest
  double budget = 0;                           ///< of squared errors, with which the plan was chosen
  ValueRanges ranges = {};  ///< of the network's values, where some are stored as whole numbers; else none
  /// Every layer that can multiplies this type, whatever that costs: "u8". Then `allowed` may be empty, shares and the budget are 0 there.
  /// "": chosen layer by layer.
  std::string uniform = {};
  friend bool operator==(const PlanPrecision&, const PlanPrecision&) = default;
};

/// How a whole network is computed on a target: the kernels that differ from the usual ones. A line of a record file.
struct Plan {
  int version = 2;                     ///< 4 where it has a precision, 5 where that has ranges, 6 where it is uniform
  std::string graph;                   ///< hexadecimal hash of the fused graph's text
  std::string name;                    ///< the network's, for people
  std::string target;                  ///< text form
  std::vector<PlannedKernel> kernels;  ///< in the order in which they run; empty: the usual plan
  double seconds = 0;                  ///< sum of its kernels' times
  double usual_seconds = 0;            ///< of the usual plan
  double bound_seconds =
      0;  ///< no plan of the alternatives was hoped to take less, by what was measured and bounds of the rest
  std::vector<PlannedKernel> runner_up;
  double runner_up_seconds = 0;  ///< 0: there is none
  NetworkExcess excess;          ///< in all of these sums
  /// Of one inference of the whole network, and of the usual plan's alternately with it; 0: not measured.
  double network_seconds = 0, usual_network_seconds = 0;
  std::vector<TriedPlan> tried;  ///< when this line was written
  /// Of a plan that rounds: it serves who asks for that alone. Its usual plan is then the best one in f32.
  std::optional<PlanPrecision> precision = std::nullopt;
  std::string whet, at;  ///< version of the program, time in UTC (ISO 8601)
  friend bool operator==(const Plan&, const Plan&) = default;
};

}  // namespace whet
