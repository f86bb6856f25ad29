#include "lower/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "lower/cases.h"
#include "lower/merged_shape.h"
#include "lower/prefetch_lines.h"
#include "lower/rename.h"
#include "schedule/check.h"
#include "schedule/pipeline.h"
#include "schedule/prefetch.h"
#include "schedule/regions.h"
#include "schedule/roll.h"

namespace whet {
namespace {

/// Elements of a row that are begun in one step where the op itself takes them one by one, and how many are too few.
constexpr std::int64_t kFilledAtOnce = 64, kFewToFill = 32;

using Values = std::map<VarId, Expr>;  // what stands for a digit's variable in a mirrored nest

class Generator {
 public:
  Generator(const LoopTree& tree, const Shape& within) : tree_(tree), within_(within) {
    lowered_.program.vars = static_cast<std::int32_t>(tree.digits.size());
  }

  Result<Lowered> run() {
    make_buffers();
    std::vector<Stmt> phases;
    bool alone = true;  // worker 0 has run what stands there so far, and waits for nobody
    for (const Item& root : tree_.roots) {
      const bool shared = root.loop.valid() && tree_.loop(root.loop).kind == LoopKind::parallel;
      if (!phases.empty() && (shared || !alone)) phases.push_back(make_stmt(Barrier{}));
      append_item(root, phases);
      alone = !shared;
    }
    lowered_.program.body = block(std::move(phases));
    const bool rolled = std::any_of(tree_.places.begin(), tree_.places.end(),
                                    [](const Placement& place) { return place.rolled.valid(); });
    if (rolled || !tree_.pipelines.empty()) lowered_.program = rename_apart(std::move(lowered_.program));
    return std::move(lowered_);
  }

 private:
  // ---- buffers

  struct Stored {
    BufferId buffer;
    std::vector<Expr> base;   ///< where the buffer starts within the tensor, one an axis
    Expr stage;               ///< of a pipeline: the first index; undefined elsewhere
    std::size_t turning = 0;  ///< the axis along which the buffer turns round
    std::int64_t turn = 0;    ///< after so many elements; 0: it does not
  };

  BufferId add_argument(const KernelArgument& argument, const std::string& name, bool constant) {
    const int position = static_cast<int>(lowered_.arguments.size());
    lowered_.arguments.push_back(argument);
    return lowered_.program.add({.name = name,
                                 .dtype = argument.type.dtype,
                                 .extents = argument.type.shape,
                                 .argument = position,
                                 .constant = constant,
                                 .written = argument.kind == KernelArgument::Kind::output});
  }

  bool read_unpacked(OpId tensor) const {
    for (std::size_t i = 0; i < tree_.dag.ops.size(); ++i) {
      const OpId reader(static_cast<std::int64_t>(i));
      if (!has_loops(tree_, reader) || find_pack(tensor, reader)) continue;
      const std::vector<OpId> inputs = inputs_of(tree_.dag, reader);
      if (std::find(inputs.begin(), inputs.end(), tensor) != inputs.end()) return true;
    }
    return false;
  }

  void make_buffers() {
    stored_.resize(tree_.dag.ops.size());
    make_inputs();
    make_packs();
    for (std::size_t i = 0; i < tree_.dag.ops.size(); ++i) {
      const OpId op(static_cast<std::int64_t>(i));
      if (has_loops(tree_, op)) make_buffer(op);
    }
    for (const RegisterCache& cache : tree_.caches) {
      const Region region = computed_region(tree_, cache.op, cache.loop);
      Buffer buffer{.name = tree_.dag.op(cache.op).name + ".acc",
                    .dtype = tree_.dag.op(cache.op).dtype,
                    .scope = Scope::registers};
      Stored stored;
      for (const Span& span : region) buffer.extents.push_back(span.extent), stored.base.push_back(span.base);
      pad_registers(buffer);
      stored.buffer = lowered_.program.add(std::move(buffer));
      caches_[cache.op] = {cache.loop, stored};
    }
    for (const Rfactored& factored : tree_.rfactors) make_partials(factored);
  }

  void make_inputs() {
    int placeholder = 0;
    for (std::size_t i = 0; i < tree_.dag.ops.size(); ++i) {
      const OpId op(static_cast<std::int64_t>(i));
      const Op& def = tree_.dag.op(op);
      if (!def.is_placeholder()) continue;
      const bool constant = std::get<Placeholder>(def.def).constant;
      if (read_unpacked(op)) {
        stored_[i].buffer =
            add_argument({KernelArgument::Kind::input, placeholder, {def.dtype, def.shape}}, def.name, constant);
        stored_[i].base.assign(def.shape.size(), int_const(0));
      }
      ++placeholder;
      if (constant) prologue_ids_[op] = lowered_.prologue.add(def);
    }
  }

