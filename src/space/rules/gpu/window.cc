// Tiling in registers: a small window that moves with rows or columns serves neighbouring elements, so a thread computes a
// patch of them, and pads what it reads once.

#include "space/gpu/window.h"

#include "space/rules/gpu/own_decisions.h"
#include "space/rules/gpu/sums.h"

namespace whet {
namespace {

std::optional<GpuWindow> window_at(const Derivation& d, OpId op) {
  const OpId reader = fused_reader(d, op);
  std::optional<GpuWindow> window = window_of(d.dag(), op, reader.valid() ? std::optional(reader) : std::nullopt);
  if (window && window->staged && !has_loops(d.tree(), *window->staged)) window->staged.reset();
  return window;
}

std::optional<std::string> why_not_window(const Derivation& d, OpId op) {
  if (d.treatment(op) != OpTreatment::open) return "";
  if (!d.dag().op(op).element().reducer) return "it does not reduce, so nothing is read for several of its elements";
  const std::optional<GpuWindow> window = window_at(d, op);
  if (!window) return "it is no reduction of a small window that moves with rows or columns";
  const auto overlaps = [](const std::optional<PatchAxis>& axis) { return axis && axis->taps > 1; };
  if (!overlaps(window->rows) && !overlaps(window->columns))
    return "each value that it reads serves one of its elements";
  return std::nullopt;
}

std::vector<Derivation> apply_window(const Derivation& from, OpId op) {
  Derivation d = from;
  const GpuWindow window = *window_at(d, op);
  const OwnDecisions own{d.prefix_for(op)};
  const std::vector<Decision> decisions = window_decisions(window, d.dag().op(op).shape.back());
  const Choices guess{{"rows", {1}},
                      {"columns", {1}},
                      {"vector", decisions[2].options.back()},
                      {"threads", {128}},
                      {"min_blocks", {0}}};
  own.decide(d, decisions, {"rows", "columns", "vector", "threads", "min_blocks"}, guess,
             window_constraints(window, limits_of(d.target().gpu())));
  own.consider(d, window_starts(decisions));
  d.call("patches");
  d.act([window, own](ScheduleDraft& m) { build_window(m.s, window, own.of(m.choices)); });
  d.set_treatment(op, OpTreatment::nest);
  if (window.staged) d.set_treatment(*window.staged, OpTreatment::under);
  return {std::move(d)};
}

}  // namespace

const Rule kGpuWindowRule{"register-tiling", "computes a patch of neighbouring elements in each thread", why_not_window,
                          apply_window};

}  // namespace whet
