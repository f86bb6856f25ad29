#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/accuracy.h"
#include "workflow/opened.h"

namespace whet {

/// `whet check --samples`: a model's answers on a user's data, beside those of the f32 network.
struct SampleCheck {
  RunnableOptions runnable;
  std::string
      against;  ///< a model, which is compiled in f32 without algorithms that round otherwise, or a compiled one
  std::string samples;  ///< a folder or a file, as workflow/sample_answers.h has it
  Accuracy accuracy;
  bool json = false;
};

/// Prints the worst sample of each limit and output; the command's exit code.
Result<int> check_samples(const SampleCheck&);

}  // namespace whet
