#include "cost/nest.h"

#include <algorithm>
#include <cmath>

namespace whet {
namespace {

constexpr double kLineBytes = 64;

/// Σ coefficient · digit, constants left out.
struct Term {
  std::int64_t digit;
  double coefficient;
};
using Linear = std::vector<Term>;

void append(Linear& to, const Linear& from, double scale) {
  for (const Term& t : from) to.push_back({t.digit, t.coefficient * scale});
}

/// The digits that an axis is made of, those of the loops that its base follows included.
class AxisForms {
 public:
  explicit AxisForms(const LoopTree& tree) : tree_(tree) {}

  std::vector<Linear> of(OpId op) const {
    const Placement& place = tree_.place(op);
    std::vector<Linear> axes(place.axes.size());
    for (std::size_t k = 0; k < axes.size(); ++k) {
      expand(place.axes[k], 1, axes[k]);
      if (k < place.base.size() && place.base[k].defined()) linear(place.base[k], nullptr, 1, axes[k]);
    }
    return axes;
  }

  /// Adds `scale` times the linear part of `e`; variables are axes where `axes` is given, else digits.
  void linear(const Expr& e, const std::vector<Linear>* axes, double scale, Linear& out) const {
    if (const auto* v = std::get_if<Var>(&e->kind)) return variable(v->id, axes, scale, out);
    if (const auto* s = std::get_if<Select>(&e->kind)) return linear(s->if_true, axes, scale, out);
    if (const auto* c = std::get_if<Cast>(&e->kind)) return linear(c->a, axes, scale, out);
    if (const auto* u = std::get_if<Unary>(&e->kind)) return linear(u->a, axes, -scale, out);
    if (const auto* b = std::get_if<Binary>(&e->kind)) binary(*b, axes, scale, out);
  }

 private:
  void expand(DigitId id, double scale, Linear& out) const {
    const Digit& digit = tree_.digit(id);
    if (digit.leaf()) return out.push_back({id.value, scale});
    expand(digit.outer, scale * static_cast<double>(digit.factor), out);
    expand(digit.inner, scale, out);
  }
  static void variable(VarId id, const std::vector<Linear>* axes, double scale, Linear& out) {
    if (!axes) return out.push_back({id.value, scale});
    if (id.index() < axes->size()) append(out, (*axes)[id.index()], scale);
  }
  void binary(const Binary& b, const std::vector<Linear>* axes, double scale, Linear& out) const {
    const auto* right = std::get_if<IntConst>(&b.b->kind);
    const auto* left = std::get_if<IntConst>(&b.a->kind);
    switch (b.op) {
      case BinaryOp::add:
        linear(b.a, axes, scale, out), linear(b.b, axes, scale, out);
        break;
      case BinaryOp::sub:
        linear(b.a, axes, scale, out), linear(b.b, axes, -scale, out);
        break;
      case BinaryOp::mul:
        if (right) linear(b.a, axes, scale * static_cast<double>(right->value), out);
        if (left && !right) linear(b.b, axes, scale * static_cast<double>(left->value), out);
        break;
      case BinaryOp::floordiv:
        if (right && right->value != 0) linear(b.a, axes, scale / static_cast<double>(right->value), out);
        break;
      case BinaryOp::floormod:
        linear(b.a, axes, scale, out);
        break;
      // A clamp moves as what it clamps does.
      case BinaryOp::min:
      case BinaryOp::max:
        linear(left ? b.b : b.a, axes, scale, out);
        break;
      default:
        break;
    }
  }

  const LoopTree& tree_;
};

/// Counts the arithmetic of a body and collects what it loads.
struct BodyCount {
  double flops = 0, calls = 0;
  std::vector<std::pair<const Load*, double>> loads;  ///< and how many differ from it in constants alone

