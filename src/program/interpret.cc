#include "program/interpret.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "compute/scalar.h"

namespace whet {
namespace {

/// One lane of a value: `f` of floats, `i` of integers and booleans.
union Cell {
  double f;
  std::int64_t i;
};
using Cells = std::vector<Cell>;
/// Which lanes are wanted; null: all.
using Lanes = const std::uint8_t*;

/// What `dtype` keeps of a computed float; f16 is computed as f32 and rounded when cast or stored.
double computed(DType dtype, double value) { return dtype == DType::f64 ? value : static_cast<float>(value); }

struct Memory {
  Tensor tensor;
  std::vector<std::uint8_t> written;     ///< by element; empty for arguments
  std::vector<std::int64_t> last_write;  ///< phase * workers + worker, by element; empty where only one worker sees it
};

class Interpreter {
 public:
  Interpreter(const Program& program, std::vector<Tensor>& arguments, int workers)
      : program_(program), workers_(workers), vars_(static_cast<std::size_t>(program.vars)) {
    for (const Buffer& b : program.buffers) {
      const bool shared = b.scope == Scope::argument || b.scope == Scope::workspace;
      std::vector<Memory> copies(static_cast<std::size_t>(shared ? 1 : workers));
      for (Memory& m : copies) {
        const std::int64_t size = num_elements(b.extents);
        m.tensor =
            b.scope == Scope::argument ? arguments[static_cast<std::size_t>(b.argument)] : Tensor(b.dtype, {size});
        if (b.scope != Scope::argument) m.written.assign(static_cast<std::size_t>(size), 0);
        if (shared && workers > 1) m.last_write.assign(static_cast<std::size_t>(size), -1);
      }
      memories_.push_back(std::move(copies));
    }
  }

  Status run() {
    if (program_.body.defined()) top(program_.body);
    if (error_.empty()) return ok_status();
    return Error{"program '" + program_.name + "': " + error_};
  }

 private:
  bool failed() const { return !error_.empty(); }
  void fail(std::string what) {
    if (!failed()) error_ = std::move(what);
  }

  // ---- Statements

  void top(const Stmt& s) {
    if (failed()) return;
    worker_ = 0;
    if (const auto* n = std::get_if<Block>(&s->kind)) {
      for (const Stmt& inner : n->body) top(inner);
    } else if (const auto* n = std::get_if<Let>(&s->kind)) {
      bind(n->var, n->value);
      top(n->body);
    } else if (std::holds_alternative<Barrier>(s->kind)) {
      ++phase_;
    } else if (const auto* n = std::get_if<Loop>(&s->kind); n && n->kind == LoopKind::parallel) {
      const std::int64_t min = integer(n->min), extent = std::max<std::int64_t>(integer(n->extent), 0);
      for (worker_ = 0; worker_ < workers_; ++worker_) {
        iterate(*n, min + extent * worker_ / workers_, min + extent * (worker_ + 1) / workers_);
      }
    } else {
      execute(s);
    }
  }

  void execute(const Stmt& s) {
    if (failed() || !s.defined()) return;
    std::visit(Match{
                   [&](const Loop& n) {
                     if (n.kind == LoopKind::parallel)
                       return fail("the parallel loop '" + n.name + "' stands inside another statement");
                     const std::int64_t min = integer(n.min), extent = integer(n.extent);
                     iterate(n, min, min + extent);
                   },
                   [&](const Let& n) {
                     bind(n.var, n.value);
                     execute(n.body);
                   },
                   [&](const Store& n) { store(n); },
                   [&](const If& n) { execute(integer(n.condition) ? n.then_body : n.else_body); },
                   [&](const Block& n) {
                     for (const Stmt& inner : n.body) execute(inner);
                   },
                   [&](const Barrier&) { fail("a barrier stands inside another statement"); },
                   [&](const CopyGroup&) { fail("a group of asynchronous copies stands outside of a launch"); },
                   [&](const Prefetch&) {},
               },
               s->kind);
  }

  void iterate(const Loop& n, std::int64_t begin, std::int64_t end) {
    if (!n.body.defined()) return;
    for (std::int64_t i = begin; i < end && !failed(); ++i) {
      vars_[n.index.index()].assign(1, Cell{.i = i});
      execute(n.body);
    }
  }

  void bind(VarId var, const Expr& value) {
    Cells cells(static_cast<std::size_t>(value->lanes));
    eval(value, cells.data(), nullptr);
    vars_[var.index()] = std::move(cells);
  }

