#include <fmt/format.h>

#include <algorithm>

#include "compute/affine.h"
#include "lower/generate/facts.h"
#include "lower/generate/storage.h"

namespace whet {
namespace {

std::optional<std::size_t> position_of_pack(const LoopTree& tree, OpId tensor, OpId reader) {
  const auto found = std::find_if(tree.packs.begin(), tree.packs.end(), [&](const PackedRead& pack) {
    return pack.tensor == tensor && pack.reader == reader;
  });
  if (found == tree.packs.end()) return std::nullopt;
  return static_cast<std::size_t>(found - tree.packs.begin());
}

bool depends(const std::vector<Expr>& index, VarId wanted) {
  bool found = false;
  for (const Expr& e : index)
    for_each(e, [&](const Expr& part) {
      const Var* v = std::get_if<Var>(&part->kind);
      found = found || (v && v->id == wanted);
    });
  return found;
}

/// Where the reader reads the tensor, over digit variables.
std::vector<Expr> read_index(const LoopTree& tree, const PackedRead& pack) {
  std::vector<Expr> index;
  const auto over_digits = [&](const Expr& e) {
    return substitute(e, [&](VarId v) { return v.valid() ? axis_value(tree, pack.reader, AxisId(v.value)) : Expr(); });
  };
  for_each(tree.dag.op(pack.reader).element().body, [&](const Expr& part) {
    const Load* read = std::get_if<Load>(&part->kind);
    if (read && read->source.value == pack.tensor.value)
      for (const Expr& e : read->index) index.push_back(simplified(tree, over_digits(e)));
  });
  return index;
}

/// The axes of a packed constant: one a digit that the read depends on.
struct PackAxes {
  std::vector<DigitId> digits;
  std::vector<Axis> axes;
  Values axis_of_digit;
};

PackAxes axes_of(const LoopTree& tree, OpId reader, const std::vector<Expr>& index) {
  PackAxes out;
  for (LoopId loop : path_to(tree, loop_of_leaf(tree, reader)))
    for (DigitId digit : tree.loop(loop).digits) {
      const VarId variable(digit.value);
      if (!depends(index, variable)) continue;
      const std::size_t number = out.axes.size();
      out.axis_of_digit[variable] = var(VarId(static_cast<std::int64_t>(number)), name_of(tree, digit));
      out.axes.push_back({.name = fmt::format("d{}", number), .extent = tree.digit(digit).extent});
      out.digits.push_back(digit);
    }
  return out;
}

class Packer {
 public:
  Packer(const LoopTree& tree, ComputeDag& packing, std::map<OpId, OpId>& ids)
      : tree_(tree), packing_(packing), ids_(ids) {}

  /// The op that packs the tensor; `axes` are its own.
  Op packed(const PackedRead& pack, std::vector<Expr> index, const PackAxes& axes, std::string name) {
    const Op& tensor = tree_.dag.op(pack.tensor);
    Expr inside = bool_const(true);
    for (std::size_t k = 0; k < index.size(); ++k) {
      const Expr in_range =
          simplify(index[k] < int_const(tensor.shape[k]), [&](VarId v) { return digit_range(tree_, v); });
      index[k] = in_packing(at_values(index[k], axes.axis_of_digit));
      inside = inside && in_packing(at_values(in_range, axes.axis_of_digit));
    }
    const Expr read = load(packing_, packing_id(pack.tensor), index);
    Element element{.family = OpFamily::injective};
    element.axes = axes.axes;
    element.body = select(inside, read, constant_like(read, 0));
    Op op{.name = std::move(name), .dtype = tensor.dtype, .def = std::move(element)};
    for (const Axis& axis : op.element().axes) op.shape.push_back(axis.extent);
    return op;
  }

 private:
  /// With loads of the packing's ops: constants may say where others are read. In what a guard leaves out they say anything, from inside of
  /// their tensors.
  Expr in_packing(const Expr& e) {
    return rewrite(e, [&](const Expr& part) -> Expr {
      const Load* read = std::get_if<Load>(&part->kind);
      if (!read) return {};
      std::vector<Expr> index;
      const OpId from = packing_id(OpId(read->source.value));
      for (std::size_t k = 0; k < read->index.size(); ++k)
        index.push_back(max(min(in_packing(read->index[k]), int_const(packing_.op(from).shape[k] - 1)), int_const(0)));
      return load(packing_, from, std::move(index));
    });
  }

  /// The op of the packing that computes the constant `op`.
  OpId packing_id(OpId op) {
    if (const auto known = ids_.find(op); known != ids_.end()) return known->second;
    Op copy = tree_.dag.op(op);
    std::vector<OpId> renamed(tree_.dag.ops.size());
    for (OpId input : inputs_of(tree_.dag, op)) renamed[input.index()] = packing_id(input);
    copy.element().body = with_sources(copy.element().body, renamed);
    return ids_[op] = packing_.add(std::move(copy));
  }

  const LoopTree& tree_;
  ComputeDag& packing_;
  std::map<OpId, OpId>& ids_;
};

}  // namespace

bool is_packed(const LoopTree& tree, OpId tensor, OpId reader) {
  return position_of_pack(tree, tensor, reader).has_value();
}

const Packed* Storage::pack_of(const LoopTree& tree, OpId tensor, OpId reader) const {
  const std::optional<std::size_t> position = position_of_pack(tree, tensor, reader);
  return position ? &packs[*position] : nullptr;
}

void make_packs(const LoopTree& tree, Storage& storage, std::map<OpId, OpId>& packing_ids) {
  ComputeDag& packing = storage.lowered.packing;
  Packer packer(tree, packing, packing_ids);
  for (std::size_t i = 0; i < tree.packs.size(); ++i) {
    const PackedRead& pack = tree.packs[i];
    const std::vector<Expr> index = read_index(tree, pack);
    PackAxes axes = axes_of(tree, pack.reader, index);
    Op op = packer.packed(pack, index, axes, fmt::format("{}.packed{}", tree.dag.op(pack.tensor).name, i));
    const int number = static_cast<int>(packing.outputs.size());
    const KernelArgument argument{KernelArgument::Kind::packed, number, {op.dtype, op.shape}};
    storage.packs.push_back({add_argument(storage.lowered, argument, op.name, true), std::move(axes.digits)});
    packing.outputs.push_back(packing.add(std::move(op)));
  }
}

}  // namespace whet
