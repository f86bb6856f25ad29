#include "program/interpret.h"

#include <cmath>
#include <optional>

#include "program/evaluate_expr.h"
#include "program/interpret_launch.h"
#include "program/launch.h"

namespace whet {
namespace {

struct Memory {
  Tensor tensor;
  std::vector<std::uint8_t> written;     ///< by element; empty for arguments
  std::vector<std::int64_t> last_write;  ///< phase * workers + worker, by element; empty where only one worker sees it
};

class Interpreter : ExprEvaluator {
 public:
  Interpreter(const Program& program, std::vector<Tensor>& arguments, SizeValues sizes, int workers)
      : ExprEvaluator(program, 1), workers_(workers) {
    sizes_ = std::move(sizes);
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
  // ---- Statements

  void top(const Stmt& s) {
    if (failed()) return;
    worker_ = 0;
    if (const auto* n = std::get_if<Block>(&s->kind)) {
      for (const Stmt& inner : n->body) top(inner);
    } else if (const auto* n = std::get_if<Let>(&s->kind)) {
      bind(n->var, n->value, {});
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
                       return fail("the parallel loop '" + n.name + "' is inside another statement");
                     const std::int64_t min = integer(n.min), extent = integer(n.extent);
                     iterate(n, min, min + extent);
                   },
                   [&](const Let& n) {
                     bind(n.var, n.value, {});
                     execute(n.body);
                   },
                   [&](const Store& n) { store(n); },
                   [&](const If& n) { execute(integer(n.condition) ? n.then_body : n.else_body); },
                   [&](const Block& n) {
                     for (const Stmt& inner : n.body) execute(inner);
                   },
                   [&](const Barrier&) { fail("a barrier is inside another statement"); },
                   [&](const CopyGroup&) { fail("a group of asynchronous copies is outside of a launch"); },
                   [&](const Prefetch&) {},
               },
               s->kind);
  }

  void iterate(const Loop& n, std::int64_t begin, std::int64_t end) {
    if (!n.body.defined()) return;
    for (std::int64_t i = begin; i < end && !failed(); ++i) {
      bind(n.index, i);
      execute(n.body);
    }
  }

  void store(const Store& n) {
    const Scratch::Frame frame(scratch_);
    const Buffer& buffer = program_.buffer(n.buffer);
    const int lanes = n.value->lanes;
    Wanted active;
    if (n.mask.defined() && !narrow(n.mask, lanes, active)) return;
    if (buffer.scope == Scope::argument && !buffer.written)
      return fail("stores to the argument '" + buffer.name + "', which it does not write");
    auto* at = scratch_.take<std::int64_t>(lanes);
    const Value value = eval(n.value, active);
    if (failed() || !locate("store to", n.buffer, n.index, lanes, active, at)) return;
    Memory& m = memory(n.buffer);
    active.each(1, lanes, [&](std::int64_t, int k, std::int64_t) {
      const auto element = static_cast<std::size_t>(at[k]);
      const std::optional<std::int64_t> other = other_writer(m, element);
      const Cell before = other ? cell(m.tensor, at[k]) : Cell{};
      if (is_float(buffer.dtype)) {
        m.tensor.set(at[k], value.cells[k].f);
      } else {
        m.tensor.set_integer(at[k], value.cells[k].i);
      }
      if (other && !same(buffer.dtype, before, cell(m.tensor, at[k])))
        return fail(element_of("store to", buffer, element) + std::to_string(worker_) + ", where worker " +
                    std::to_string(*other) + " stored another value without a barrier in between");
      if (!m.written.empty()) m.written[element] = 1;
      if (!m.last_write.empty()) m.last_write[element] = phase_ * workers_ + worker_;
    });
  }

  // ---- Memory

  Memory& memory(BufferId id) {
    auto& copies = memories_[id.index()];
    return copies[copies.size() == 1 ? 0 : static_cast<std::size_t>(worker_)];
  }

  /// The worker, other than the one that runs, that stored the element last, in this phase.
  std::optional<std::int64_t> other_writer(const Memory& m, std::size_t element) const {
    if (m.last_write.empty()) return std::nullopt;
    const std::int64_t last = m.last_write[element];
    if (last < 0 || last / workers_ != phase_ || last % workers_ == worker_) return std::nullopt;
    return last % workers_;
  }