  void store(const Store& n) {
    const Buffer& buffer = program_.buffer(n.buffer);
    const int lanes = n.value->lanes;
    std::vector<std::uint8_t> active(static_cast<std::size_t>(lanes), 1);
    if (n.mask.defined()) read_mask(n.mask, nullptr, active.data());
    if (std::find(active.begin(), active.end(), 1) == active.end()) return;
    if (buffer.scope == Scope::argument && !buffer.written)
      return fail("stores to the argument '" + buffer.name + "', which it does not write");
    std::vector<std::int64_t> at(static_cast<std::size_t>(lanes));
    Cells value(static_cast<std::size_t>(lanes));
    eval(n.value, value.data(), active.data());
    locate("store to", n.buffer, n.index, lanes, active.data(), at.data());
    if (failed()) return;
    Memory& m = memory(n.buffer);
    for (int k = 0; k < lanes; ++k) {
      const auto lane = static_cast<std::size_t>(k);
      if (!active[lane]) continue;
      const auto element = static_cast<std::size_t>(at[lane]);
      if (is_float(buffer.dtype)) {
        m.tensor.set(at[lane], value[lane].f);
      } else {
        m.tensor.set_integer(at[lane], value[lane].i);
      }
      if (!m.written.empty()) m.written[element] = 1;
      if (!m.last_write.empty()) m.last_write[element] = phase_ * workers_ + worker_;
    }
  }

  // ---- Memory

  Memory& memory(BufferId id) {
    auto& copies = memories_[id.index()];
    return copies[copies.size() == 1 ? 0 : static_cast<std::size_t>(worker_)];
  }

  /// The row-major element that each active lane accesses.
  void locate(const char* access, BufferId id, const std::vector<Expr>& index, int lanes, Lanes active,
              std::int64_t* at) {
    const Buffer& buffer = program_.buffer(id);
    const bool flat = index.size() == 1 && buffer.extents.size() != 1;
    if (!flat && index.size() != buffer.extents.size()) {
      return fail(std::string(access) + " '" + buffer.name + "' with " + std::to_string(index.size()) +
                  " indices, expected 1 or " + std::to_string(buffer.extents.size()));
    }
    std::fill_n(at, lanes, 0);
    Cells cells(static_cast<std::size_t>(lanes));
    for (std::size_t d = 0; d < index.size(); ++d) {
      const std::int64_t extent = flat ? num_elements(buffer.extents) : buffer.extents[d];
      eval(index[d], cells.data(), index[d]->lanes == lanes ? active : nullptr);
      if (failed()) return;
      for (int k = 0; k < lanes; ++k) {
        if (active && !active[k]) continue;
        const std::int64_t i = cells[index[d]->lanes == 1 ? 0 : static_cast<std::size_t>(k)].i;
        if (i < 0 || i >= extent) {
          return fail(std::string(access) + " '" + buffer.name + "' at index " + std::to_string(i) +
                      (flat ? "" : " of dimension " + std::to_string(d)) + ", outside its extents " +
                      to_string(buffer.extents));
        }
        at[k] = at[k] * extent + i;
      }
    }
  }

  static bool is_padding(const Buffer& buffer, std::int64_t element) {
    return buffer.padding > 0 && element % buffer.extents.back() >= buffer.extents.back() - buffer.padding;
  }

