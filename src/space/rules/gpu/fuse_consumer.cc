// Fuse the consumer: what reads a sum element by element is computed by the thread that has the sum in registers.

#include "space/anatomy.h"
#include "space/rules/rule.h"

namespace whet {
namespace {

bool reads_own_element(const ComputeDag& dag, OpId reader, OpId op) {
  if (dag.op(reader).shape != dag.op(op).shape) return false;
  bool own = true;
  for_each(dag.op(reader).element().body, [&](const Expr& part) {
    const Load* load = std::get_if<Load>(&part->kind);
    if (!load || OpId(load->source.value) != op) return;
    for (std::size_t axis = 0; axis < load->index.size(); ++axis) {
      const Var* index = std::get_if<Var>(&load->index[axis]->kind);
      own = own && index && index->id.index() == axis;
    }
  });
  return own;
}

std::optional<std::string> why_not_fuse_on_gpu(const Derivation& d, OpId op) {
  if (d.treatment(op) != OpTreatment::open) return "";
  if (!d.dag().op(op).element().reducer) return "it does not reduce";
  if (is_output(d.dag(), op)) return "it is an output, which has to be stored";
  const OpId reader = d.only_reader(op);
  if (!reader.valid() || d.treatment(reader) != OpTreatment::open || d.dag().op(reader).element().reducer)
    return "the ops that read it are not exactly one op without a reduction";
  if (!reads_own_element(d.dag(), reader, op)) return "the op that reads it needs other elements than its own";
  return std::nullopt;
}

std::vector<Derivation> apply_fuse_on_gpu(const Derivation& from, OpId op) {
  Derivation d = from;
  d.set_treatment(d.only_reader(op), OpTreatment::follower);
  return {std::move(d)};
}

}  // namespace

const Rule kGpuFuseConsumerRule{"fuse-consumer",
                                "computes the op that reads it on the threads that have it in registers",
                                why_not_fuse_on_gpu, apply_fuse_on_gpu};

}  // namespace whet
