#include "space/gpu/product_form.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "cost/gpu/lanes.h"
#include "space/anatomy.h"

namespace whet {

struct ProductForm::Starts {
  explicit Starts(Scheduler s) : merged(std::move(s)) {}
  const Scheduler merged;
  std::vector<OpId> before, after;  ///< the sum; to be inlined
  std::mutex mutex;
  std::map<std::int64_t, std::unique_ptr<const Scheduler>> built;
};

namespace {

/// The id of an op after `by` ops took their places at `at`.
OpId moved(OpId op, OpId at, std::int64_t by) { return op < at ? op : OpId(op.value + by); }

}  // namespace

const Scheduler& ProductForm::start(std::int64_t parts) const {
  const std::lock_guard lock(starts->mutex);
  std::unique_ptr<const Scheduler>& built = starts->built[parts];
  if (built) return *built;
  Scheduler s = starts->merged;
  const std::int64_t axis = std::ssize(s.tree().dag.op(sum).shape) + (has_outer ? 1 : 0);
  if (parts > 1) s.split_sum(sum, axis, parts);
  for (OpId op : starts->before) s.inline_op(op);
  for (OpId op : starts->after) s.inline_op(moved(op, sum, parts > 1 ? 1 : 0));
  built = std::make_unique<const Scheduler>(std::move(s));
  return *built;
}

namespace {

/// What is multiplied: an element of a tensor, of bytes before it is converted, or the product of several tensors' elements.
/// Elements of f16 and bf16 are multiplied as f32.
struct Factor {
  Expr value;
  std::vector<OpId> tensors;  ///< in order of appearance
  UnfoldWhat what() const { return tensors.size() > 1 ? UnfoldWhat::factor : UnfoldWhat::tensor; }
};

/// Adds the tensors of a product of loads; false where it is none.
bool add_loads(const Expr& e, std::vector<OpId>& tensors) {
  if (const Load* load = std::get_if<Load>(&e->kind)) {
    tensors.emplace_back(load->source.value);
    return true;
  }
  const Cast* wide = std::get_if<Cast>(&e->kind);
  if (wide && is_half(wide->a->dtype)) return add_loads(wide->a, tensors);
  const Binary* product = std::get_if<Binary>(&e->kind);
  return product && product->op == BinaryOp::mul && add_loads(product->a, tensors) && add_loads(product->b, tensors);
}

std::optional<Factor> factor(const Expr& e, bool of_bytes) {
  const Cast* cast = std::get_if<Cast>(&e->kind);
  if (of_bytes && !cast) return std::nullopt;
  Factor found{of_bytes ? cast->a : e, {}};
  if (!add_loads(found.value, found.tensors) || (of_bytes && found.tensors.size() > 1)) return std::nullopt;
  return found;
}

/// The two factors whose product the op sums up; they share no tensor.
std::optional<std::pair<Factor, Factor>> factors(const Element& element, bool of_bytes) {
  const Binary* product = std::get_if<Binary>(&element.body->kind);
  if (!product || product->op != BinaryOp::mul) return std::nullopt;
  std::optional<Factor> a = factor(product->a, of_bytes), b = factor(product->b, of_bytes);
  if (!a || !b) return std::nullopt;
  for (OpId tensor : a->tensors)
    if (std::find(b->tensors.begin(), b->tensors.end(), tensor) != b->tensors.end()) return std::nullopt;
  return std::pair(std::move(*a), std::move(*b));
}

bool uses(const Factor& factor, std::int64_t axis) { return whet::uses(factor.value, VarId(axis)); }

/// What an axis becomes a part of, in the order of the axes.
enum class AxisPart { lead, rows, columns, outer, depth };

/// One for each axis, those of the sum last; nothing where they are not in that order.
std::optional<std::vector<AxisPart>> parts_of(const Element& element, const Factor& left, const Factor& right) {
  std::vector<AxisPart> parts;
  for (std::int64_t k = 0; k < std::ssize(element.axes); ++k) {
    const bool of_left = uses(left, k), of_right = uses(right, k);
    parts.push_back(of_left && of_right ? AxisPart::lead : of_right ? AxisPart::columns : AxisPart::rows);
  }
  if (std::count(parts.begin(), parts.end(), AxisPart::rows) == 0) return std::nullopt;
  parts.resize(parts.size() + element.reduce_axes.size(), AxisPart::depth);
  if (!std::is_sorted(parts.begin(), parts.end())) return std::nullopt;
  return parts;
}

constexpr std::int64_t kCopiedBytes = 16;  ///< at once, at most

bool is_wide(const Axis& axis) { return axis.extent > 1; }

/// Of windows of three dimensions the first one stays apart. False where that is no way out.
bool set_apart(const Element& element, std::vector<AxisPart>& parts) {
  const auto& sum = element.reduce_axes;
  const auto wide = std::count_if(sum.begin(), sum.end(), is_wide);
  if (wide <= 3) return true;
  const auto rows = std::count(parts.begin(), parts.end(), AxisPart::rows);
  if (wide > 4 || rows < 3 || parts.front() == AxisPart::lead) return false;
  std::fill_n(parts.begin(), rows - 2, AxisPart::lead);
  const auto first = std::find_if(sum.begin(), sum.end(), is_wide) - sum.begin();
  std::fill_n(parts.begin() + std::ssize(element.axes), first + 1, AxisPart::outer);
  return true;
}

void merge_axes(Scheduler& s, OpId op, std::vector<AxisPart> parts) {
  for (std::size_t k = 0; k + 1 < parts.size();) {
    if (parts[k] != parts[k + 1]) {
      ++k;
      continue;
    }
    s.merge(op, static_cast<std::int64_t>(k));
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

/// The most neighbours along the last axis of a copy, a power of two of them and 16 bytes, that are neighbours in what it
/// copies as well, at each multiple of that many.
std::int64_t run_of(const LoopTree& tree, OpId copy) {
  const LoopId along = own_loops(tree, copy).back();
  std::int64_t run = kCopiedBytes / size_of(tree.dag.op(copy).dtype);
  const VarId last(std::ssize(tree.dag.op(copy).shape) - 1);
  for_each(tree.dag.op(copy).element().body, [&](const Expr& part) {
    const Load* load = std::get_if<Load>(&part->kind);
    // An element that a whole row is multiplied by has no neighbours to be read.
    if (!load || !whet::uses(part, last)) return;
    LaneValues lanes(tree);
    for (std::int64_t first = 0; first < extent_of(tree, along); first += kWarp) {
      lanes.run_over(copy, std::span(&along, 1), first);
      const Lanes at = lanes.loaded(*load);
      for (std::int64_t k = 0; k + 1 < std::min<std::int64_t>(kWarp, extent_of(tree, along) - first); ++k) {
        const auto lane = static_cast<std::size_t>(k);
        while ((k + 1) % run != 0 && at[lane + 1] != at[lane] + 1) run /= 2;
      }
    }
  });
  return run;
}

/// Bytes by bytes as instructions multiply them: the right ones have a sign, and are known ahead of time.
bool are_bytes(const ComputeDag& dag, const Factor& left, const Factor& right) {
  const OpId a = left.tensors.front(), b = right.tensors.front();
  const DType dtype = dag.op(a).dtype;
  return (dtype == DType::u8 || dtype == DType::i8) && dag.op(b).dtype == DType::i8 && is_constant(dag, b);
}

/// Whether the op does more than read one element, or give 0 beside the tensor.
bool is_computed(const Op& copy) {
  const Expr& body = copy.element().body;
  const Select* guarded = std::get_if<Select>(&body->kind);
  return !std::holds_alternative<Load>(body->kind) &&
         !(guarded && std::holds_alternative<Load>(guarded->if_true->kind) && is_const(guarded->if_false, 0));
}

/// The copy of a constant reads it in its own order, from what is computed ahead of time.
void compute_ahead(Scheduler& s, UnfoldedSum& unfolded, OpId copy, UnfoldOrder order) {
  s.unfold(copy, unfolded.sum, order);
  // The second copy takes the number of the sum.
  const OpId fresh = unfolded.sum;
  (copy == unfolded.left ? unfolded.left : unfolded.right) = fresh;
  unfolded.ahead.push_back({copy, fresh});
  unfolded.sum = OpId(fresh.value + 1);
}

UnfoldOrder order_of_right(const UnfoldedSum& unfolded) {
  return unfolded.right_along_depth ? UnfoldOrder::spatial_first : UnfoldOrder::turned;
}

void round_operands(Scheduler& s, UnfoldedSum& unfolded, const OperandRounding& rounding) {
  if (rounding.to != Precision::tf32 && rounding.to != Precision::f16) return;
  const auto round = [&](OpId copy, UnfoldOrder order) {
    const bool constant = is_constant(s.tree().dag, copy);
    const bool has_half = is_half(s.tree().dag.op(copy).dtype);
    if (!has_half && (constant || rounding.copies)) s.round(copy, rounding.to);
    if (constant) compute_ahead(s, unfolded, copy, order);
  };
  round(unfolded.left, UnfoldOrder::spatial_first);
  round(unfolded.right, order_of_right(unfolded));
}

/// The last axis of the sum moves through neighbours of the factor's one tensor, and no other axis does.
bool lies_along_depth(const Element& element, const Factor& factor) {
  if (factor.tensors.size() > 1) return false;
  const VarId depth(std::ssize(element.axes) + std::ssize(element.reduce_axes) - 1);
  bool along = false;
  for_each(factor.value, [&](const Expr& e) {
    const Load* load = std::get_if<Load>(&e->kind);
    const Var* last = load && !load->index.empty() ? std::get_if<Var>(&load->index.back()->kind) : nullptr;
    along = along || (last && last->id == depth);
  });
  return along;
}

bool right_lies_along_depth(const ComputeDag& dag, const Element& element, const Factor& right,
                            const OperandRounding& rounding) {
  if (rounding.to != Precision::tf32 && rounding.to != Precision::f16) return false;
  const bool packed = right.tensors.size() == 1 && is_constant(dag, right.tensors.front());
  return lies_along_depth(element, right) || (packed && rounding.to == Precision::tf32);
}

std::optional<UnfoldedSum> unfold_factors(Scheduler& s, OpId anchor, bool of_bytes,
                                          const OperandRounding& rounding = {}) {
  if (s.tree().dag.op(anchor).dtype != (of_bytes ? DType::i32 : DType::f32)) return std::nullopt;
  const Element element = s.tree().dag.op(anchor).element();
  auto operands = factors(element, of_bytes);
  if (element.reducer != Reducer::sum || !operands || element.axes.size() < 2) return std::nullopt;
  const auto last = static_cast<std::int64_t>(element.axes.size()) - 1;
  if (uses(operands->first, last)) std::swap(operands->first, operands->second);
  const auto& [left, right] = *operands;
  if (uses(left, last) || !uses(right, last)) return std::nullopt;
  std::optional<std::vector<AxisPart>> parts = parts_of(element, left, right);
  if (!parts) return std::nullopt;
  const bool batched = parts->front() == AxisPart::lead;
  if (of_bytes && (batched || !are_bytes(s.tree().dag, left, right))) return std::nullopt;
  if (!set_apart(element, *parts)) return std::nullopt;

  UnfoldedSum unfolded{
      .left = anchor,
      .right = OpId(anchor.value + 1),
      .sum = OpId(anchor.value + 2),
      .batched = batched,
      .has_lead = parts->front() == AxisPart::lead,
      .has_outer = std::find(parts->begin(), parts->end(), AxisPart::outer) != parts->end(),
      .of_bytes = of_bytes,
      .has_sign = s.tree().dag.op(left.tensors.front()).dtype == DType::i8,
      .right_along_depth = of_bytes || right_lies_along_depth(s.tree().dag, element, right, rounding),
      .ahead = {},
  };
  // No op in front of the sum changes its number.
  s.unfold(left.tensors.front(), unfolded.left, UnfoldOrder::spatial_first, left.what());
  s.unfold(right.tensors.front(), unfolded.right, order_of_right(unfolded), right.what());
  if (!s.finish().ok()) return std::nullopt;
  merge_axes(s, unfolded.sum, *parts);
  if (of_bytes) compute_ahead(s, unfolded, unfolded.right, UnfoldOrder::spatial_first);
  round_operands(s, unfolded, rounding);
  if (!s.finish().ok()) return std::nullopt;
  return unfolded;
}

}  // namespace

std::optional<UnfoldedSum> unfold_sum(Scheduler& s, OpId sum) { return unfold_factors(s, sum, false); }
std::optional<UnfoldedSum> unfold_sum_of_bytes(Scheduler& s, OpId sum) { return unfold_factors(s, sum, true); }

ProductForm form_of(const LoopTree& tree, const UnfoldedSum& unfolded) {
  const Op& sum = tree.dag.op(unfolded.sum);
  ProductForm form{.left = unfolded.left, .right = unfolded.right, .sum = unfolded.sum};
  form.batched = unfolded.batched, form.has_lead = unfolded.has_lead, form.has_outer = unfolded.has_outer;
  form.of_bytes = unfolded.of_bytes, form.has_sign = unfolded.has_sign, form.ahead = unfolded.ahead;
  form.right_along_depth = unfolded.right_along_depth;
  form.leads = form.has_lead ? sum.shape[sum.shape.size() - 3] : 1;
  form.rows = sum.shape[sum.shape.size() - 2], form.columns = sum.shape.back();
  form.depth = sum.element().reduce_axes.back().extent;
  form.left_run = run_of(tree, form.left), form.right_run = run_of(tree, form.right);
  form.left_bytes = size_of(tree.dag.op(form.left).dtype), form.right_bytes = size_of(tree.dag.op(form.right).dtype);
  form.left_computed = is_computed(tree.dag.op(form.left)), form.right_computed = is_computed(tree.dag.op(form.right));
  return form;
}

namespace {

std::optional<ProductForm> form_of_factors(Scheduler s, const Anatomy& anatomy, bool of_bytes,
                                           const OperandRounding& rounding = {}) {
  const std::optional<UnfoldedSum> unfolded = unfold_factors(s, anatomy.anchor, of_bytes, rounding);
  if (!unfolded) return std::nullopt;
  const std::int64_t copies = unfolded->sum.value - anatomy.anchor.value;
  std::optional<OpId> output;
  if (anatomy.output) output = OpId(anatomy.output->value + copies);
  const ComputeDag& dag = s.tree().dag;
  if (output && dag.op(*output).shape != dag.op(unfolded->sum).shape) return std::nullopt;
  auto starts = std::make_shared<ProductForm::Starts>(std::move(s));
  starts->before = anatomy.before;
  for (OpId op : anatomy.after) starts->after.push_back(moved(op, anatomy.anchor, copies));
  ProductForm form{.sum = unfolded->sum, .has_outer = unfolded->has_outer, .starts = std::move(starts)};
  if (!form.start(1).finish().ok()) return std::nullopt;
  std::shared_ptr<ProductForm::Starts> kept = std::move(form.starts);
  form = form_of(kept->built.at(1)->tree(), *unfolded);
  form.output = output, form.starts = std::move(kept);
  return form;
}

}  // namespace

std::optional<ProductForm> product_form(const ComputeDag& dag, const OperandRounding& rounding) {
  const std::optional<Anatomy> anatomy = find_anatomy(dag);
  return anatomy ? form_of_factors(Scheduler(dag), *anatomy, false, rounding) : std::nullopt;
}
std::optional<ProductForm> product_form_of_bytes(const ComputeDag& dag) {
  const std::optional<Anatomy> anatomy = find_anatomy(dag);
  return anatomy ? form_of_factors(Scheduler(dag), *anatomy, true) : std::nullopt;
}
std::optional<ProductForm> product_form(Scheduler s, const Anatomy& anatomy) {
  return form_of_factors(std::move(s), anatomy, false);
}

}  // namespace whet