  void load(const Expr& e, const Load& n, Cell* out, Lanes wanted) {
    std::vector<std::uint8_t> active(static_cast<std::size_t>(e->lanes), 1);
    if (wanted) std::copy_n(wanted, e->lanes, active.begin());
    if (n.mask.defined()) read_mask(n.mask, wanted, active.data());
    std::fill_n(out, e->lanes, Cell{.i = 0});
    if (std::find(active.begin(), active.end(), 1) == active.end()) return;
    std::vector<std::int64_t> at(static_cast<std::size_t>(e->lanes));
    const BufferId id(n.source.value);
    locate("load from", id, n.index, e->lanes, active.data(), at.data());
    if (failed()) return;
    const Buffer& buffer = program_.buffer(id);
    const Memory& m = memory(id);
    for (int k = 0; k < e->lanes; ++k) {
      const auto lane = static_cast<std::size_t>(k);
      if (!active[lane]) continue;
      const auto element = static_cast<std::size_t>(at[lane]);
      if (!m.written.empty() && !m.written[element] && is_padding(buffer, at[lane])) {
        out[k] = is_float(buffer.dtype) ? Cell{.f = std::nan("")} : Cell{.i = -1};
        continue;
      }
      if (!m.written.empty() && !m.written[element]) {
        return fail("load from '" + buffer.name + "' of element " + std::to_string(element) +
                    ", which nothing has written");
      }
      if (!m.last_write.empty() && m.last_write[element] / workers_ == phase_ && m.last_write[element] >= 0 &&
          m.last_write[element] % workers_ != worker_) {
        return fail("load from '" + buffer.name + "' of element " + std::to_string(element) + " by worker " +
                    std::to_string(worker_) + ", which worker " + std::to_string(m.last_write[element] % workers_) +
                    " wrote without a barrier in between");
      }
      if (is_float(buffer.dtype)) {
        out[k].f = m.tensor.get(at[lane]);
      } else {
        out[k].i = m.tensor.integer(at[lane]);
      }
    }
  }

  /// Takes away the lanes of `active` where the mask is false.
  void read_mask(const Expr& mask, Lanes wanted, std::uint8_t* active) {
    Cells cells(static_cast<std::size_t>(mask->lanes));
    eval(mask, cells.data(), wanted);
    for (int k = 0; k < mask->lanes; ++k) active[k] = active[k] && cells[static_cast<std::size_t>(k)].i != 0;
  }

  // ---- Expressions

  std::int64_t integer(const Expr& e) {
    Cell cell{.i = 0};
    WHET_CHECK(e->lanes == 1, "bounds and conditions of statements are scalars");
    eval(e, &cell, nullptr);
    return failed() ? 0 : cell.i;
  }

  /// Puts the lanes of `e` at `out`; lanes that are not wanted get anything.
  void eval(const Expr& e, Cell* out, Lanes wanted) {
    const int lanes = e->lanes;
    std::visit(Match{
                   [&](const IntConst& n) { std::fill_n(out, lanes, Cell{.i = n.value}); },
                   [&](const FloatConst& n) { std::fill_n(out, lanes, Cell{.f = n.value}); },
                   [&](const Var& n) { variable(n, lanes, out); },
                   [&](const Unary& n) { unary_value(e, n, out, wanted); },
                   [&](const Binary& n) { binary_value(e, n, out, wanted); },
                   [&](const Select& n) { select_value(e, n, out, wanted); },
                   [&](const Cast& n) { cast_value(e, n, out, wanted); },
                   [&](const Call& n) { call_value(e, n, out, wanted); },
                   [&](const Load& n) { load(e, n, out, wanted); },
                   [&](const Ramp& n) {
                     const std::int64_t base = integer(n.base);
                     for (int k = 0; k < lanes; ++k) out[k].i = wrap_to(e->dtype, base + k * n.stride);
                   },
                   [&](const Broadcast& n) {
                     Cell cell;
                     eval(n.a, &cell, nullptr);
                     std::fill_n(out, lanes, cell);
                   },
               },
               e->kind);
  }

  void variable(const Var& n, int lanes, Cell* out) {
    if (!n.id.valid() || n.id.index() >= vars_.size() ||
        vars_[n.id.index()].size() != static_cast<std::size_t>(lanes)) {
      return fail("the variable '" + n.name + "' is not bound, or has another number of lanes");
    }
    std::copy_n(vars_[n.id.index()].begin(), lanes, out);
  }

  void unary_value(const Expr& e, const Unary& n, Cell* out, Lanes wanted) {
    eval(n.a, out, wanted);
    for (int k = 0; k < e->lanes; ++k) {
      if (n.op == UnaryOp::logical_not) {
        out[k].i = out[k].i == 0;
      } else if (is_float(e->dtype)) {
        out[k].f = -out[k].f;
      } else {
        out[k].i = *apply(BinaryOp::sub, 0, out[k].i, e->dtype);
      }
    }
  }

