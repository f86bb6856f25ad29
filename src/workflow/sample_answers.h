#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/accuracy.h"
#include "workflow/model.h"
#include "workflow/opened.h"
#include "workflow/samples.h"

namespace whet {

/// What a model's answers on a user's data are, beside those of the f32 network.
struct SampleJudgement {
  Samples samples;
  std::vector<InputSlot> slots;  ///< the model's inputs
  Judged judged;
};

/// Runs a model on all samples, and its reference.
///   model    a library, or a model that is compiled
///   against  the reference: a model, which is compiled in f32 without algorithms that round otherwise, or a library. Options of `model`
///            that a library does not take, as `--shape`, are for it
///   samples  a folder or a file, as read_samples has it
Result<SampleJudgement> judge_on_samples(const RunnableOptions& model, const std::string& against,
                                         const std::string& samples, const Accuracy&);

}  // namespace whet
