#include "program/verify.h"

#include <algorithm>
#include <set>

#include "compute/dag.h"
#include "compute/scalar.h"
#include "program/context.h"

namespace whet {
namespace {

class ProgramVerifier {
 public:
  ProgramVerifier(const Program& program, const VerifyOptions& options)
      : program_(program), options_(options), vars_(static_cast<std::size_t>(std::max(program.vars, 0))) {}

  Status run() {
    buffers();
    if (program_.body.defined()) stmt(program_.body, true);
    if (error_.empty()) return ok_status();
    return Error{"program '" + program_.name + "': " + error_, kind_};
  }

 private:
  enum class Life : std::uint8_t { unbound, live, ended };
  struct Variable {
    Life life = Life::unbound;
    DType dtype = DType::i64;
    int lanes = 1;
  };

  bool failed() const { return !error_.empty(); }
  void fail(std::string what, ErrorKind kind = ErrorKind::invalid_input) {
    if (failed()) return;
    error_ = std::move(what);
    kind_ = kind;
  }
  /// `what` makes the sentence: almost always it is not needed.
  template <typename What>
  void need(bool condition, const What& what) {
    if (!condition) fail(what());
  }

  std::string text(const Expr& e) const {
    return to_text(e, [&](SourceId id) { return known(id) ? program_.buffer(BufferId(id.value)).name : "?"; });
  }
  bool known(SourceId id) const { return id.valid() && id.index() < program_.buffers.size(); }

  void buffers() {
    std::set<int> arguments;
    for (const Buffer& b : program_.buffers) {
      for (std::int64_t extent : b.extents)
        need(extent >= 0, [&] { return "buffer '" + b.name + "' has a negative extent"; });
      if (b.scope != Scope::argument) continue;
      need(b.argument >= 0, [&] { return "buffer '" + b.name + "' is an argument without a number"; });
      need(arguments.insert(b.argument).second,
           [&] { return "two buffers are argument " + std::to_string(b.argument); });
      need(!(b.constant && b.written), [&] { return "argument '" + b.name + "' is constant, and written"; });
    }
  }

  // ---- Statements

  void stmt(const Stmt& s, bool top) {
    if (failed() || !s.defined()) return;
    std::visit(Match{
                   [&](const Loop& n) { loop(n, top); },
                   [&](const Let& n) { let(n, top); },
                   [&](const Store& n) { store(n); },
                   [&](const If& n) { branch(n); },
                   [&](const Block& n) {
                     for (const Stmt& inner : n.body) stmt(inner, top);
                   },
                   [&](const Barrier&) { need(top, [&] { return "a barrier stands inside another statement"; }); },
                   [&](const CopyGroup&) { fail("a group of asynchronous copies stands outside of a launch"); },
                   [&](const Prefetch& n) { prefetch(n); },
               },
               s->kind);
  }

  void bind(VarId var, const std::string& name, DType dtype, int lanes) {
    if (!var.valid() || var.index() >= vars_.size())
      return fail("'" + name + "' is variable " + std::to_string(var.value) + " of " + std::to_string(program_.vars));
    const Life life = vars_[var.index()].life;
    need(life == Life::unbound || (life == Life::ended && !options_.bound_once),
         [&] { return "variable " + std::to_string(var.value) + " '" + name + "' is bound twice"; });
    vars_[var.index()] = {Life::live, dtype, lanes};
  }
  void unbind(VarId var) {
    if (!failed()) vars_[var.index()].life = Life::ended;
  }

  void index_scalar(const Expr& e, const std::string& what) {
    if (!e.defined()) return fail(what + " is missing");
    need(e->dtype == DType::i64 && e->lanes == 1, [&] { return what + " is no i64 scalar: " + text(e); });
    expr(e);
  }

