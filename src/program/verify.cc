#include "program/verify.h"

#include <algorithm>
#include <set>

#include "compute/dag.h"
#include "compute/scalar.h"
#include "program/context.h"
#include "program/launch.h"
#include "program/warp_tile.h"

namespace whet {
namespace {

constexpr std::int64_t kRowBytes = 16;  ///< of what tensor cores read from block memory: a unit of a row

class ProgramVerifier {
 public:
  ProgramVerifier(const Program& program, const VerifyOptions& options)
      : program_(program), options_(options), vars_(static_cast<std::size_t>(std::max(program.vars, 0))) {}

  Status run() {
    buffers();
    if (options_.launches) {
      for (const Stmt& s : top_statements(program_)) launch(s);
    } else if (program_.body.defined()) {
      stmt(program_.body, true);
    }
    if (error_.empty()) return ok_status();
    return Error{"program '" + program_.name + "': " + error_, kind_};
  }

 private:
  enum class Life : std::uint8_t { unbound, live, ended };
  struct Variable {
    Life life = Life::unbound;
    DType dtype = DType::i64;
    int lanes = 1;
    bool varies = false;  ///< in a launch: between the threads of a block, or with data
    Expr value;           ///< of a let in a launch, in terms of indices of loops; undefined where it is data
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
                   [&](const Barrier& n) { barrier(n, top); },
                   [&](const CopyGroup& n) { group(n); },
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
         [&] { return "the parallel loop '" + n.name + "' is inside another statement"; });
    need(!launch_ || expanded || n.kind == LoopKind::serial,
         [&] { return "the " + std::string(word_of(n.kind)) + " loop '" + n.name + "' is inside a launch"; });
    bind(n.index, n.name, DType::i64, 1);
    if (failed()) return;
    const auto mark = facts_.mark();
    const Control control(*this, {&n.min, &n.extent});
    vars_[n.index.index()].varies = control.varies;
    const std::int64_t lanes = vector_;
    if (n.kind == LoopKind::vectorized) vector_ *= *as_int(n.extent);
    enter(facts_, n);
    if (launch_ && is_warp_wide(n.intrinsic)) tile(n);
    stmt(n.body, false);
    facts_.rewind(mark);
    unbind(n.index);
    vector_ = lanes;
  }

  // ---- Tiles of warps

  void tile(const Loop& n) {
    const std::string what = "a tile of " + std::string(name_of(n.intrinsic));
    const std::optional<WarpTile> tile = warp_tile(n);
    if (!tile) return fail(what + " has loops that compute something else", ErrorKind::unsupported);
    if (!options_.launches->mma && !multiplies_bytes(n.intrinsic))  // all have one of bytes
      return fail(
          what + " needs instructions that compute capability " + std::to_string(options_.launches->arch) + " lacks",
          ErrorKind::unsupported);
    const auto buffer = [&](SourceId id) -> const Buffer& { return program_.buffer(BufferId(id.value)); };
    for (const Load* operand : {tile->left, tile->right}) {
      if (!known(operand->source)) return fail("a load names no buffer");
      const Buffer& b = buffer(operand->source);
      if (b.scope != Scope::block || b.extents.empty() || b.extents.back() * size_of(b.dtype) % kRowBytes != 0)
        return fail(what + " reads '" + b.name + "', which is no block memory with rows of whole " +
                        std::to_string(kRowBytes) + " bytes",
                    ErrorKind::unsupported);
    }
    if (program_.buffer(tile->store->buffer).scope != Scope::registers)
      return fail(what + " adds to '" + program_.buffer(tile->store->buffer).name + "', which is not in registers",
                  ErrorKind::unsupported);
    for (const Expr& e : varying_)
      need(same_in_warp(e), [&] { return what + " is computed where not the whole warp may be: " + text(e); });
    if (!failed()) lanes_fit(*tile, what);
  }

