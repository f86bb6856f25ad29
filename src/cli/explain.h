#pragma once

#include <functional>
#include <string>

#include "cli/arguments.h"
#include "json/json.h"
#include "workflow/base.h"
#include "workflow/fleet.h"
#include "workflow/model.h"
#include "workflow/options.h"
#include "workflow/rounding.h"
#include "workflow/tuning_sizes.h"

namespace whet {

/// A question of `whet explain TOPIC`: what its options hold. Each topic has some of them.
struct Question {
  std::string topic;  ///< "task": begins its errors
  std::string
      what;  ///< the error, the task's number, the candidate's ID (a prefix of its tree's hash), the node; "": all
  std::string
      contains;  ///< a form, or a part of a cover's name: what the best plan with it at the node takes; "": of all
  ModelOptions model;
  TargetOptions place;
  std::string device;  ///< elsewhere, whose rates limit the kernels; "": this machine
  FleetOptions fleet;
  std::string records;
  TuningSizeOptions tuning_sizes;  ///< for which kernels of ranges are chosen
  BaseOptions base;                ///< of transfers to a task
  RoundingOptions rounding;        ///< records that it leaves out do not count
  bool code = false;               ///< the innermost loops of the machine code as well
  bool passes = false;             ///< the lines that each lowering pass changed as well
  std::string pass;                ///< the Program behind this pass and nothing else
  bool json = false;               ///< instead of text

  bool of_covers() const { return topic == "cover"; }
};

// Each prints the answer and gives the exit code.

/// A task: its limits where it was timed, its best candidates, and the schedules that a record base has of similar tasks.
Result<int> explain_task(const Question&);
/// A candidate: its choices, its loop tree, its times.
Result<int> explain_candidate(const Question&);
/// In which order of dimensions each result is stored, and why. For a convolution or pool it also times that order and the file's.
Result<int> explain_layout(const Question&);
/// Why the kernels of a network read and write their activations as they do, or are several groups' (covers): the sums of measured and
/// estimated times.
Result<int> explain_plan(const Question&);

/// The structures that a model has at the sizes of its ranges, their numbers as functions, and the sizes of each task; with records also
/// by which schedule each task runs at all of them, and what decided.
Result<int> explain_sizes(const Question&);

/// What each layer's precision costs in accuracy and saves in time, by the errors and times of the records; what half and twice the budget
/// would give.
Result<int> explain_precision(const Question&);

/// Each run of a pass over the model's graph: its time, the operators before it and after it.
Result<int> explain_passes(const Question&);

/// An error of wrong use where the question has no model, or no records: `explain task: no model is given; give --model MODEL`.
Status needs_model(const Question&);
Status needs_records(const Question&);
/// As --json has it.
int print(const Json&);

}  // namespace whet