  void loop(const Loop& n, bool top) {
    index_scalar(n.min, "the first index of loop '" + n.name + "'");
    index_scalar(n.extent, "the extent of loop '" + n.name + "'");
    if (failed()) return;
    const bool expanded = n.kind == LoopKind::vectorized || n.kind == LoopKind::unrolled;
    need(!expanded || as_int(n.extent),
         [&] { return "the extent of loop '" + n.name + "' is not constant: " + text(n.extent); });
    need(!expanded || !options_.lowered, [&] { return "loop '" + n.name + "' is still to be vectorized or unrolled"; });
    need(n.kind != LoopKind::parallel || top,
         [&] { return "the parallel loop '" + n.name + "' stands inside another statement"; });
    bind(n.index, n.name, DType::i64, 1);
    if (failed()) return;
    const auto mark = facts_.mark();
    enter(facts_, n);
    stmt(n.body, false);
    facts_.rewind(mark);
    unbind(n.index);
  }

  void let(const Let& n, bool top) {
    if (!n.value.defined()) return fail("let '" + n.name + "' has no value");
    expr(n.value);
    bind(n.var, n.name, n.value->dtype, n.value->lanes);
    if (failed()) return;
    const auto mark = facts_.mark();
    enter(facts_, n);
    stmt(n.body, top);
    facts_.rewind(mark);
    unbind(n.var);
  }

  void branch(const If& n) {
    if (!n.condition.defined()) return fail("an if has no condition");
    need(n.condition->dtype == DType::boolean && n.condition->lanes == 1,
         [&] { return "the condition of an if is no boolean scalar: " + text(n.condition); });
    expr(n.condition);
    if (failed()) return;
    const auto mark = facts_.mark();
    enter_if(facts_, n.condition);
    stmt(n.then_body, false);
    facts_.rewind(mark);
    enter_else(facts_, n.condition);
    stmt(n.else_body, false);
    facts_.rewind(mark);
  }

  void store(const Store& n) {
    if (!n.buffer.valid() || n.buffer.index() >= program_.buffers.size()) return fail("a store names no buffer");
    const Buffer& b = program_.buffer(n.buffer);
    const std::string what = "store to '" + b.name + "'";
    if (!n.value.defined()) return fail(what + " has no value");
    need(n.value->dtype == b.dtype, [&] {
      return what + " of dtype " + std::string(name_of(n.value->dtype)) + ", expected " + std::string(name_of(b.dtype));
    });
    need(b.scope != Scope::argument || b.written, [&] { return what + ", an argument that is not written"; });
    const std::size_t depth = lane_conditions_.size();
    const auto mark = facts_.mark();
    if (n.mask.defined()) {
      expr(n.mask);
      mask(n.mask, n.value->lanes, what);
    }
    for (const Expr& i : n.index) expr(i);
    access(what, b, n.index, n.value->lanes);
    expr(n.value);
    lane_conditions_.resize(depth);
    facts_.rewind(mark);
  }

  void prefetch(const Prefetch& n) {
    if (!n.buffer.valid() || n.buffer.index() >= program_.buffers.size()) return fail("a prefetch names no buffer");
    const Buffer& b = program_.buffer(n.buffer);
    const std::string what = "prefetch of '" + b.name + "'";
    need(b.scope != Scope::registers, [&] { return what + ", which is registers"; });
    need(n.index.size() == 1 || n.index.size() == b.extents.size(), [&] {
      return what + " has " + std::to_string(n.index.size()) + " indices for " + std::to_string(b.extents.size()) +
             " extents";
    });
    for (const Expr& i : n.index) {
      index_scalar(i, "an index of the " + what);
      if (!failed()) need(!has_load(i), [&] { return what + " at an index that is data: " + text(i); });
    }
  }

  /// From here on the mask holds.
  void mask(const Expr& m, int lanes, const std::string& what) {
    if (failed()) return;
    need(m->dtype == DType::boolean && m->lanes == lanes,
         [&] { return what + " has a mask of other lanes or no booleans: " + text(m); });
    if (lanes == 1) {
      enter_if(facts_, m);
    } else {
      lane_conditions_.emplace_back(m, true);
    }
  }