  void add(const Load* load) {
    const auto alike = [&](const auto& other) {
      return other.first->source == load->source &&
             std::equal(load->index.begin(), load->index.end(), other.first->index.begin(),
                        [](const Expr& a, const Expr& b) { return a->vars == b->vars; });
    };
    const auto found = std::find_if(loads.begin(), loads.end(), alike);
    if (found == loads.end())
      loads.emplace_back(load, 1);
    else
      ++found->second;
  }
  void visit(const Expr& e) {
    const bool real = is_float(e->dtype);
    if (const auto* l = std::get_if<Load>(&e->kind)) return add(l);
    if (const auto* u = std::get_if<Unary>(&e->kind)) return visit(u->a);
    if (const auto* c = std::get_if<Cast>(&e->kind)) return visit(c->a);
    if (const auto* s = std::get_if<Select>(&e->kind)) return visit(s->if_true), visit(s->if_false);
    if (const auto* b = std::get_if<Binary>(&e->kind)) {
      flops += real;
      return visit(b->a), visit(b->b);
    }
    if (const auto* call = std::get_if<Call>(&e->kind)) {
      calls += call->fn != MathFn::abs && call->fn != MathFn::floor && call->fn != MathFn::ceil;
      for (const Expr& a : call->args) visit(a);
    }
  }
};

bool is_packed(const LoopTree& tree, OpId tensor, OpId reader) {
  return std::any_of(tree.packs.begin(), tree.packs.end(),
                     [&](const PackedRead& p) { return p.tensor == tensor && p.reader == reader; });
}

/// The loop that each digit belongs to, by its position in a nest; -1 for loops outside of it.
std::vector<int> positions(const LoopTree& tree, const std::vector<LoopId>& path) {
  std::vector<int> at(tree.digits.size(), -1);
  for (std::size_t k = 0; k < path.size(); ++k)
    for (DigitId d : tree.loop(path[k]).digits) at[d.index()] = static_cast<int>(k);
  return at;
}

struct NestMaker {
  const LoopTree& tree;
  AxisForms forms{tree};

  Nest make(OpId op) const {
    Nest nest;
    nest.op = op;
    const LoopId leaf = loop_of_leaf(tree, op);
    const std::vector<LoopId> path = leaf.valid() ? path_to(tree, leaf) : std::vector<LoopId>();
    const std::vector<int> at = positions(tree, path);
    for (LoopId id : path)
      nest.loops.push_back(
          {static_cast<double>(extent_of(tree, id)), tree.loop(id).kind, is_reduce(tree, id), tree.loop(id).op == op});
    join(path, nest);
    nest.registers_from = path.size();
    for (const RegisterCache& cache : tree.caches)
      if (cache.op == op)
        nest.registers_from = static_cast<std::size_t>(std::find(path.begin(), path.end(), cache.loop) - path.begin());
    nest.lives_in_registers = tree.place(op).stored_in == StoredIn::registers;

    const Element& element = tree.dag.op(op).element();
    const std::vector<Linear> axes = forms.of(op);
    BodyCount body;
    body.visit(element.body);
    nest.flops = body.flops + (element.reducer ? 1 : 0);
    nest.calls = body.calls;
    nest.accesses.push_back(store(op, axes, at, path.size()));
    for (const auto& [load, times] : body.loads) {
      nest.accesses.push_back(read(op, *load, axes, at, path.size()));
      nest.accesses.back().times = times;
    }
    return nest;
  }

