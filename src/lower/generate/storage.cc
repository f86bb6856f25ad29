#include "lower/generate/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "compute/affine.h"
#include "lower/generate/facts.h"
#include "schedule/pipeline.h"
#include "schedule/roll.h"

namespace whet {
namespace {

/// Room for the lanes of a last vector that are not used.
void pad_registers(Buffer& buffer) {
  if (buffer.scope != Scope::registers || buffer.extents.empty()) return;
  constexpr std::int64_t kLanes = 16;
  const auto left = static_cast<std::uint64_t>(buffer.extents.back() % kLanes);
  buffer.padding = left == 0 ? 0 : static_cast<std::int64_t>(std::bit_ceil(left) - left);
  buffer.extents.back() += buffer.padding;
}

bool read_unpacked(const LoopTree& tree, OpId tensor) {
  for (std::size_t i = 0; i < tree.dag.ops.size(); ++i) {
    const OpId reader(static_cast<std::int64_t>(i));
    if (!has_loops(tree, reader) || is_packed(tree, tensor, reader)) continue;
    const std::vector<OpId> inputs = inputs_of(tree.dag, reader);
    if (std::find(inputs.begin(), inputs.end(), tensor) != inputs.end()) return true;
  }
  return false;
}

class StorageMaker {
 public:
  StorageMaker(const LoopTree& tree, const Shape& within) : tree_(tree), within_(within) {
    storage_.lowered.program.vars = static_cast<std::int32_t>(tree.digits.size());
    storage_.stored.resize(tree.dag.ops.size());
  }

  Storage run() {
    make_sizes();
    make_inputs();
    make_packs(tree_, storage_, packing_ids_);
    for (std::size_t i = 0; i < tree_.dag.ops.size(); ++i) {
      const OpId op(static_cast<std::int64_t>(i));
      if (has_loops(tree_, op)) make_buffer(op);
    }
    for (const RegisterCache& cache : tree_.caches) make_cache(cache);
    for (const OnlineSum& online : tree_.onlines) make_scale(online);
    for (const Rfactored& factored : tree_.rfactors) make_partial(factored);
    return std::move(storage_);
  }

 private:
  Program& program() { return storage_.lowered.program; }

  void make_inputs() {
    int placeholder = 0;
    for (std::size_t i = 0; i < tree_.dag.ops.size(); ++i) {
      const OpId op(static_cast<std::int64_t>(i));
      const Op& def = tree_.dag.op(op);
      if (!def.is_placeholder()) continue;
      const bool constant = std::get<Placeholder>(def.def).constant;
      if (read_unpacked(tree_, op)) make_argument(op, KernelArgument::Kind::input, placeholder, constant);
      ++placeholder;
      if (constant) packing_ids_[op] = storage_.lowered.packing.add(def);
    }
  }

  void make_sizes() {
    program().sizes = tree_.dag.sizes;
    const auto count = static_cast<std::int64_t>(tree_.dag.sizes.size());
    if (count > 0)
      add_argument(storage_.lowered, {KernelArgument::Kind::sizes, 0, {DType::i64, {count}}}, "sizes", false);
  }

  void make_argument(OpId op, KernelArgument::Kind kind, int index, bool constant) {
    const Op& def = tree_.dag.op(op);
    Stored& stored = storage_.stored[op.index()];
    stored.buffer = add_argument(storage_.lowered, {kind, index, {def.dtype, def.shape}}, def.name, constant);
    // As loops over them are written, which proofs compare them with.
    for (const Expr& size : def.sizes)
      program().buffers[stored.buffer.index()].sizes.push_back(
          size.defined() ? simplify(size, size_ranges(tree_.dag.sizes)) : size);
    stored.base.assign(def.shape.size(), int_const(0));
  }

  void make_buffer(OpId op) {
    const std::vector<OpId>& outputs = tree_.dag.outputs;
    const auto output = std::find(outputs.begin(), outputs.end(), op);
    if (output == outputs.end()) return make_intermediate(op);
    make_argument(op, KernelArgument::Kind::output, static_cast<int>(output - outputs.begin()), false);
    if (!within_.empty()) program().buffers[storage_.of(op).buffer.index()].extents = within_;
  }