  // ---- Accesses

  void access(const std::string& what, const Buffer& b, const std::vector<Expr>& index, int lanes) {
    if (failed()) return;
    const bool flat = index.size() == 1 && b.extents.size() != 1;
    if (!flat && index.size() != b.extents.size())
      return fail(what + " has " + std::to_string(index.size()) + " indices for " + std::to_string(b.extents.size()) +
                  " extents");
    int most = 1;
    for (std::size_t d = 0; d < index.size() && !failed(); ++d) {
      if (!index[d].defined()) return fail(what + " lacks an index");
      need(index[d]->dtype == DType::i64 && (index[d]->lanes == 1 || index[d]->lanes == lanes),
           [&] { return what + " has an index of other lanes, or no i64: " + text(index[d]); });
      most = std::max(most, index[d]->lanes);
      if (!failed()) inside(what, index[d], lanes, flat ? num_elements(b.extents) : b.extents[d]);
    }
    need(most == lanes, [&] { return what + " has " + std::to_string(lanes) + " lanes at scalar indices"; });
  }

  void inside(const std::string& what, const Expr& index, int lanes, std::int64_t extent) {
    if (!options_.proofs) return;
    if (const std::int64_t* constant = as_int(index); constant && *constant >= 0 && *constant < extent) return;
    const auto mark = facts_.mark();
    if (lanes > 1) {
      facts_.bind(kLane, Interval{0, lanes - 1});
      for (const auto& [condition, holds] : lane_conditions_) {
        if (condition->lanes != lanes) continue;
        holds ? enter_if(facts_, lane_of(condition)) : enter_else(facts_, lane_of(condition));
      }
    }
    const Affine at = to_affine(lane_of(index));
    const bool proven = facts_.proves_nonnegative(at) && facts_.proves_nonnegative(sub(Affine{{}, extent - 1}, at));
    facts_.rewind(mark);
    if (!proven)
      fail(what + " at index " + text(index) + ", which is not proven to be inside 0 .. " + std::to_string(extent),
           ErrorKind::unsupported);
  }

  // ---- Expressions

  void expr(const Expr& e) {
    if (failed()) return;
    if (!e.defined()) return fail("an expression lacks an operand");
    auto like = [&](const Expr& x) { return x.defined() && x->dtype == e->dtype && x->lanes == e->lanes; };
    auto agree = [&](bool condition) { need(condition, [&] { return "dtypes or lanes do not agree in " + text(e); }); };
    std::visit(Match{
                   [&](const IntConst&) { agree(!is_float(e->dtype)); },
                   [&](const FloatConst&) { agree(is_float(e->dtype)); },
                   [&](const Var& n) { variable(e, n); },
                   [&](const Unary& n) {
                     agree(like(n.a));
                     expr(n.a);
                   },
                   [&](const Binary& n) {
                     const bool gives_boolean = is_comparison(n.op) || is_logic(n.op);
                     agree(n.a.defined() && n.b.defined() && n.a->lanes == e->lanes && n.b->lanes == e->lanes &&
                           n.a->dtype == n.b->dtype);
                     agree(failed() || e->dtype == (gives_boolean ? DType::boolean : n.a->dtype));
                     expr(n.a);
                     expr(n.b);
                     if (!failed()) divisor(e, n);
                   },
                   [&](const Select& n) {
                     agree(n.condition.defined() && n.condition->dtype == DType::boolean && like(n.if_true) &&
                           like(n.if_false));
                     if (!failed()) choice(e, n);
                   },
                   [&](const Cast& n) {
                     agree(n.a.defined() && n.a->lanes == e->lanes);
                     expr(n.a);
                   },
                   [&](const Call& n) {
                     for (const Expr& a : n.args) {
                       agree(a.defined() && a->lanes == e->lanes);
                       expr(a);
                     }
                   },
                   [&](const Load& n) { load(e, n); },
                   [&](const Ramp& n) { scalar_inside(n.base); },
                   [&](const Broadcast& n) {
                     agree(n.a.defined() && n.a->lanes == 1 && n.a->dtype == e->dtype);
                     scalar_inside(n.a);
                   },
               },
               e->kind);
  }

