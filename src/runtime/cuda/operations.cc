#include "runtime/cuda/operations.h"

#include <stdlib.h>

namespace whet {
namespace {

class Lister {
 public:
  Lister(const ModelView& view, const StepOrder& order, CudaOperations* operations)
      : view_(view), order_(order), out_(*operations) {}
  ~Lister() {
    free(upload_);
    free(last_);
  }
  Lister(const Lister&) = delete;
  Lister& operator=(const Lister&) = delete;

  bool list(const bool* uploaded, const bool* downloaded) {
    if (!allocate()) return false;
    for (std::uint32_t i = 0; i < header().inputs.count; ++i) {
      if (uploaded[i]) upload_[i] = add(CudaOperation::Kind::upload, 0, 0, i) + 1;
    }
    for (std::uint32_t i = 0; i < header().steps.count; ++i) add_step(i);
    for (std::uint32_t i = 0; i < header().outputs.count; ++i) {
      if (downloaded[i]) add_download(i);
    }
    return true;
  }

 private:
  const PlanHeader& header() const { return *view_.header; }

  bool allocate() {
    const PlanHeader& h = header();
    const std::size_t operations = std::size_t{h.inputs.count} + h.steps.count + h.launches.count + h.outputs.count;
    const std::size_t edges = std::size_t{order_.first[h.steps.count]} + h.arguments.count + h.launches.count +
                              std::size_t{h.outputs.count} * h.steps.count;
    out_.operation = static_cast<CudaOperation*>(calloc(operations + 1, sizeof(CudaOperation)));
    out_.before = static_cast<std::uint32_t*>(calloc(edges + 1, sizeof(std::uint32_t)));
    upload_ = static_cast<std::uint32_t*>(calloc(std::size_t{h.inputs.count} + 1, sizeof(std::uint32_t)));
    last_ = static_cast<std::uint32_t*>(calloc(std::size_t{h.steps.count} + 1, sizeof(std::uint32_t)));
    return out_.operation != nullptr && out_.before != nullptr && upload_ != nullptr && last_ != nullptr;
  }

  std::uint32_t add(CudaOperation::Kind kind, std::uint32_t step, std::uint32_t launch, std::uint32_t tensor) {
    out_.operation[out_.count] = {kind, step, launch, tensor, edges_, 0};
    return out_.count++;
  }
  /// The operation that was added last waits for `before`.
  void wait_for(std::uint32_t before) {
    out_.before[edges_++] = before;
    ++out_.operation[out_.count - 1].before_count;
  }

  void add_step(std::uint32_t i) {
    const PlanStep& step = view_.steps[i];
    const bool copy = step.kind == PlanStepKind::copy;
    const CudaOperation::Kind kind = copy ? CudaOperation::Kind::copy : CudaOperation::Kind::kernel;
    last_[i] = add(kind, i, step.first_launch, 0);
    for (std::uint32_t e = order_.first[i]; e < order_.first[i + 1]; ++e) wait_for(last_[order_.before[e]]);
    for (std::uint32_t a = 0; a < step.argument_count; ++a) {
      const PlanArgument& argument = view_.arguments[step.first_argument + a];
      if (argument.place == PlanPlace::input && upload_[argument.index] != 0) wait_once(upload_[argument.index] - 1);
    }
    for (std::uint32_t l = 1; !copy && l < step.launch_count; ++l) {
      const std::uint32_t before = last_[i];
      last_[i] = add(kind, i, step.first_launch + l, 0);
      wait_for(before);
    }
  }

  void add_download(std::uint32_t output) {
    add(CudaOperation::Kind::download, 0, 0, output);
    for (std::uint32_t i = 0; i < header().steps.count; ++i) {
      const PlanStep& step = view_.steps[i];
      bool writes = false;
      for (std::uint32_t a = 0; a < step.argument_count; ++a) {
        const PlanArgument& argument = view_.arguments[step.first_argument + a];
        writes =
            writes || (argument.place == PlanPlace::output && argument.index == output && may_write(view_, step, a));
      }
      if (writes) wait_for(last_[i]);
    }
  }

  /// A step may read one input by several arguments.
  void wait_once(std::uint32_t before) {
    const CudaOperation& operation = out_.operation[out_.count - 1];
    for (std::uint32_t e = 0; e < operation.before_count; ++e) {
      if (out_.before[operation.first_before + e] == before) return;
    }
    wait_for(before);
  }

  const ModelView& view_;
  const StepOrder& order_;
  CudaOperations& out_;
  std::uint32_t edges_ = 0;
  std::uint32_t* upload_ = nullptr;  ///< of each input: its operation + 1, or 0
  std::uint32_t* last_ = nullptr;    ///< of each step: its last operation
};

}  // namespace

int list_operations(const ModelView& view, const StepOrder& order, const bool* uploaded, const bool* downloaded,
                    CudaOperations* operations, whet_error* error) {
  *operations = CudaOperations{};
  if (Lister(view, order, operations).list(uploaded, downloaded)) return 0;
  free_operations(operations);
  return whet_fail(error, "no memory for a session");
}

void free_operations(CudaOperations* operations) {
  free(operations->operation);
  free(operations->before);
  *operations = CudaOperations{};
}

}  // namespace whet