  void make_intermediate(OpId op) {
    const Op& def = tree_.dag.op(op);
    const Placement& place = tree_.place(op);
    const LoopId at = storage_loop(tree_, op);
    Stored& stored = storage_.stored[op.index()];
    Buffer buffer{.name = def.name, .dtype = def.dtype, .scope = scope_of(op, at)};
    const bool in_registers = buffer.scope == Scope::registers;
    if ((buffer.scope == Scope::local || buffer.scope == Scope::block) && is_staged(tree_, op)) {
      buffer.extents.push_back(stages_of(tree_, place.at));
      stored.stage = floormod(digit_var(tree_, tree_.loop(place.at).digits.front()), stages_of(tree_, place.at));
    }
    if (place.rolled.valid() && !in_registers) make_window(op, stored);
    const Region region = at.valid() ? computed_region(tree_, op, at) : Region();
    for (std::size_t k = 0; k < def.shape.size(); ++k) {
      const std::int64_t extent = at.valid() ? region[k].extent : def.shape[k];
      buffer.extents.push_back(stored.turn > 0 && stored.turning == k ? stored.turn : extent);
      stored.base.push_back(at.valid() ? region[k].base : int_const(0));
    }
    if (!buffer.extents.empty() && !in_registers) buffer.extents.back() += place.padding;
    if (place.swizzle > 0 && !buffer.extents.empty())
      buffer.swizzle = place.swizzle, buffer.row_bytes = buffer.extents.back() * size_of(buffer.dtype);
    pad_registers(buffer);
    stored.buffer = program().add(std::move(buffer));
  }

  Scope scope_of(OpId op, LoopId at) const {
    if (tree_.place(op).stored_in == StoredIn::registers) return Scope::registers;
    if (tree_.place(op).stored_in == StoredIn::block) return Scope::block;
    return at.valid() ? Scope::local : Scope::workspace;
  }

  /// Elements as far apart as the window is long share a place: the earlier one is behind it. Along the last axis
  /// neighbours stay neighbours.
  void make_window(OpId op, Stored& stored) const {
    const std::size_t axis = rolled_axis(tree_, op);
    const Shape& shape = tree_.dag.op(op).shape;
    const std::int64_t window = tree_.digit(tree_.place(op).axes[axis]).extent;
    if (axis + 1 < shape.size() && window < shape[axis]) stored.turning = axis, stored.turn = window;
  }

  Buffer registers_for(OpId op, const char* suffix) const {
    const Op& def = tree_.dag.op(op);
    return {.name = def.name + suffix, .dtype = def.dtype, .scope = Scope::registers};
  }

  void make_cache(const RegisterCache& cache) {
    Buffer buffer = registers_for(cache.op, ".acc");
    Stored stored;
    for (const Span& span : computed_region(tree_, cache.op, cache.loop))
      buffer.extents.push_back(span.extent), stored.base.push_back(span.base);
    pad_registers(buffer);
    stored.buffer = program().add(std::move(buffer));
    storage_.caches[cache.op] = {cache.loop, stored};
  }

  void make_scale(const OnlineSum& online) {
    Buffer buffer = program().buffer(storage_.of(online.top).buffer);
    buffer.name += ".scale";
    storage_.scales[online.mix] = program().add(std::move(buffer));
  }

  void make_partial(const Rfactored& factored) {
    LoopId outermost;
    for (LoopId loop : own_loops(tree_, factored.op))
      if (is_outermost_reduce(tree_, loop)) outermost = loop;
    Buffer buffer = registers_for(factored.op, ".partial");
    Partial partial{.outermost = outermost, .lane = tree_.loop(factored.loop).digits.front()};
    for (const Span& span : computed_region(tree_, factored.op, outermost))
      buffer.extents.push_back(span.extent), partial.stored.base.push_back(span.base);
    const std::int64_t lanes = extent_of(tree_, factored.loop);
    buffer.extents.push_back(lanes);
    const bool of_threads = tree_.loop(factored.loop).kind == LoopKind::thread;
    buffer.partial = of_threads;
    partial.stored.buffer = program().add(std::move(buffer));
    if (of_threads)
      partial.total = program().add(registers_for(factored.op, ".total"));
    else
      make_halves(factored.op, lanes, partial);
    storage_.partials[factored.op] = std::move(partial);
  }

  void make_halves(OpId op, std::int64_t lanes, Partial& partial) {
    const Op& def = tree_.dag.op(op);
    while (lanes > 2) {
      lanes = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(lanes))) / 2;
      partial.halves.push_back(program().add({.name = fmt::format("{}.{}", def.name, lanes),
                                              .dtype = def.dtype,
                                              .extents = {lanes},
                                              .scope = Scope::registers}));
    }
  }

  const LoopTree& tree_;
  const Shape& within_;
  Storage storage_;
  std::map<OpId, OpId> packing_ids_;
};

}  // namespace

BufferId add_argument(Lowered& lowered, const KernelArgument& argument, const std::string& name, bool constant) {
  const int position = static_cast<int>(lowered.arguments.size());
  lowered.arguments.push_back(argument);
  return lowered.program.add({.name = name,
                              .dtype = argument.type.dtype,
                              .extents = argument.type.shape,
                              .argument = position,
                              .constant = constant,
                              .written = argument.kind == KernelArgument::Kind::output});
}

Storage make_storage(const LoopTree& tree, const Shape& within) { return StorageMaker(tree, within).run(); }

}  // namespace whet