  void make_buffer(OpId op) {
    const Op& def = tree_.dag.op(op);
    Stored& stored = stored_[op.index()];
    const auto output = std::find(tree_.dag.outputs.begin(), tree_.dag.outputs.end(), op);
    if (output != tree_.dag.outputs.end()) {
      const int index = static_cast<int>(output - tree_.dag.outputs.begin());
      stored.buffer = add_argument({KernelArgument::Kind::output, index, {def.dtype, def.shape}}, def.name, false);
      stored.base.assign(def.shape.size(), int_const(0));
      if (!within_.empty()) lowered_.program.buffers[stored.buffer.index()].extents = within_;
      return;
    }
    const LoopId at = storage_loop(tree_, op);
    Buffer buffer{.name = def.name, .dtype = def.dtype, .scope = Scope::workspace};
    if (tree_.place(op).registers)
      buffer.scope = Scope::registers;
    else if (at.valid())
      buffer.scope = Scope::local;
    if (buffer.scope == Scope::local && is_staged(op)) {
      const LoopId loop = tree_.place(op).at;
      buffer.extents.push_back(stages_of(tree_, loop));
      stored.stage = floormod(digit_var(tree_, tree_.loop(loop).digits.front()), stages_of(tree_, loop));
    }
    if (tree_.place(op).rolled.valid() && buffer.scope != Scope::registers) make_window(op, stored);
    const Region region = at.valid() ? computed_region(tree_, op, at) : Region();
    for (std::size_t k = 0; k < def.shape.size(); ++k) {
      const std::int64_t extent = at.valid() ? region[k].extent : def.shape[k];
      buffer.extents.push_back(stored.turn > 0 && stored.turning == k ? stored.turn : extent);
      stored.base.push_back(at.valid() ? region[k].base : int_const(0));
    }
    if (!buffer.extents.empty() && buffer.scope != Scope::registers) buffer.extents.back() += tree_.place(op).padding;
    pad_registers(buffer);
    stored.buffer = lowered_.program.add(std::move(buffer));
  }

  /// Room for the lanes of a last vector that are not used.
  static void pad_registers(Buffer& buffer) {
    if (buffer.scope != Scope::registers || buffer.extents.empty()) return;
    constexpr std::int64_t kLanes = 16;
    const auto left = static_cast<std::uint64_t>(buffer.extents.back() % kLanes);
    buffer.padding = left == 0 ? 0 : static_cast<std::int64_t>(std::bit_ceil(left) - left);
    buffer.extents.back() += buffer.padding;
  }

  /// Elements as far apart as the window is long share a place: the earlier one is behind it. Along the last axis
  /// neighbours stay neighbours.
  void make_window(OpId op, Stored& stored) const {
    const std::size_t axis = rolled_axis(tree_, op);
    const Shape& shape = tree_.dag.op(op).shape;
    const std::int64_t window = tree_.digit(tree_.place(op).axes[axis]).extent;
    if (axis + 1 < shape.size() && window < shape[axis]) stored.turning = axis, stored.turn = window;
  }

  /// A pipeline computes the op ahead.
  bool is_staged(OpId op) const {
    const Placement& place = tree_.place(op);
    return place.kind == PlaceKind::at && stages_of(tree_, place.at) > 1 && extent_of(tree_, place.at) > 1;
  }

  /// Partial results in registers, one a lane, and the halves in which they are combined.
  void make_partials(const Rfactored& factored) {
    LoopId outermost;
    for (LoopId loop : own_loops(tree_, factored.op))
      if (is_outermost_reduce(loop)) outermost = loop;
    Buffer buffer{.name = tree_.dag.op(factored.op).name + ".partial",
                  .dtype = tree_.dag.op(factored.op).dtype,
                  .scope = Scope::registers};
    Partial partial{.outermost = outermost, .lane = tree_.loop(factored.loop).digits.front()};
    for (const Span& span : computed_region(tree_, factored.op, outermost))
      buffer.extents.push_back(span.extent), partial.stored.base.push_back(span.base);
    buffer.extents.push_back(extent_of(tree_, factored.loop));
    partial.stored.buffer = lowered_.program.add(buffer);
    for (std::int64_t lanes = buffer.extents.back(); lanes > 2;) {
      lanes = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(lanes))) / 2;
      partial.halves.push_back(
          lowered_.program.add({.name = fmt::format("{}.{}", tree_.dag.op(factored.op).name, lanes),
                                .dtype = buffer.dtype,
                                .extents = {lanes},
                                .scope = Scope::registers}));
    }
    partials_[factored.op] = partial;
  }

  // ---- packed constants

  struct Packed {
    BufferId buffer;
    std::vector<DigitId> digits;  ///< of the loops around the reader, outermost first
  };

  const Packed* find_pack(OpId tensor, OpId reader) const {
    for (std::size_t i = 0; i < tree_.packs.size(); ++i)
      if (tree_.packs[i].tensor == tensor && tree_.packs[i].reader == reader)
        return i < packs_.size() ? &packs_[i] : &no_pack_yet_;
    return nullptr;
  }