  /// Lane 4g + q has row 8i + g of the left operand and column 2q + j of the right one.
  void lanes_fit(const WarpTile& tile, const std::string& what) {
    constexpr std::int64_t kColumns = 4, kRows = kWarp / kColumns, kPair = 2;
    const VarId warp(program_.vars), row(program_.vars + 1), column(program_.vars + 2);
    const std::pair<VarId, Expr> thread(launch_->threads->index,
                                        var(warp, "warp") * kWarp + var(row, "row") * kColumns + var(column, "column"));
    const auto mark = facts_.mark();
    facts_.bind(warp, Interval{0, launch_->size / kWarp - 1});
    facts_.bind(row, Interval{0, kRows - 1});
    facts_.bind(column, Interval{0, kColumns - 1});
    const auto moves = [&](const std::vector<Expr>& index, std::optional<VarId> loop, VarId lane, std::int64_t each) {
      return std::all_of(index.begin(), index.end(), [&](const Expr& i) {
        const Affine sum = to_affine(simplify(substitute(over_indices(i), Substitution(&thread, 1)), facts_));
        std::int64_t of_loop = 0, of_lane = 0;
        for (const auto& [atom, factor] : sum.terms) {
          const auto* v = std::get_if<Var>(&atom->kind);
          if (v && loop && v->id == *loop) of_loop = factor;
          if (v && loop && v->id == lane) {
            of_lane = factor;
          } else if (uses(atom, row) || uses(atom, column)) {
            return false;
          }
        }
        return of_lane * kRows == of_loop * each;
      });
    };
    const bool fits = moves(tile.left->index, tile.rows->index, row, 1) &&
                      moves(tile.right->index, tile.columns->index, column, kRows * kPair) &&
                      moves(tile.store->index, std::nullopt, row, 0);
    facts_.rewind(mark);
    need(fits, [&] { return what + " is not shared by the lanes as a warp's is"; });
  }

  void let(const Let& n, bool top) {
    if (!n.value.defined()) return fail("let '" + n.name + "' has no value");
    expr(n.value);
    bind(n.var, n.name, n.value->dtype, n.value->lanes);
    if (failed()) return;
    if (launch_) {
      vars_[n.var.index()].varies = varies(n.value);
      if (!has_load(n.value)) vars_[n.var.index()].value = over_indices(n.value);
    }
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
    const Control control(*this, {&n.condition});
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
    if (launch_ && n.async) copy(n, b, what);
    if (launch_ && n.cross != 0) exchange(n, b, what);
    lane_conditions_.resize(depth);
    facts_.rewind(mark);
  }

  // ---- Launches

  void launch(const Stmt& s) {
    if (failed()) return;
    if (std::holds_alternative<Barrier>(s->kind)) return barrier(std::get<Barrier>(s->kind), true);
    const auto* blocks = std::get_if<Loop>(&s->kind);
    if (!blocks || blocks->kind != LoopKind::block) return fail("a statement beside the launches is no grid barrier");
    const auto* threads = blocks->body.defined() ? std::get_if<Loop>(&blocks->body->kind) : nullptr;
    if (!threads || threads->kind != LoopKind::thread)
      return fail("the block loop '" + blocks->name + "' is not directly around one thread loop");
    const std::optional<LaunchNest> nest = launch_nest(s);
    if (!nest)
      return fail("the loops '" + blocks->name + "' and '" + threads->name +
                  "' of a launch are not from 0 with constant extents, " +
                  "or the threads are no multiple of 32 up to " + std::to_string(kMostThreads));
    block_memory(*nest);
    residents(*nest);
    for (const Loop* n : {blocks, threads}) bind(n->index, n->name, DType::i64, 1);
    if (failed()) return;
    vars_[threads->index.index()].varies = true;
    launch_ = &*nest;
    const auto mark = facts_.mark();
    enter(facts_, *blocks);
    enter(facts_, *threads);
    stmt(nest->body, false);
    facts_.rewind(mark);
    launch_ = nullptr;
    for (const Loop* n : {blocks, threads}) unbind(n->index);
  }

