// Inline, as GPUs like it: whatever is read about once an element disappears into its readers, for memory is far and
// arithmetic is cheap. What is copied to block memory is computed by the copy.

#include <algorithm>

#include "space/anatomy.h"
#include "space/gpu/safe.h"
#include "space/gpu/window.h"
#include "space/rules/rule.h"

namespace whet {
namespace {

/// All readers together read no element of it more than about three times.
bool is_read_seldom(const Derivation& d, OpId op) {
  double reads = 0;
  for (OpId reader : consumers_of(d.dag(), op)) {
    if (!has_loops(d.tree(), reader)) continue;
    const Element& element = d.dag().op(reader).element();
    double steps = 1;
    for (const Axis& axis : element.axes) steps *= static_cast<double>(axis.extent);
    for (const Axis& axis : element.reduce_axes) steps *= static_cast<double>(axis.extent);
    for_each(element.body, [&](const Expr& part) {
      const Load* load = std::get_if<Load>(&part->kind);
      if (load && OpId(load->source.value) == op) reads += steps;
    });
  }
  return reads <= 3.0 * static_cast<double>(num_elements(d.dag().op(op).shape));
}

bool is_copied(const Derivation& d, OpId op) {
  const std::vector<OpId> readers = consumers_of(d.dag(), op);
  return std::any_of(readers.begin(), readers.end(),
                     [&](OpId reader) { return d.treatment(reader) == OpTreatment::copied; });
}

/// Of a window that a thread computes whole.
bool is_padding_of_window(const Derivation& d, OpId op) {
  const OpId reader = d.only_reader(op);
  if (!reader.valid() || !d.dag().op(reader).element().reducer) return false;
  const std::optional<GpuWindow> window = window_of(d.dag(), reader, std::nullopt);
  return window && window->staged == op;
}

std::optional<std::string> why_not_inline_for_gpu(const Derivation& d, OpId op) {
  if (d.treatment(op) == OpTreatment::copied) return "it is a copy made for its reader";
  if (d.treatment(op) != OpTreatment::open) return "";
  if (is_output(d.dag(), op)) return "it is an output, which has to be stored";
  if (d.dag().op(op).element().reducer) return "it reduces, and every read would repeat the reduction";
  if (is_constant(d.dag(), op) && is_copied(d, op)) return "it depends on constants alone";
  if (is_padding_of_window(d, op)) return "it pads windows that overlap, so a thread pads what it reads once";
  if (nodes_when_inlined(d.tree(), op) > kMostNodes) return "its readers would become too long";
  if (inlined_for_gpu(d.tree(), op) || cheap_to_inline(d.tree(), op) || is_read_seldom(d, op)) return std::nullopt;
  return "computing its value at each read costs more than storing it once";
}

std::vector<Derivation> apply_inline_for_gpu(const Derivation& from, OpId op) {
  Derivation d = from;
  d.set_treatment(op, OpTreatment::inlined);
  d.act([op](ScheduleDraft& m) { m.s.inline_op(op); });
  return {std::move(d)};
}

}  // namespace

const Rule kGpuInlineRule{"inline", "computes it where it is read", why_not_inline_for_gpu, apply_inline_for_gpu};

}  // namespace whet
