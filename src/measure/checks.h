#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "measure/builds.h"
#include "measure/kept.h"
#include "measure/options.h"
#include "measure/reference.h"
#include "measure/units.h"

namespace whet {

/// Compares the answers of kernels with the references of their tasks, on whichever device is free. Constants are packed by
/// compiled code, and where that fails, and could be why the kernel fails, by the interpreter. On a device elsewhere the
/// outputs stay there: some of their elements are asked for, and the device compares all with those of a kernel that was right.
/// For several threads: a task's checks are made one after the other, those of several tasks side by side.
class Checks {
 public:
  /// All of them outlive the checks.
  Checks(Builds&, Units&, const MeasureOptions&);

  /// ok, wrong_answer with the largest difference, what became of the build, or what else happened.
  Outcome check(const MeasureTask&, const BuildResult&, Precision);

 private:
  struct TaskReference {
    std::mutex checking;                 ///< of what follows; held as long as a check takes
    std::optional<Reference> reference;  ///< nothing until it is computed
  };
  /// A kernel that was right on a device elsewhere, and the task's outputs in its order.
  struct Passed {
    CheckRequest check;
    std::vector<std::uint32_t> order;
  };

  Outcome whole(const MeasureTask&, const BuildResult&, Reference&, Precision);
  Outcome spots(const MeasureTask&, const BuildResult&, const Reference&, Precision);
  Status run(const MeasureTask&, const BuildResult&, const std::vector<ArgumentSpec>& inputs,
             const std::function<OutcomeCode(const CheckRequest&)>& check);
  Outcome not_run(const Error&) const;
  std::shared_ptr<const BuildResult> packing_of(const MeasureTask& packing, const std::string& text);

  Builds& builds_;
  Units& units_;
  const MeasureOptions& options_;
  Kept<TaskReference> references_;
  Kept<const BuildResult> packings_;  ///< by the text of the packing
  Kept<Passed> passed_;               ///< by task
};

}  // namespace whet