  /// An SM holds the blocks that the launch asks for.
  void residents(const LaunchNest& nest) {
    const std::int64_t wanted = nest.blocks->min_blocks;
    const GpuLimits& limits = *options_.launches;
    const std::int64_t threads = std::int64_t{limits.warps_per_sm} * kWarp;
    if (wanted * nest.size <= threads && wanted <= limits.blocks_per_sm) return;
    fail(std::to_string(wanted) + " blocks of " + std::to_string(nest.size) +
             " threads are to be on an SM at once, which holds " + std::to_string(threads) + " threads and " +
             std::to_string(limits.blocks_per_sm) + " blocks",
         ErrorKind::limit);
  }

  /// All buffers of the launch lie in a block's memory at once.
  void block_memory(const LaunchNest& nest) {
    std::set<std::size_t> used;
    for_each(
        nest.body,
        [&](const Stmt& s) {
          if (const auto* n = std::get_if<Store>(&s->kind); n && n->buffer.valid()) used.insert(n->buffer.index());
        },
        [&](const Expr& whole) {
          for_each(whole, [&](const Expr& e) {
            if (const auto* n = std::get_if<Load>(&e->kind); n && known(n->source)) used.insert(n->source.index());
          });
        });
    std::int64_t bytes = 0;
    for (std::size_t k = 0; k < program_.buffers.size(); ++k) {
      const Buffer& b = program_.buffers[k];
      if (b.scope == Scope::block && used.contains(k)) bytes += num_elements(b.extents) * size_of(b.dtype);
    }
    const std::int64_t limit = options_.launches->block_memory_per_block;
    if (bytes > limit)
      fail("a block needs " + std::to_string(bytes) + " bytes of memory, of " + std::to_string(limit),
           ErrorKind::limit);
  }

  /// While it lives, statements stand under these conditions and bounds.
  struct Control {
    Control(ProgramVerifier& verifier, std::initializer_list<const Expr*> what) : verifier(verifier) {
      if (!verifier.launch_) return;
      for (const Expr* e : what)
        if (verifier.varies(*e)) verifier.varying_.push_back(*e), ++pushed;
      varies = pushed > 0;
    }
    ~Control() { verifier.varying_.resize(verifier.varying_.size() - pushed); }
    Control(const Control&) = delete;
    Control& operator=(const Control&) = delete;
    ProgramVerifier& verifier;
    std::size_t pushed = 0;
    bool varies = false;
  };

  /// Whether two threads of a block may have different values, as far as the expression alone tells.
  bool varies(const Expr& e) const {
    bool found = false;
    for_each(e, [&](const Expr& x) {
      const auto* v = std::get_if<Var>(&x->kind);
      found = found || std::holds_alternative<Load>(x->kind) || (v && vars_[v->id.index()].varies);
    });
    return found;
  }

  Expr over_indices(const Expr& e) const {
    return substitute(e, [&](VarId id) { return vars_[id.index()].value; });
  }

  void together(const std::string& what) {
    if (failed() || varying_.empty()) return;
    fail(what + " is under a condition or bound that differs between threads, or is data: " + text(varying_.back()));
  }

  void barrier(const Barrier& n, bool top) {
    if (launch_ && n.reach == Barrier::Reach::block) return together("a barrier");
    need(top && (!options_.launches || n.reach == Barrier::Reach::grid),
         [&] { return top ? "a barrier of threads is outside of a launch" : "a barrier is inside another statement"; });
  }

  void group(const CopyGroup& n) {
    if (!launch_) return fail("a group of asynchronous copies is outside of a launch");
    need(n.pending >= 0, [&] { return "a wait for all but " + std::to_string(n.pending) + " groups"; });
    together(n.kind == CopyGroup::Kind::commit ? "a commit" : "a wait");
  }

