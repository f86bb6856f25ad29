#include "lower/generate/accesses.h"

#include "lower/generate/facts.h"

namespace whet {

std::vector<Expr> place_in(const LoopTree& tree, const Stored& stored, const std::vector<Expr>& index) {
  std::vector<Expr> placed;
  if (stored.stage.defined()) placed.push_back(stored.stage);
  for (std::size_t k = 0; k < index.size(); ++k) {
    const bool turns = stored.turn > 0 && stored.turning == k;
    placed.push_back(simplified(tree, turns ? floormod(index[k], stored.turn) : index[k] - stored.base[k]));
  }
  return placed;
}

Expr lowered_load(const LoopTree& tree, const Storage& storage, OpId reader, const Load& read, DType dtype) {
  const OpId source(read.source.value);
  std::vector<Expr> index;
  if (const Packed* packed = storage.pack_of(tree, source, reader)) {
    for (DigitId digit : packed->digits) index.push_back(digit_var(tree, digit));
    return load(dtype, SourceId(packed->buffer.value), index);
  }
  for (const Expr& e : read.index) index.push_back(body_over_digits(tree, storage, reader, e));
  const Stored& stored = storage.of(source);
  return load(dtype, SourceId(stored.buffer.value), place_in(tree, stored, index));
}

Expr body_over_digits(const LoopTree& tree, const Storage& storage, OpId op, const Expr& body) {
  return rewrite(body, [&](const Expr& part) -> Expr {
    if (const Load* read = std::get_if<Load>(&part->kind)) return lowered_load(tree, storage, op, *read, part->dtype);
    const Var* v = std::get_if<Var>(&part->kind);
    return v && v->id.valid() ? axis_value(tree, op, AxisId(v->id.value)) : Expr();
  });
}

}  // namespace whet