 private:
  /// The loops of a tile of sums of pairs are a vector of them, and the products that one instruction adds up; a tile product
  /// takes a cycle for each row, which counts as an instruction. Tiles of bytes keep the features that base and records were
  /// learned from: they count loop by loop there.
  void join(const std::vector<LoopId>& path, Nest& nest) const {
    for (const TensorTile& tile : tree.tiles) {
      const auto first = std::find(path.begin(), path.end(), tile.loop);
      if (first == path.end()) continue;
      if (is_tile_product(tile.intrinsic)) join_tile(static_cast<std::size_t>(first - path.begin()), nest);
      if (!is_dot(tile.intrinsic) || is_dot4(tile.intrinsic)) continue;
      for (auto k = static_cast<std::size_t>(first - path.begin()); k < path.size(); ++k) {
        nest.loops[k].joined = nest.loops[k].reduce;
        nest.loops[k].kind = nest.loops[k].reduce ? LoopKind::unrolled : LoopKind::vectorized;
      }
    }
  }
  /// Rows, steps of the reduction, columns, words.
  static void join_tile(std::size_t first, Nest& nest) {
    constexpr LoopKind kKinds[] = {LoopKind::unrolled, LoopKind::unrolled, LoopKind::vectorized, LoopKind::unrolled};
    for (std::size_t k = 0; k < std::size(kKinds); ++k) {
      nest.loops[first + k].kind = kKinds[k];
      nest.loops[first + k].joined = nest.loops[first + k].reduce;
    }
  }
  Access store(OpId op, const std::vector<Linear>& axes, const std::vector<int>& at, std::size_t loops) const {
    Access access = empty(op, loops);
    access.store = true;
    for (std::size_t k = 0; k < access.sizes.size(); ++k) add(access, k, axes[k], at);
    return access;
  }
  Access read(OpId op, const Load& load, const std::vector<Linear>& axes, const std::vector<int>& at,
              std::size_t loops) const {
    Access access = empty(OpId(load.source.value), loops);
    access.load = &load;
    access.packed = is_packed(tree, access.tensor, op);
    for (std::size_t k = 0; k < load.index.size(); ++k) {
      Linear index;
      forms.linear(load.index[k], &axes, 1, index);
      add(access, k, index, at);
    }
    return access;
  }
  Access empty(OpId tensor, std::size_t loops) const {
    Access access;
    access.tensor = tensor;
    const Op& op = tree.dag.op(tensor);
    access.element_bytes = static_cast<double>(size_of(op.dtype));
    for (std::int64_t extent : op.shape) access.sizes.push_back(static_cast<double>(extent));
    access.spans.assign(access.sizes.size(), std::vector<double>(loops));
    return access;
  }
  void add(Access& access, std::size_t dimension, const Linear& index, const std::vector<int>& at) const {
    for (const Term& term : index) {
      const auto digit = static_cast<std::size_t>(term.digit);
      if (digit >= at.size() || at[digit] < 0) continue;
      const double steps = static_cast<double>(tree.digits[digit].extent - 1);
      access.spans[dimension][static_cast<std::size_t>(at[digit])] += std::abs(term.coefficient) * steps;
    }
  }
};

}  // namespace

double Access::elements(std::size_t depth) const {
  double product = 1;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    double extent = 1;
    for (std::size_t loop = depth; loop < spans[k].size(); ++loop) extent += spans[k][loop];
    product *= std::min(extent, sizes[k]);
  }
  return product;
}

double Access::bytes(std::size_t depth) const {
  if (sizes.empty()) return kLineBytes;
  if (packed) return elements(depth) * element_bytes;
  double rows = 1, last = 1;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    double extent = 1;
    for (std::size_t loop = depth; loop < spans[k].size(); ++loop) extent += spans[k][loop];
    extent = std::min(extent, sizes[k]);
    if (k + 1 == sizes.size())
      last = extent;
    else
      rows *= extent;
  }
  // Rows that are touched wholly lie behind each other.
  if (last >= sizes.back()) return std::max(kLineBytes, rows * last * element_bytes);
  return rows * std::max(kLineBytes, last * element_bytes);
}

bool Access::depends_on(std::size_t loop) const {
  return std::any_of(spans.begin(), spans.end(), [&](const std::vector<double>& span) { return span[loop] > 0; });
}

double Access::reach(std::size_t loop) const {
  double reach = 0, pitch = 1;
  for (std::size_t k = sizes.size(); k-- > 0;) {
    reach += spans[k][loop] * pitch;
    pitch *= sizes[k];
  }
  return reach;
}

double Nest::trips(std::size_t from, std::size_t to) const {
  double product = 1;
  for (std::size_t k = from; k < to; ++k) product *= loops[k].extent;
  return product;
}

std::size_t Nest::block() const {
  std::size_t k = loops.size();
  while (k > 0 && (loops[k - 1].kind == LoopKind::unrolled || loops[k - 1].kind == LoopKind::vectorized ||
                   loops[k - 1].extent == 1))
    --k;
  return k;
}

std::vector<Nest> nests_of(const LoopTree& tree) {
  const NestMaker maker{tree};
  std::vector<Nest> nests;
  for (std::size_t i = 0; i < tree.dag.ops.size(); ++i) {
    const OpId op(static_cast<std::int64_t>(i));
    if (has_loops(tree, op)) nests.push_back(maker.make(op));
  }
  return nests;
}

}  // namespace whet