  /// The op of the prologue that computes the constant `op`.
  OpId prologue_id(OpId op) {
    if (const auto known = prologue_ids_.find(op); known != prologue_ids_.end()) return known->second;
    Op copy = tree_.dag.op(op);
    std::vector<OpId> renamed(tree_.dag.ops.size());
    for (OpId input : inputs_of(tree_.dag, op)) renamed[input.index()] = prologue_id(input);
    copy.element().body = with_sources(copy.element().body, renamed);
    return prologue_ids_[op] = lowered_.prologue.add(std::move(copy));
  }

  void make_packs() {
    for (std::size_t i = 0; i < tree_.packs.size(); ++i) {
      const PackedRead& pack = tree_.packs[i];
      const Op& tensor = tree_.dag.op(pack.tensor);
      std::vector<Expr> index;
      for_each(tree_.dag.op(pack.reader).element().body, [&](const Expr& part) {
        const Load* read = std::get_if<Load>(&part->kind);
        if (read && read->source.value == pack.tensor.value)
          for (const Expr& e : read->index) index.push_back(simplified(over_digits(pack.reader, e)));
      });
      Packed packed;
      Element element{.family = OpFamily::injective};
      Values axis_of_digit;
      for (LoopId loop : path_to(tree_, loop_of_leaf(tree_, pack.reader)))
        for (DigitId digit : tree_.loop(loop).digits)
          if (depends(index, VarId(digit.value))) {
            axis_of_digit[VarId(digit.value)] =
                var(VarId(static_cast<std::int64_t>(element.axes.size())), name_of(tree_, digit));
            element.axes.push_back(
                {.name = fmt::format("d{}", element.axes.size()), .extent = tree_.digit(digit).extent});
            packed.digits.push_back(digit);
          }
      Expr inside = bool_const(true);
      for (std::size_t k = 0; k < index.size(); ++k) {
        const Expr in_range =
            simplify(index[k] < int_const(tensor.shape[k]), [&](VarId v) { return digit_range(tree_, v); });
        index[k] = substitute(index[k], [&](VarId v) { return axis_of_digit[v]; });
        inside = inside && substitute(in_range, [&](VarId v) { return axis_of_digit[v]; });
      }
      const Expr read = load(lowered_.prologue, prologue_id(pack.tensor), index);
      element.body = select(inside, read, constant_like(read, 0));
      Op op{.name = fmt::format("{}.packed{}", tensor.name, i), .dtype = tensor.dtype, .def = std::move(element)};
      for (const Axis& axis : op.element().axes) op.shape.push_back(axis.extent);
      const TensorType type{op.dtype, op.shape};
      const int number = static_cast<int>(lowered_.prologue.outputs.size());
      packed.buffer = add_argument({KernelArgument::Kind::packed, number, type}, op.name, true);
      lowered_.prologue.outputs.push_back(lowered_.prologue.add(std::move(op)));
      packs_.push_back(std::move(packed));
    }
  }

  static bool depends(const std::vector<Expr>& index, VarId wanted) {
    bool found = false;
    for (const Expr& e : index)
      for_each(e, [&](const Expr& part) {
        const Var* v = std::get_if<Var>(&part->kind);
        found = found || (v && v->id == wanted);
      });
    return found;
  }

  // ---- expressions

  Expr simplified(const Expr& e) const {
    return simplify(e, [&](VarId v) { return v.index() < tree_.digits.size() ? digit_range(tree_, v) : Interval{}; });
  }

  /// An expression over the op's axes as one over digit variables.
  Expr over_digits(OpId op, const Expr& e) const {
    return substitute(e, [&](VarId v) { return axis_value(tree_, op, AxisId(v.value)); });
  }

  std::vector<Expr> place_in(const Stored& stored, const std::vector<Expr>& index) const {
    std::vector<Expr> placed;
    if (stored.stage.defined()) placed.push_back(stored.stage);
    for (std::size_t k = 0; k < index.size(); ++k)
      placed.push_back(simplified(stored.turn > 0 && stored.turning == k ? floormod(index[k], stored.turn)
                                                                         : index[k] - stored.base[k]));
    return placed;
  }

  Expr lowered_load(OpId reader, const Load& read, DType dtype) const {
    const OpId source(read.source.value);
    if (const Packed* packed = find_pack(source, reader)) {
      std::vector<Expr> index;
      for (DigitId digit : packed->digits) index.push_back(digit_var(tree_, digit));
      return load(dtype, SourceId(packed->buffer.value), index);
    }
    std::vector<Expr> index;
    for (const Expr& e : read.index) index.push_back(body_over_digits(reader, e));
    const Stored& stored = stored_[source.index()];
    return load(dtype, SourceId(stored.buffer.value), place_in(stored, index));
  }