  static Cell cell(const Tensor& tensor, std::int64_t at) {
    Cell cell{};
    is_float(tensor.dtype()) ? void(cell.f = tensor.get(at)) : void(cell.i = tensor.integer(at));
    return cell;
  }
  static bool same(DType dtype, const Cell& a, const Cell& b) {
    return is_float(dtype) ? a.f == b.f || (std::isnan(a.f) && std::isnan(b.f)) : a.i == b.i;
  }
  static std::string element_of(const char* access, const Buffer& buffer, std::size_t element) {
    return std::string(access) + " '" + buffer.name + "' of element " + std::to_string(element) + " by worker ";
  }

  static bool is_padding(const Buffer& buffer, std::int64_t element) {
    return buffer.padding > 0 && element % buffer.extents.back() >= buffer.extents.back() - buffer.padding;
  }

  void read(BufferId id, const std::int64_t* at, int lanes, const Wanted& wanted, Cell* out) override {
    const Buffer& buffer = program_.buffer(id);
    const Memory& m = memory(id);
    wanted.each(1, lanes, [&](std::int64_t, int k, std::int64_t) {
      const auto element = static_cast<std::size_t>(at[k]);
      if (!m.written.empty() && !m.written[element]) {
        if (is_padding(buffer, at[k])) {
          out[k] = poison(buffer.dtype);
          return;
        }
        return fail("load from '" + buffer.name + "' of element " + std::to_string(element) +
                    ", which nothing has written");
      }
      if (const std::optional<std::int64_t> other = other_writer(m, element))
        return fail(element_of("load from", buffer, element) + std::to_string(worker_) + ", which worker " +
                    std::to_string(*other) + " wrote without a barrier in between");
      if (is_float(buffer.dtype)) {
        out[k].f = m.tensor.get(at[k]);
      } else {
        out[k].i = m.tensor.integer(at[k]);
      }
    });
  }

  std::int64_t workers_;
  std::vector<std::vector<Memory>> memories_;
  std::int64_t worker_ = 0;
  std::int64_t phase_ = 0;
};

/// The values that argument 0 holds.
Result<SizeValues> sizes_of(const Program& program, const std::vector<Tensor>& arguments) {
  SizeValues values;
  if (program.sizes.empty()) return values;
  const TensorType expected{DType::i64, {static_cast<std::int64_t>(program.sizes.size())}};
  if (arguments.empty() || arguments[0].type() != expected)
    return Error{"program '" + program.name + "': argument 0 is not the sizes, a tensor " + to_string(expected)};
  for (std::int64_t k = 0; k < arguments[0].size(); ++k) values.push_back(arguments[0].integer(k));
  if (const Status right = check_values(program.sizes, values); !right.ok())
    return Error{"program '" + program.name + "': " + right.error().message};
  return values;
}

Status check_arguments(const Program& program, const SizeValues& sizes, const std::vector<Tensor>& arguments) {
  for (const Buffer& b : program.buffers) {
    if (b.scope != Scope::argument) continue;
    if (b.argument < 0 || static_cast<std::size_t>(b.argument) >= arguments.size()) {
      return Error{"program '" + program.name + "': there is no argument " + std::to_string(b.argument) + " for '" +
                   b.name + "'"};
    }
    const Tensor& t = arguments[static_cast<std::size_t>(b.argument)];
    const Shape shape = shape_at(b, sizes);
    if (t.dtype() != b.dtype || t.size() != num_elements(shape)) {
      return Error{"program '" + program.name + "': the argument for '" + b.name + "' is " + to_string(t.type()) +
                   ", expected " + to_string(TensorType{b.dtype, shape})};
    }
  }
  return ok_status();
}

}  // namespace

Status interpret(const Program& program, std::vector<Tensor>& arguments, const InterpretOptions& options) {
  WHET_CHECK(options.workers >= 1);
  WHET_TRY(const SizeValues sizes, sizes_of(program, arguments));
  WHET_RETURN_IF_ERROR(check_arguments(program, sizes, arguments));
  if (has_launches(program)) return interpret_launches(program, arguments, options);
  return Interpreter(program, arguments, sizes, options.workers).run();
}

}  // namespace whet