  /// Division by what memory holds is the data's own business; index arithmetic must be sound.
  void divisor(const Expr& e, const Binary& n) {
    const bool divides = n.op == BinaryOp::div || n.op == BinaryOp::floordiv || n.op == BinaryOp::floormod;
    if (!options_.proofs || !divides || is_float(n.b->dtype) || has_load(n.b)) return;
    const Interval range = facts_.bounds(n.b);
    const bool nonzero = (range.min && *range.min > 0) || (range.max && *range.max < 0);
    need(nonzero, [&] { return "the divisor is not proven to be other than 0 in " + text(e); });
  }

  /// It is computed once for all lanes, so what holds in some of them does not help.
  void scalar_inside(const Expr& e) {
    std::vector<std::pair<Expr, bool>> outer;
    outer.swap(lane_conditions_);
    if (!e.defined() || e->lanes != 1) return fail("a ramp or broadcast of a vector");
    expr(e);
    outer.swap(lane_conditions_);
  }

  void variable(const Expr& e, const Var& n) {
    if (!n.id.valid() || n.id.index() >= vars_.size() || vars_[n.id.index()].life != Life::live)
      return fail("variable " + std::to_string(n.id.value) + " '" + n.name + "' is used outside its binding");
    const Variable& v = vars_[n.id.index()];
    need(v.dtype == e->dtype && v.lanes == e->lanes,
         [&] { return "variable '" + n.name + "' is used with another dtype or number of lanes than it has"; });
  }

  void choice(const Expr& e, const Select& n) {
    need(n.condition->lanes == 1 || n.condition->lanes == e->lanes,
         [&] { return "dtypes or lanes do not agree in " + text(e); });
    expr(n.condition);
    for (const bool side : {true, false}) {
      const auto mark = facts_.mark();
      const std::size_t depth = lane_conditions_.size();
      if (n.condition->lanes > 1) {
        lane_conditions_.emplace_back(n.condition, side);
      } else {
        // Within one expression memory does not change: a condition on loaded values holds.
        side ? facts_.assume(n.condition) : facts_.assume_not(n.condition);
      }
      expr(side ? n.if_true : n.if_false);
      lane_conditions_.resize(depth);
      facts_.rewind(mark);
    }
  }

  void load(const Expr& e, const Load& n) {
    if (!known(n.source)) return fail("a load names no buffer");
    const Buffer& b = program_.buffer(BufferId(n.source.value));
    const std::string what = "load from '" + b.name + "'";
    need(b.dtype == e->dtype, [&] {
      return what + " as " + std::string(name_of(e->dtype)) + ", expected " + std::string(name_of(b.dtype));
    });
    const auto mark = facts_.mark();
    const std::size_t depth = lane_conditions_.size();
    if (n.mask.defined()) {
      expr(n.mask);
      mask(n.mask, e->lanes, what);
    }
    for (const Expr& i : n.index) expr(i);
    access(what, b, n.index, e->lanes);
    lane_conditions_.resize(depth);
    facts_.rewind(mark);
  }

  const Program& program_;
  const VerifyOptions& options_;
  std::vector<Variable> vars_;
  Facts facts_;
  std::vector<std::pair<Expr, bool>> lane_conditions_;  ///< vectors that hold, or do not, in the lanes that matter
  std::string error_;
  ErrorKind kind_ = ErrorKind::invalid_input;
};

}  // namespace

Status verify(const Program& program, const VerifyOptions& options) { return ProgramVerifier(program, options).run(); }

}  // namespace whet