  /// An expression over the op's axes as one over digit variables and buffers.
  Expr body_over_digits(OpId op, const Expr& body) const {
    return rewrite(body, [&](const Expr& part) -> Expr {
      if (const Load* read = std::get_if<Load>(&part->kind)) return lowered_load(op, *read, part->dtype);
      if (const Var* v = std::get_if<Var>(&part->kind)) return axis_value(tree_, op, AxisId(v->id.value));
      return Expr();
    });
  }

  std::vector<Expr> own_index(OpId op) const {
    std::vector<Expr> index;
    for (std::size_t k = 0; k < tree_.dag.op(op).element().axes.size(); ++k)
      index.push_back(axis_value(tree_, op, AxisId(static_cast<std::int64_t>(k))));
    return index;
  }

  // ---- guards

  bool always(const Expr& condition) const { return is_const(simplified(condition), 1); }

  /// The conditions under which an iteration of the op's nest counts; `reduce` adds those of reduce axes.
  std::vector<Expr> guards(OpId op, bool reduce) const {
    std::vector<Expr> conditions;
    auto add = [&](const Expr& condition) {
      if (!always(condition)) conditions.push_back(condition);
    };
    for (std::size_t d = 0; d < tree_.digits.size(); ++d) {
      const Digit& digit = tree_.digits[d];
      const DigitId id(static_cast<std::int64_t>(d));
      if (digit.op != op || digit.leaf() || digit.tail != Tail::guard || digit.divides() ||
          (is_reduce(tree_, id) && !reduce))
        continue;
      const std::vector<DigitId>& axes = tree_.place(op).axes;
      if (!contains(axes[digit.axis.index()], id)) continue;
      add(digit_value(tree_, id) < int_const(digit.extent));
    }
    const Placement& place = tree_.place(op);
    if (only_new_ == op)
      add(axis_value(tree_, op, AxisId(static_cast<std::int64_t>(rolled_axis(tree_, op)))) >= first_new(tree_, op));
    if (place.kind == PlaceKind::root) return conditions;
    const Element& element = tree_.dag.op(op).element();
    for (std::size_t k = 0; k < element.axes.size(); ++k) {
      const Expr value = axis_value(tree_, op, AxisId(static_cast<std::int64_t>(k)));
      add(value >= int_const(0));
      add(value < int_const(element.axes[k].extent));
    }
    return conditions;
  }

  /// True when `wanted` is `root` or a part of it (digits of a nest that was placed elsewhere since are not).
  bool contains(DigitId root, DigitId wanted) const {
    if (root == wanted) return true;
    const Digit& digit = tree_.digit(root);
    return !digit.leaf() && (contains(digit.outer, wanted) || contains(digit.inner, wanted));
  }

  static Stmt guarded(const std::vector<Expr>& conditions, Stmt body) {
    for (std::size_t i = conditions.size(); i-- > 0;) body = make_stmt(If{conditions[i], body, Stmt()});
    return body;
  }

  // ---- statements

  /// The loops `loops` once more with variables of their own around what `leaf` makes.
  Stmt mirrored(const std::vector<LoopId>& loops, const std::function<Stmt(const Values&)>& leaf) {
    Values values;
    std::vector<VarId> vars;
    for (LoopId loop : loops)
      for (DigitId digit : tree_.loop(loop).digits) {
        const VarId fresh = lowered_.program.fresh_var();
        values[VarId(digit.value)] = var(fresh, name_of(tree_, digit));
      }
    Stmt body = leaf(values);
    for (std::size_t i = loops.size(); i-- > 0;) {
      body = loop_around(loops[i], body,
                         [&](DigitId digit) { return std::get<Var>(values[VarId(digit.value)]->kind).id; });
      // What an intrinsic takes whole is begun and stored whole.
      if (i + 1 == loops.size() && is_in_tile(tree_, loops[i]))
        body = of_kind(std::get<Loop>(body->kind), LoopKind::vectorized);
    }
    return body;
  }

  Stmt loop_around(LoopId id, Stmt body, const std::function<VarId(DigitId)>& var_of) {
    const TreeLoop& loop = tree_.loop(id);
    const Expr extent = int_const(extent_of(tree_, id));
    if (loop.digits.size() == 1)
      return make_stmt(Loop{var_of(loop.digits[0]), name_of(tree_, id), int_const(0), extent, loop.kind, body});
    const VarId fused = lowered_.program.fresh_var();
    std::int64_t inner = 1;
    for (std::size_t i = loop.digits.size(); i-- > 0;) {
      const DigitId digit = loop.digits[i];
      Expr value = floordiv(var(fused, name_of(tree_, id)), inner);
      if (i > 0) value = floormod(value, tree_.digit(digit).extent);
      body = make_stmt(Let{var_of(digit), name_of(tree_, digit), value, body});
      inner *= tree_.digit(digit).extent;
    }
    return make_stmt(Loop{fused, name_of(tree_, id), int_const(0), extent, loop.kind, body});
  }

