#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "alternatives/convert.h"
#include "target/target.h"
#include "task/task.h"
#include "trial/value_range.h"

namespace whet {

enum class AlternativeKind : std::uint8_t {
  usual,      ///< a group of the fused graph, as it is
  alias,      ///< a node that no kernel computes
  layout,     ///< a group on other forms of its activations
  transform,  ///< a copy of a value into another form, or out of a merged tensor
  cover,      ///< several groups as one kernel
  lowered,    ///< a group, or an alias, on activations that are stored in fewer bits
};
std::string_view name_of(AlternativeKind);

/// One way to compute values of a network from others: a kernel, or nothing but another name.
struct Alternative {
  AlternativeKind kind = AlternativeKind::usual;
  Fragment fragment;
  int group = -1;                 ///< of the fused graph, where it computes the result of one
  int task = -1;                  ///< of `Alternatives::tasks`; -1: no kernel runs
  std::string name;               ///< "nhwc -> nchw16c", "merged: a+b"; empty for what is usual
  std::vector<int> instead = {};  ///< the groups whose work it does, where it is no usual one
  /// Of the time of these groups' usual kernels it is hoped to take no less than this part; 0: PriceOptions says.
  double hope = 0;
  /// Of a lowered one what its answers lose (lowered.h).
  std::optional<StoredAs> rounds_product = {}, rounds_reads = {};
  bool in_place = false;      ///< a concatenation without a kernel: what writes its operands has to write parts
  bool writes_parts = false;  ///< its kernel can write its result where it belongs in a concatenation
};
/// The name is that of a cover, or of what reads or copies from one: it has no forms.
bool names_cover(std::string_view name);
/// Convolutions one behind the other as one kernel.
bool names_chain(std::string_view name);
/// Such a kernel of which one is depthwise.
bool chains_depthwise(const Alternative&);

/// All ways that are known to compute a network.
struct Alternatives {
  std::vector<Alternative> all;  ///< the usual ones first, in the order in which they run
  std::size_t usual = 0;         ///< the number of these
  std::vector<Task> tasks;       ///< distinct kernels of all; weights count alternatives. The usual tasks come first
};

struct AlternativeOptions {
  std::vector<ActivationLayout> forms;  ///< beside nhwc
  bool covers = true;                   ///< several groups as one kernel
  /// Of the forms, those whose blocks may be padded by any number of channels; others only where that is little (activation_layout.h).
  std::vector<ActivationLayout> padded = {};
  /// Types in which activations may be stored beside the usual ones. Their kernels round: who asks for them decides what is precise enough.
  std::vector<StoredAs> lowered = {};
  /// Of the network's values on samples, for whole numbers among these types: a value without one is not stored so.
  ValueRanges ranges = {};
};
/// The forms that fit a target: nchw, and blocks that are whole vectors of f32, of 64 channels at the most.
std::vector<ActivationLayout> forms_for(const Target&);
/// The types of fewer bits whose products the target adds up several at a time: bytes on every CPU, bf16 and i16 where it has instructions.
std::vector<StoredAs> lowered_for(const Target&);

/// The alternative reads or writes channels that its values do not have.
bool pads(const FusedGraph&, const Alternative&);

/// Every group on every pair of forms that it can be computed on, and the transforms between the forms in which a value is
/// written and read. With covers, the kernels of merge.h and chain.h too. A concatenation that can be in place is offered in
/// place alone: who reads and copies its operands too would better copy the whole. Equal kernels are one task, also those of
/// the usual ones. Lowered groups are channels last; they may read one type of fewer bits and write another. An f32 activation is rounded
/// by a kernel of its own where no group writes it so, and what is stored in fewer bits is never widened by one, or stored in another type:
/// who needs it so reads another result.
Result<Alternatives> find_alternatives(const FusedGraph&, const Target&, const AlternativeOptions&);

/// The network of the chosen alternatives (numbers of `all`, in an order in which they can run): a fused graph with the
/// same inputs, outputs and answers. Groups are in that order.
/// Errors: a value is read, or given out, before it is there.
Result<FusedGraph> assemble(const FusedGraph&, const Alternatives&, const std::vector<int>& chosen);

}  // namespace whet
