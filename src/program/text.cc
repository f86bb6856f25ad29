#include <map>
#include <set>

#include "compute/affine.h"
#include "compute/dag.h"
#include "program/program.h"

namespace whet {
namespace {

std::string_view word_of(Scope scope) {
  switch (scope) {
    case Scope::argument:
      return "argument";
    case Scope::workspace:
      return "workspace";
    case Scope::block:
      return "block";
    case Scope::local:
      return "local";
    case Scope::registers:
      return "registers";
  }
  return "";
}

class ProgramPrinter {
 public:
  explicit ProgramPrinter(const Program& program) : program_(program) {
    for (const SizeRange& size : program.sizes) taken_.insert(size.name);
    style_.source = [this](SourceId id) { return program_.buffer(BufferId(id.value)).name; };
    style_.var = [this](const Var& v) {
      const auto found = names_.find(v.id);
      return found == names_.end() ? v.name : found->second;
    };
  }

  std::string sizes() const {
    std::string text;
    for (const SizeRange& size : program_.sizes) text += "size " + size.name + " " + to_text(size) + "\n";
    return text;
  }

  std::string buffers() const {
    std::string text;
    for (const Buffer& b : program_.buffers) {
      text += std::string(word_of(b.scope)) + (b.scope == Scope::argument ? " " + std::to_string(b.argument) : "") +
              " " + b.name + ": " + std::string(name_of(b.dtype)) + "[";
      for (std::size_t d = 0; d < b.extents.size(); ++d) text += (d ? ", " : "") + this->text(extent_of(b, d));
      text += std::string("]") + (b.constant ? " const" : "") + (b.written ? " written" : "") +
              (b.gaps ? " with gaps" : "") + (b.quad ? " of four lanes" : "") +
              (b.swizzle > 0 ? " swizzled " + std::to_string(b.swizzle) : "") + "\n";
    }
    return text;
  }

  void print(const Stmt& s, int depth) {
    if (!s.defined()) return;
    std::visit(
        Match{
            [&](const Loop& n) { loop(n, depth); },
            [&](const Let& n) {
              const std::string value = text(n.value);
              const Naming naming(*this, n.var, n.name);
              line(depth, "let " + names_[n.var] + " = " + value);
              print(n.body, depth);
            },
            [&](const Store& n) { store(n, depth); },
            [&](const If& n) {
              line(depth, "if " + text(n.condition));
              print(n.then_body, depth + 1);
              if (!n.else_body.defined()) return;
              line(depth, "else");
              print(n.else_body, depth + 1);
            },
            [&](const Block& n) {
              for (const Stmt& inner : n.body) print(inner, depth);
            },
            [&](const Barrier& n) { line(depth, n.reach == Barrier::Reach::grid ? "barrier" : "barrier block"); },
            [&](const CopyGroup& n) {
              const bool commit = n.kind == CopyGroup::Kind::commit;
              line(depth, commit ? "commit" : "wait " + std::to_string(n.pending));
            },
            [&](const Prefetch& n) { line(depth, "prefetch " + place(n.buffer, n.index)); },
        },
        s->kind);
  }

  std::string take() { return std::move(out_); }

 private:
  /// A name for a variable while its body is printed: its own, with a number behind it where an enclosing one has it
  /// already.
  struct Naming {
    Naming(ProgramPrinter& printer, VarId var, const std::string& name) : printer(printer), var(var) {
      unique = name;
      for (int k = 1; !printer.taken_.insert(unique).second; ++k) unique = name + "_" + std::to_string(k);
      printer.names_[var] = unique;
    }
    ~Naming() { printer.taken_.erase(unique); }
    Naming(const Naming&) = delete;
    Naming& operator=(const Naming&) = delete;
    ProgramPrinter& printer;
    VarId var;
    std::string unique;
  };

  std::string text(const Expr& e) const { return to_text(e, style_); }

  void line(int depth, const std::string& words) {
    out_ += std::string(static_cast<std::size_t>(depth) * 2, ' ') + words + "\n";
  }

  void loop(const Loop& n, int depth) {
    const std::string begin = text(n.min), end = text(to_expr(add(to_affine(n.min), to_affine(n.extent))));
    const Naming naming(*this, n.index, n.name);
    line(depth, std::string(word_of(n.kind)) + " " + names_[n.index] + " in " + begin + " .. " + end +
                    (n.intrinsic == Intrinsic::none ? "" : "  # " + std::string(name_of(n.intrinsic))) +
                    (n.min_blocks == 0 ? "" : "  # min_blocks " + std::to_string(n.min_blocks)));
    print(n.body, depth + 1);
  }

  std::string place(BufferId buffer, const std::vector<Expr>& index) const {
    std::string words = program_.buffer(buffer).name + "[";
    for (std::size_t d = 0; d < index.size(); ++d) words += (d ? ", " : "") + text(index[d]);
    return words + "]";
  }

  void store(const Store& n, int depth) {
    std::string words = place(n.buffer, n.index) + " = " + text(n.value);
    if (n.mask.defined()) words += " where " + text(n.mask);
    if (n.async) words += "  # async";
    if (n.cross != 0) words += "  # of thread ^ " + std::to_string(n.cross);
    line(depth, words);
  }

  const Program& program_;
  ExprStyle style_;
  std::map<VarId, std::string> names_;
  std::set<std::string> taken_;
  std::string out_;
};

}  // namespace

std::string_view word_of(LoopKind kind) {
  switch (kind) {
    case LoopKind::serial:
      return "for";
    case LoopKind::parallel:
      return "parallel";
    case LoopKind::vectorized:
      return "vector";
    case LoopKind::unrolled:
      return "unroll";
    case LoopKind::block:
      return "block";
    case LoopKind::thread:
      return "thread";
    case LoopKind::virtual_thread:
      return "virtual";
    case LoopKind::warp:
      return "warp";
  }
  return "";
}

std::string to_text(const Program& program) {
  ProgramPrinter printer(program);
  printer.print(program.body, 1);
  return "program " + program.name + "\n" + printer.sizes() + printer.buffers() + "run\n" + printer.take();
}

std::string to_text(const Program& program, const Stmt& s) {
  ProgramPrinter printer(program);
  printer.print(s, 0);
  return printer.take();
}

}  // namespace whet