  static Expr at_values(const Expr& e, const Values& values) {
    return substitute(e, [&](VarId v) {
      const auto found = values.find(v);
      return found == values.end() ? Expr() : found->second;
    });
  }
  static Stmt of_kind(Loop loop, LoopKind kind) {
    loop.kind = kind;
    return make_stmt(std::move(loop));
  }
  static std::vector<Expr> at_values(std::vector<Expr> index, const Values& values) {
    for (Expr& e : index) e = at_values(e, values);
    return index;
  }

  std::vector<LoopId> spatial_loops_inside(OpId op, LoopId outer) const {
    std::vector<LoopId> inside;
    for (LoopId loop : own_loops(tree_, op))
      if (loop != outer && encloses(tree_, outer, loop) && !is_reduce(tree_, loop)) inside.push_back(loop);
    return inside;
  }

  /// A nest over the tile that `op` computes inside `outer`: store target[...] = value, within the spatial guards.
  Stmt tile_nest(OpId op, LoopId outer, const Stored& target, const std::function<Expr(const Values&)>& value) {
    return mirrored(spatial_loops_inside(op, outer), [&](const Values& values) {
      return guarded(
          spatial_guards(op, values),
          make_stmt(Store{target.buffer, at_values(place_in(target, own_index(op)), values), value(values), Expr()}));
    });
  }

  Expr load_of(OpId op, const Stored& stored, const Values& values) const {
    return at_values(load(tree_.dag.op(op).dtype, SourceId(stored.buffer.value), place_in(stored, own_index(op))),
                     values);
  }

  Expr identity(OpId op) const { return identity_of(*tree_.dag.op(op).element().reducer, tree_.dag.op(op).dtype); }

  /// The digits of the op's reduce loops at or around `loop`.
  std::vector<DigitId> reduce_digits_around(OpId op, LoopId loop) const {
    std::vector<DigitId> digits;
    for (LoopId at : path_to(tree_, loop))
      if (tree_.loop(at).op == op && is_reduce(tree_, at))
        digits.insert(digits.end(), tree_.loop(at).digits.begin(), tree_.loop(at).digits.end());
    return digits;
  }

  Stmt cache_begin(OpId op, LoopId loop, const Stored& cache) {
    const Stmt clear = tile_nest(op, loop, cache, [&](const Values&) { return identity(op); });
    Expr first = bool_const(true);
    for (DigitId digit : reduce_digits_around(op, loop)) first = first && (digit_var(tree_, digit) <= int_const(0));
    if (is_const(first, 1)) return clear;
    return make_stmt(If{first, clear, tile_nest(op, loop, cache, [&](const Values& values) {
                          return load_of(op, stored_[op.index()], values);
                        })});
  }

  Stmt cache_end(OpId op, LoopId loop, const Stored& cache) {
    return tile_nest(op, loop, stored_[op.index()], [&](const Values& values) { return load_of(op, cache, values); });
  }

  OpId op_of(const Item& item) const { return item.leaf.valid() ? item.leaf : tree_.loop(item.loop).op; }

  bool holds_leaf(const Item& item, OpId op) const {
    if (item.leaf.valid()) return item.leaf == op;
    const LoopId leaf = loop_of_leaf(tree_, op);
    return leaf.valid() && encloses(tree_, item.loop, leaf);
  }

  /// The statements of an item, with what has to stand before it.
  void append_item(const Item& item, std::vector<Stmt>& out) {
    const OpId op = op_of(item);
    const LoopId rolled = tree_.place(op).rolled;
    const LoopId around = item.loop.valid() ? tree_.loop(item.loop).parent : loop_of_leaf(tree_, op);
    if (!rolled.valid() || around != tree_.place(op).at || extent_of(tree_, rolled) == 1)
      return append_whole(item, out);
    std::vector<Stmt> whole, rest;
    append_whole(item, whole);
    only_new_ = op;
    append_whole(item, rest);
    only_new_ = OpId();
    const Expr first = digit_var(tree_, tree_.loop(rolled).digits.front()) <= int_const(0);
    out.push_back(make_stmt(If{first, block(std::move(whole)), block(std::move(rest))}));
  }

  void append_whole(const Item& item, std::vector<Stmt>& out) {
    const OpId op = op_of(item);
    const Placement& place = tree_.place(op);
    const LoopId parent = item.loop.valid() ? tree_.loop(item.loop).parent : loop_of_leaf(tree_, op);
    std::vector<Stmt> made;
    const bool reduction = item.loop.valid() && is_outermost_reduce(item.loop) && !caches_.count(op);
    const auto partial = partials_.find(op);
    if (reduction)
      made.push_back(partial == partials_.end() ? init_nest(op, item.loop) : clear_partials(op, partial->second));
    made.push_back(item.leaf.valid() ? leaf(op) : loop(item.loop));
    if (reduction && partial != partials_.end()) made.push_back(combine_partials(op, partial->second));
    Stmt stmt = block(std::move(made));
    if (place.kind == PlaceKind::reverse_at && parent == place.at) {
      Expr last = bool_const(true);
      for (DigitId digit : reduce_digits_around(tree_.loop(parent).op, parent))
        last = last && (digit_var(tree_, digit) >= int_const(tree_.digit(digit).extent - 1));
      if (!is_const(last, 1)) stmt = make_stmt(If{last, stmt, Stmt()});
    }
    out.push_back(stmt);
  }

