#include "runtime/cuda/step_order.h"

#include <stdlib.h>
#include <string.h>

namespace whet {
namespace {

bool overlap(std::uint64_t a, std::uint64_t a_bytes, std::uint64_t b, std::uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

bool overlap(const PlanArgument& a, const PlanArgument& b) {
  if (a.place != b.place || (a.place != PlanPlace::arena && a.index != b.index)) return false;
  return overlap(a.offset, a.bytes, b.offset, b.bytes);
}

bool touches_workspace(const PlanArgument& a, const PlanStep& step) {
  return a.place == PlanPlace::arena && overlap(a.offset, a.bytes, step.workspace_offset, step.workspace_bytes);
}

/// Whether `a`, which comes first, and `b` must not run at the same time.
bool conflict(const ModelView& view, const PlanStep& a, const PlanStep& b) {
  if (a.workspace_bytes > 0 && b.workspace_bytes > 0 &&
      overlap(a.workspace_offset, a.workspace_bytes, b.workspace_offset, b.workspace_bytes)) {
    return true;
  }
  const PlanArgument* as = view.arguments + a.first_argument;
  const PlanArgument* bs = view.arguments + b.first_argument;
  for (std::uint32_t j = 0; b.workspace_bytes > 0 && j < a.argument_count; ++j) {
    if (touches_workspace(as[j], b)) return true;
  }
  for (std::uint32_t k = 0; k < b.argument_count; ++k) {
    if (a.workspace_bytes > 0 && touches_workspace(bs[k], a)) return true;
    for (std::uint32_t j = 0; j < a.argument_count; ++j) {
      if (!overlap(as[j], bs[k])) continue;
      const bool a_writes = may_write(view, a, j), b_writes = may_write(view, b, k);
      if (!a_writes && !b_writes) continue;
      const bool parts = a_writes && b_writes && (a.flags & b.flags & kStepPart) != 0;
      if (!parts) return true;
    }
  }
  return false;
}

/// Rows of bits: row i has the steps that step i waits for, itself too.
class Reach {
 public:
  explicit Reach(std::uint32_t steps)
      : words_((steps + 63) / 64), bits_(static_cast<std::uint64_t*>(calloc(std::size_t{steps} * words_ + 1, 8))) {}
  ~Reach() { free(bits_); }
  Reach(const Reach&) = delete;
  Reach& operator=(const Reach&) = delete;
  bool ok() const { return bits_ != nullptr; }
  bool has(std::uint32_t row, std::uint32_t step) const { return bits_[row * words_ + step / 64] >> step % 64 & 1; }
  void set(std::uint32_t row, std::uint32_t step) { bits_[row * words_ + step / 64] |= std::uint64_t{1} << step % 64; }
  void add(std::uint32_t row, std::uint32_t other) {
    for (std::size_t w = 0; w < words_; ++w) bits_[row * words_ + w] |= bits_[other * words_ + w];
  }

 private:
  std::size_t words_;
  std::uint64_t* bits_;
};

}  // namespace

bool may_write(const ModelView& view, const PlanStep& step, std::uint32_t i) {
  const PlanPlace place = view.arguments[step.first_argument + i].place;
  if (place == PlanPlace::weights || place == PlanPlace::input) return false;
  if (step.kind == PlanStepKind::copy) return i == 1;
  return step.written == 0 || i >= 32 || (step.written >> i & 1) != 0;
}

int find_step_order(const ModelView& view, bool chain, StepOrder* order, whet_error* error) {
  const std::uint32_t steps = view.header->steps.count;
  *order = StepOrder{};
  order->first = static_cast<std::uint32_t*>(calloc(std::size_t{steps} + 1, sizeof(std::uint32_t)));
  Reach reach(steps);
  std::size_t count = 0, room = 0;
  bool memory = order->first != nullptr && reach.ok();
  for (std::uint32_t i = 0; memory && i < steps; ++i) {
    order->first[i] = static_cast<std::uint32_t>(count);
    // The latest first: what it waits for needs no edge of its own.
    for (std::uint32_t j = i; memory && j-- > 0;) {
      if (reach.has(i, j) || !(chain || conflict(view, view.steps[j], view.steps[i]))) continue;
      if (count == room) {
        room = 2 * room + 16;
        void* grown = realloc(order->before, room * sizeof(std::uint32_t));
        memory = grown != nullptr;
        if (!memory) break;
        order->before = static_cast<std::uint32_t*>(grown);
      }
      order->before[count++] = j;
      reach.add(i, j);
    }
    reach.set(i, i);
  }
  if (!memory) {
    free_step_order(order);
    return whet_fail(error, "no memory for the order of %u steps", steps);
  }
  order->first[steps] = static_cast<std::uint32_t>(count);
  return 0;
}

void free_step_order(StepOrder* order) {
  free(order->first);
  free(order->before);
  *order = StepOrder{};
}

}  // namespace whet