  void copy(const Store& n, const Buffer& b, const std::string& what) {
    if (failed()) return;
    need(options_.launches->async_copy, [&] {
      return what + " is asynchronous, which compute capability " + std::to_string(options_.launches->arch) + " cannot";
    });
    need(b.scope == Scope::block && copied_load(program_, n.value),
         [&] { return what + " is asynchronous, but no copy from an argument or workspace into block memory"; });
    need(!n.mask.defined() || n.mask->lanes == 1, [&] { return what + " is asynchronous under a mask of lanes"; });
    const std::int64_t bytes = size_of(b.dtype) * n.value->lanes * vector_;
    need(bytes == 4 || bytes == 8 || bytes == 16,
         [&] { return what + " copies " + std::to_string(bytes) + " bytes asynchronously, not 4, 8 or 16"; });
  }

  void exchange(const Store& n, const Buffer& b, const std::string& what) {
    if (failed()) return;
    need(n.cross > 0 && n.cross < kWarp,
         [&] { return what + " takes the value of thread ^ " + std::to_string(n.cross) + ", of another warp"; });
    need(!n.async && (b.scope == Scope::registers || b.scope == Scope::local),
         [&] { return what + " takes another thread's value, but is not into registers or local memory"; });
    need(!n.mask.defined() || n.mask->lanes == 1,
         [&] { return what + " takes another thread's value under a mask of lanes"; });
    if (failed()) return;
    const auto whole_warp = [&](const Expr& e) {
      need(same_in_warp(e),
           [&] { return what + " takes another thread's value where not the whole warp may be: " + text(e); });
    };
    for (const Expr& e : varying_) whole_warp(e);
    if (n.mask.defined()) whole_warp(n.mask);
  }

  /// Whether it is proven that the threads of a warp have one value.
  bool same_in_warp(const Expr& e) {
    for (const Expr& part : conjuncts_of(over_indices(e))) {
      if (!varies(part)) continue;
      bool of_thread = true, of_others = false;
      for_each(part, [&](const Expr& x) {
        const auto* v = std::get_if<Var>(&x->kind);
        const bool is_thread = v && v->id == launch_->threads->index;
        of_thread =
            of_thread && !std::holds_alternative<Load>(x->kind) && (!v || is_thread || !vars_[v->id.index()].varies);
        of_others = of_others || (v && !is_thread);
      });
      if (!of_thread || !(of_others ? same_in_warp_by_terms(part) : same_in_warp_by_values(part))) return false;
    }
    return true;
  }

  bool same_in_warp_by_values(const Expr& e) const {
    const auto value = [&](std::int64_t thread) {
      const std::pair<VarId, Expr> pair(launch_->threads->index, int_const(thread));
      return substitute(e, Substitution(&pair, 1));
    };
    for (std::int64_t first = 0; first < launch_->size; first += kWarp) {
      const Expr of_first = value(first);
      if (!as_int(of_first)) return false;
      for (std::int64_t t = first + 1; t < first + kWarp; ++t)
        if (!same(value(t), of_first)) return false;
    }
    return true;
  }

  /// With the thread's index as warp * 32 + lane, the lane does not matter.
  bool same_in_warp_by_terms(const Expr& e) {
    const VarId warp(program_.vars), lane(program_.vars + 1);
    const std::pair<VarId, Expr> pair(launch_->threads->index, var(warp, "warp") * kWarp + var(lane, "lane"));
    const auto mark = facts_.mark();
    facts_.bind(warp, Interval{0, launch_->size / kWarp - 1});
    facts_.bind(lane, Interval{0, kWarp - 1});
    const bool without_lane = !uses(simplify(substitute(e, Substitution(&pair, 1)), facts_), lane);
    facts_.rewind(mark);
    return without_lane;
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
  const LaunchNest* launch_ = nullptr;                  ///< around the statement
  std::vector<Expr> varying_;                           ///< conditions and bounds around it that vary between threads
  std::int64_t vector_ = 1;                             ///< iterations of vectorized loops around it
  std::vector<std::pair<Expr, bool>> lane_conditions_;  ///< vectors that hold, or do not, in the lanes that matter
  std::string error_;
  ErrorKind kind_ = ErrorKind::invalid_input;
};

}  // namespace

Status verify(const Program& program, const VerifyOptions& options) { return ProgramVerifier(program, options).run(); }

}  // namespace whet