  bool is_outermost_reduce(LoopId id) const {
    if (!is_reduce(tree_, id)) return false;
    for (LoopId at = tree_.loop(id).parent; at.valid() && tree_.loop(at).op == tree_.loop(id).op;
         at = tree_.loop(at).parent)
      if (is_reduce(tree_, at)) return false;
    return true;
  }

  /// Where the order of the op's loops suits no vectors, that of memory does for what every element begins with.
  Stmt init_nest(OpId op, LoopId outermost_reduce) {
    const Stored& stored = stored_[op.index()];
    std::vector<LoopId> loops = spatial_loops_inside(op, outermost_reduce);
    const auto serial = [&](LoopId loop) {
      return tree_.loop(loop).kind == LoopKind::serial && tree_.loop(loop).digits.size() == 1;
    };
    if (loops.empty() || !std::all_of(loops.begin(), loops.end(), serial) ||
        lowered_.program.buffer(stored.buffer).scope == Scope::registers)
      return tile_nest(op, outermost_reduce, stored, [&](const Values&) { return identity(op); });
    std::stable_sort(loops.begin(), loops.end(),
                     [&](LoopId a, LoopId b) { return place_in_memory(a) < place_in_memory(b); });
    const auto fill = [&](const Values& values) {
      return guarded(
          spatial_guards(op, values),
          make_stmt(Store{stored.buffer, at_values(place_in(stored, own_index(op)), values), identity(op), Expr()}));
    };
    const DigitId last = tree_.loop(loops.back()).digits.front();
    const DigitId along = tree_.place(op).axes[tree_.dag.op(op).shape.size() - 1];
    if (leaves_of(tree_, along).back() != last || tree_.digit(last).extent < kFewToFill) return mirrored(loops, fill);
    loops.pop_back();
    return mirrored(loops, [&](const Values& values) { return filled(last, values, fill); });
  }

  /// Axis and digit that the loop runs over, outermost in memory first.
  std::pair<AxisId, std::size_t> place_in_memory(LoopId loop) const {
    const DigitId digit = tree_.loop(loop).digits.front();
    const Digit& known = tree_.digit(digit);
    const std::vector<DigitId> leaves = leaves_of(tree_, tree_.place(known.op).axes[known.axis.index()]);
    return {known.axis, static_cast<std::size_t>(std::find(leaves.begin(), leaves.end(), digit) - leaves.begin())};
  }

  /// `fill` for all values of `digit`, a few vectors at a time.
  Stmt filled(DigitId digit, const Values& outer, const std::function<Stmt(const Values&)>& fill) {
    const std::string name = name_of(tree_, digit);
    const auto vectors = [&](const Expr& from, std::int64_t lanes) {
      const VarId lane = lowered_.program.fresh_var();
      Values values = outer;
      values[VarId(digit.value)] = from + var(lane, name);
      return make_stmt(Loop{lane, name, int_const(0), int_const(lanes), LoopKind::vectorized, fill(values)});
    };
    const std::int64_t extent = tree_.digit(digit).extent, steps = extent / kFilledAtOnce;
    std::vector<Stmt> parts;
    if (steps > 0) {
      const VarId step = lowered_.program.fresh_var();
      parts.push_back(make_stmt(Loop{step, name, int_const(0), int_const(steps), LoopKind::serial,
                                     vectors(var(step, name) * kFilledAtOnce, kFilledAtOnce)}));
    }
    if (extent % kFilledAtOnce > 0) parts.push_back(vectors(int_const(steps * kFilledAtOnce), extent % kFilledAtOnce));
    return block(std::move(parts));
  }

  struct Partial {
    LoopId outermost;  ///< of the op's reduce loops
    DigitId lane;
    Stored stored;                 ///< one axis more than the op: the lane
    std::vector<BufferId> halves;  ///< of ever fewer lanes, down to 2
  };

  /// A loop of its own over `extent` lanes from `min` on.
  Stmt lane_loop(const Partial& partial, LoopKind kind, std::int64_t min, std::int64_t extent,
                 const std::function<Stmt(const Expr&)>& body) {
    const VarId lane = lowered_.program.fresh_var();
    const std::string name = name_of(tree_, partial.lane);
    return make_stmt(Loop{lane, name, int_const(min), int_const(extent), kind, body(var(lane, name))});
  }

  std::vector<Expr> partial_index(OpId op, const Partial& partial, const Values& values, const Expr& lane) const {
    std::vector<Expr> index = at_values(place_in(partial.stored, own_index(op)), values);
    index.push_back(lane);
    return index;
  }

