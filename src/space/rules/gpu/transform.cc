// Transforms of Winograd's algorithm: a thread has a tile of a few channels in registers, half way and whole.

#include "space/anatomy.h"
#include "space/gpu/winograd.h"
#include "space/rules/rule.h"

namespace whet {
namespace {

std::optional<std::string> why_not_transform(const Derivation& d, OpId op) {
  if (d.treatment(op) == OpTreatment::transform) return std::nullopt;
  return "";
}

/// What `op` reads that is computed in a thread's registers.
OpId half_way(const Derivation& d, OpId op) {
  for (OpId input : inputs_of(d.dag(), op))
    if (d.treatment(input) == OpTreatment::under) return input;
  return {};
}

std::vector<Derivation> apply_transform(const Derivation& from, OpId op) {
  Derivation d = from;
  const OpId half = half_way(d, op);
  if (!half.valid()) return {};
  std::vector<std::int64_t> sizes;
  for (const std::int64_t size : {1, 2, 4})
    if (d.dag().op(op).shape.back() % size == 0) sizes.push_back(size);
  const std::string name = d.dag().op(op).name + ".channels";
  d.decide({name, "channels of a thread that transforms a tile", single(sizes), 0}, {1});
  const bool results = is_output(d.dag(), op);
  const std::vector<std::int64_t>& tile = d.dag().op(half).shape;  // of results: n, th, tw, m, m + 2, oc
  d.act([=, m = tile[tile.size() - 3]](ScheduleDraft& draft) {
    launch_transform(draft.s, op, half, {.m = m, .channels = draft.chosen(name), .of_results = results});
  });
  d.set_treatment(op, OpTreatment::nest);
  return {std::move(d)};
}

}  // namespace

const Rule kGpuTransformRule{"transform", "transforms a tile in the registers of each thread", why_not_transform,
                             apply_transform};

}  // namespace whet