  void binary_value(const Expr& e, const Binary& n, Cell* out, Lanes wanted) {
    Cells other(static_cast<std::size_t>(e->lanes));
    eval(n.a, out, wanted);
    eval(n.b, other.data(), wanted);
    if (failed()) return;
    const DType operands = n.a->dtype;
    for (int k = 0; k < e->lanes; ++k) {
      const Cell b = other[static_cast<std::size_t>(k)];
      if (wanted && !wanted[k]) {
        out[k].i = 0;
      } else if (is_float(operands) && is_comparison(n.op)) {
        out[k].i = compare_floats(n.op, out[k].f, b.f);
      } else if (is_float(operands)) {
        out[k].f = computed(operands, apply_float(n.op, out[k].f, b.f));
      } else {
        const auto value = apply(n.op, out[k].i, b.i, operands);
        if (!value) return fail("divides by zero");
        out[k].i = *value;
      }
    }
  }

  /// Lanes of the other side are not evaluated.
  void select_value(const Expr& e, const Select& n, Cell* out, Lanes wanted) {
    if (n.condition->lanes == 1) {
      const bool side = integer(n.condition) != 0;
      return failed() ? void() : eval(side ? n.if_true : n.if_false, out, wanted);
    }
    std::vector<std::uint8_t> yes(static_cast<std::size_t>(e->lanes)), no = yes;
    Cells cells(static_cast<std::size_t>(e->lanes));
    eval(n.condition, cells.data(), wanted);
    for (std::size_t k = 0; k < yes.size(); ++k) {
      const bool active = !wanted || wanted[k];
      yes[k] = active && cells[k].i != 0;
      no[k] = active && cells[k].i == 0;
    }
    eval(n.if_true, out, yes.data());
    eval(n.if_false, cells.data(), no.data());
    for (std::size_t k = 0; k < yes.size(); ++k) {
      if (!yes[k]) out[k] = cells[k];
    }
  }

  void cast_value(const Expr& e, const Cast& n, Cell* out, Lanes wanted) {
    eval(n.a, out, wanted);
    const DType from = n.a->dtype, to = e->dtype;
    for (int k = 0; k < e->lanes; ++k) {
      if (is_float(from)) {
        out[k] = is_float(to) ? Cell{.f = round_to(to, out[k].f)} : Cell{.i = to_integer(to, out[k].f)};
      } else {
        out[k] =
            is_float(to) ? Cell{.f = round_to(to, static_cast<double>(out[k].i))} : Cell{.i = wrap_to(to, out[k].i)};
      }
    }
  }

  void call_value(const Expr& e, const Call& n, Cell* out, Lanes wanted) {
    eval(n.args[0], out, wanted);
    Cells second(static_cast<std::size_t>(n.args.size() > 1 ? e->lanes : 0));
    if (n.args.size() > 1) eval(n.args[1], second.data(), wanted);
    for (int k = 0; k < e->lanes; ++k) {
      if (n.fn == MathFn::bits_of) {
        out[k].i = bits_of(n.args[0]->dtype, out[k].f);
      } else if (n.fn == MathFn::float_of_bits) {
        out[k].f = e->dtype == DType::f64 ? std::bit_cast<double>(out[k].i)
                                          : std::bit_cast<float>(static_cast<std::int32_t>(out[k].i));
      } else {
        out[k].f =
            computed(e->dtype, apply(n.fn, out[k].f, second.empty() ? 0 : second[static_cast<std::size_t>(k)].f));
      }
    }
  }

  const Program& program_;
  std::int64_t workers_;
  std::vector<Cells> vars_;
  std::vector<std::vector<Memory>> memories_;
  std::int64_t worker_ = 0;
  std::int64_t phase_ = 0;
  std::string error_;
};

Status check_arguments(const Program& program, const std::vector<Tensor>& arguments) {
  for (const Buffer& b : program.buffers) {
    if (b.scope != Scope::argument) continue;
    if (b.argument < 0 || static_cast<std::size_t>(b.argument) >= arguments.size()) {
      return Error{"program '" + program.name + "': there is no argument " + std::to_string(b.argument) + " for '" +
                   b.name + "'"};
    }
    const Tensor& t = arguments[static_cast<std::size_t>(b.argument)];
    if (t.dtype() != b.dtype || t.size() != num_elements(b.extents)) {
      return Error{"program '" + program.name + "': the argument for '" + b.name + "' is " + to_string(t.type()) +
                   ", expected " + to_string(TensorType{b.dtype, b.extents})};
    }
  }
  return ok_status();
}

}  // namespace

Status interpret(const Program& program, std::vector<Tensor>& arguments, int workers) {
  WHET_CHECK(workers >= 1);
  WHET_RETURN_IF_ERROR(check_arguments(program, arguments));
  return Interpreter(program, arguments, workers).run();
}

}  // namespace whet