  std::vector<Expr> spatial_guards(OpId op, const Values& values) const {
    std::vector<Expr> conditions = guards(op, false);
    for (Expr& c : conditions) c = at_values(c, values);
    return conditions;
  }

  Stmt clear_partials(OpId op, const Partial& partial) {
    const std::int64_t lanes = tree_.digit(partial.lane).extent;
    const LoopKind kind = tree_.loop(loop_of(tree_, partial.lane)).kind;
    return mirrored(spatial_loops_inside(op, partial.outermost), [&](const Values& values) {
      return guarded(spatial_guards(op, values), lane_loop(partial, kind, 0, lanes, [&](const Expr& lane) {
                       return make_stmt(Store{partial.stored.buffer, partial_index(op, partial, values, lane),
                                              identity(op), Expr()});
                     }));
    });
  }

  /// The partial results of an element as a tree: the upper half of the lanes onto the lower half until one is left.
  Stmt combine_partials(OpId op, const Partial& partial) {
    const LoopKind kind = tree_.loop(loop_of(tree_, partial.lane)).kind;
    const Reducer reducer = *tree_.dag.op(op).element().reducer;
    const DType dtype = tree_.dag.op(op).dtype;
    return mirrored(spatial_loops_inside(op, partial.outermost), [&](const Values& values) {
      BufferId from = partial.stored.buffer;
      std::vector<Expr> prefix = partial_index(op, partial, values, Expr());
      prefix.pop_back();
      const auto lane_of = [&](const Expr& lane) {
        std::vector<Expr> index = prefix;
        index.push_back(lane);
        return load(dtype, SourceId(from.value), index);
      };
      std::vector<Stmt> steps;
      std::int64_t lanes = tree_.digit(partial.lane).extent;
      for (BufferId half : partial.halves) {
        const std::int64_t kept = lanes_in(half);
        steps.push_back(lane_loop(partial, kind, 0, lanes - kept, [&](const Expr& lane) {
          return make_stmt(Store{half, {lane}, combine(reducer, lane_of(lane), lane_of(lane + kept)), Expr()});
        }));
        if (2 * kept > lanes)
          steps.push_back(lane_loop(partial, kind, lanes - kept, 2 * kept - lanes, [&](const Expr& lane) {
            return make_stmt(Store{half, {lane}, lane_of(lane), Expr()});
          }));
        from = half, prefix.clear(), lanes = kept;
      }
      const std::vector<Expr> index = at_values(place_in(stored_[op.index()], own_index(op)), values);
      const Expr all =
          lanes == 1 ? lane_of(int_const(0)) : combine(reducer, lane_of(int_const(0)), lane_of(int_const(1)));
      steps.push_back(make_stmt(Store{stored_[op.index()].buffer, index, all, Expr()}));
      return guarded(spatial_guards(op, values), block(std::move(steps)));
    });
  }

  std::int64_t lanes_in(BufferId buffer) const { return lowered_.program.buffer(buffer).extents.back(); }

  /// One for each cache line of the boxes that the reader reads of the tensor so many iterations later.
  void append_prefetches(const PrefetchedRead& prefetched, std::vector<Stmt>& out) const {
    const LoopId leaf = has_loops(tree_, prefetched.reader) ? loop_of_leaf(tree_, prefetched.reader) : LoopId();
    if (!leaf.valid() || !encloses(tree_, prefetched.loop, leaf)) return;  // the reader went elsewhere since
    const VarId now(tree_.loop(prefetched.loop).digits.front().value);
    const Expr later = var(now, name_of(tree_, prefetched.loop)) + prefetched.ahead;
    std::vector<std::vector<Expr>> asked;
    for_each(tree_.dag.op(prefetched.reader).element().body, [&](const Expr& part) {
      const Load* read = std::get_if<Load>(&part->kind);
      if (!read || read->source.value != prefetched.tensor.value) return;
      const Expr lowered = lowered_load(prefetched.reader, *read, part->dtype);
      const Load& at = std::get<Load>(lowered->kind);
      const BufferId buffer(at.source.value);
      if (lowered_.program.buffer(buffer).scope == Scope::registers) return;
      std::vector<Expr> base;
      std::vector<std::int64_t> extents;
      for (const Expr& index : at.index) {
        const std::optional<Span> span = span_of(tree_, index, prefetched.loop);
        if (!span || reads_data(span->base)) return;
        base.push_back(simplified(substitute(span->base, [&](VarId v) { return v == now ? later : Expr(); })));
        extents.push_back(span->extent);
      }
      const auto equals = [&](const std::vector<Expr>& other) {
        return std::equal(base.begin(), base.end(), other.begin(), other.end(),
                          [](const Expr& a, const Expr& b) { return same(a, b); });
      };
      if (std::any_of(asked.begin(), asked.end(), equals)) return;
      asked.push_back(base);
      append_line_prefetches(lowered_.program.buffer(buffer), buffer, base, extents, out);
    });
  }

  /// The nest of an op that the pipeline `loop` computes ahead.
  bool is_made_ahead(const Item& item, LoopId loop) const {
    const OpId op = op_of(item);
    return op != tree_.loop(loop).op && is_staged(op) && tree_.place(op).at == loop;
  }

  static Stmt at_value(const Stmt& s, VarId v, const Expr& value) {
    const std::pair<VarId, Expr> pair(v, value);
    return rewrite(s, nullptr, [&](const Expr& e) { return substitute(e, Substitution(&pair, 1)); });
  }

  /// What the iteration makes that comes so many behind this one, where there is one; gives what stands before the
  /// loop.
  Stmt append_ahead(LoopId id, const Stmt& made, std::vector<Stmt>& out) {
    const std::int64_t extent = extent_of(tree_, id), ahead = stages_of(tree_, id) - 1;
    const DigitId digit = tree_.loop(id).digits.front();
    const Expr later = digit_var(tree_, digit) + ahead;
    out.push_back(make_stmt(If{later < int_const(extent), at_value(made, VarId(digit.value), later), Stmt()}));
    const VarId first = lowered_.program.fresh_var();
    const std::string name = name_of(tree_, id);
    return make_stmt(Loop{first, name, int_const(0), int_const(std::min(ahead, extent)), LoopKind::serial,
                          at_value(made, VarId(digit.value), var(first, name))});
  }

  static Stmt marked(Loop loop, Intrinsic intrinsic) {
    loop.intrinsic = intrinsic;
    return make_stmt(std::move(loop));
  }

  Stmt loop(LoopId id) {
    std::vector<Stmt> body, staged;
    for (const Item& child : tree_.loop(id).children)
      if (is_made_ahead(child, id)) append_item(child, staged);
    const Stmt prologue = staged.empty() ? Stmt() : append_ahead(id, block(std::move(staged)), body);
    for (const PrefetchedRead& prefetched : tree_.prefetches)
      if (prefetched.loop == id && extent_of(tree_, id) > 1) append_prefetches(prefetched, body);
    for (const Item& child : tree_.loop(id).children) {
      if (is_made_ahead(child, id)) continue;
      const Stored* cache = nullptr;
      OpId cached;
      for (const auto& [op, held] : caches_)
        if (held.loop == id && holds_leaf(child, op)) cache = &held.stored, cached = op;
      if (cache) body.push_back(cache_begin(cached, id, *cache));
      append_item(child, body);
      if (cache) body.push_back(cache_end(cached, id, *cache));
    }
    Stmt made = loop_around(id, block(std::move(body)), [](DigitId digit) { return VarId(digit.value); });
    for (const TensorTile& tile : tree_.tiles)
      if (tile.loop == id) made = marked(std::get<Loop>(made->kind), tile.intrinsic);
    return block({prologue, made});
  }

  Stmt leaf(OpId op) {
    const Element& element = tree_.dag.op(op).element();
    std::vector<Expr> conditions = guards(op, true);
    Expr body = element.body;
    std::vector<Expr> padding;
    if (element.reducer) body = take_padding(body, *element.reducer, padding);
    for (const Expr& condition : padding) {
      const Expr over = simplified(body_over_digits(op, condition));
      if (!is_const(over, 1)) conditions.push_back(over);
    }
    Expr value = body_over_digits(op, body);
    const auto cache = caches_.find(op);
    const auto partial = partials_.find(op);
    const Stored& target = cache != caches_.end()       ? cache->second.stored
                           : partial != partials_.end() ? partial->second.stored
                                                        : stored_[op.index()];
    const std::vector<Expr> index = partial != partials_.end()
                                        ? partial_index(op, partial->second, {}, digit_var(tree_, partial->second.lane))
                                        : place_in(target, own_index(op));
    if (element.reducer)
      value = combine(*element.reducer, load(value->dtype, SourceId(target.buffer.value), index), value);
    return guarded(conditions, store_by_cases({target.buffer, index, value, Expr()}));
  }

  struct Cached {
    LoopId loop;
    Stored stored;
  };

  const LoopTree& tree_;
  const Shape& within_;
  Lowered lowered_;
  std::vector<Stored> stored_;
  std::map<OpId, Cached> caches_;
  std::map<OpId, Partial> partials_;
  std::vector<Packed> packs_;
  Packed no_pack_yet_;
  OpId only_new_;  ///< of this op, what earlier iterations left is left alone
  std::map<OpId, OpId> prologue_ids_;
};

}  // namespace

Result<Lowered> generate(const LoopTree& tree, const Shape& within) {
  WHET_CHECK(within.empty() || tree.dag.outputs.size() == 1, "only a single output is a part of a tensor");
  if (within.empty()) return Generator(tree, within).run();
  const std::optional<Shape> whole = merged_like(tree.dag.op(tree.dag.outputs.front()).shape, within);
  if (!whole) return Error{"the output has dimensions merged that are not whole in the tensor that it is a part of"};
  return Generator(tree, *whole).run();
}

}  // namespace whet
