#include "program_text.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "compute/dag.h"

namespace whet::toy {
namespace {

struct Line {
  int number = 0;
  std::size_t depth = 0;
  std::string text;
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
    lines.push_back({number, blanks / 2, std::string(line.substr(blanks))});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool begins(const std::string& text, std::string_view word) { return text.rfind(word, 0) == 0; }

class Reader {
 public:
  explicit Reader(std::string_view text) : lines_(lines_of(text)) {}

  Result<Program> read() {
    if (lines_.empty() || !begins(lines_[0].text, "program ")) return Error{"line 1: expected \"program NAME\""};
    program_.name = lines_[0].text.substr(8);
    std::size_t at = 1;
    for (; at < lines_.size() && lines_[at].text != "run"; ++at) WHET_RETURN_IF_ERROR(buffer(lines_[at]));
    if (at == lines_.size()) return Error{"the text ends before \"run\""};
    ++at;
    WHET_TRY(program_.body, statements(at, 1));
    if (at < lines_.size()) return wrong(lines_[at]);
    return std::move(program_);
  }

 private:
  static Error wrong(const Line& line) {
    return Error{fmt::format("line {}: cannot be read: {}", line.number, line.text)};
  }

  /// SCOPE [POSITION] NAME: DTYPE[EXTENTS] [const] [written]
  Status buffer(const Line& line) {
    const std::size_t colon = line.text.find(": "), open = line.text.find('['), close = line.text.find(']');
    if (colon == std::string::npos || open == std::string::npos || close == std::string::npos) return wrong(line);
    Buffer b;
    b.name = fmt::format("b{}", program_.buffers.size());
    static const std::map<std::string, Scope> kScopes = {{"argument", Scope::argument},
                                                         {"workspace", Scope::workspace},
                                                         {"local", Scope::local},
                                                         {"registers", Scope::registers}};
    const std::string head = line.text.substr(0, colon);
    const auto scope = kScopes.find(head.substr(0, head.find(' ')));
    const auto dtype = parse_dtype(line.text.substr(colon + 2, open - colon - 2));
    if (scope == kScopes.end() || !dtype || head.substr(head.rfind(' ') + 1) != b.name) return wrong(line);
    b.scope = scope->second, b.dtype = *dtype;
    if (b.scope == Scope::argument) b.argument = std::atoi(head.c_str() + 9);
    for (std::size_t i = open + 1; i < close;) {
      const std::size_t end = std::min(line.text.find(", ", i), close);
      b.extents.push_back(std::atoll(line.text.c_str() + i));
      i = end + 2;
    }
    b.constant = line.text.find(" const", close) != std::string::npos;
    b.written = line.text.find(" written", close) != std::string::npos;
    program_.add(std::move(b));
    return ok_status();
  }

  Result<Stmt> statements(std::size_t& at, std::size_t depth) {
    std::vector<Stmt> body;
    while (at < lines_.size() && lines_[at].depth == depth && lines_[at].text != "else") {
      WHET_TRY(Stmt s, statement(at, depth));
      body.push_back(std::move(s));
    }
    return block(std::move(body));
  }

  Result<Stmt> statement(std::size_t& at, std::size_t depth) {
    const Line line = lines_[at++];
    if (line.text == "barrier") return make_stmt(Barrier{});
    if (begins(line.text, "for ") || begins(line.text, "parallel ")) return loop(line, at, depth);
    if (begins(line.text, "let ")) return let(line, at, depth);
    if (begins(line.text, "if ")) return condition(line, at, depth);
    if (begins(line.text, "prefetch ")) return prefetch(line);
    return store(line);
  }

  Result<Stmt> loop(const Line& line, std::size_t& at, std::size_t depth) {
    const std::size_t name = line.text.find(' ') + 1, in = line.text.find(" in "), dots = line.text.find(" .. ");
    if (in == std::string::npos || dots == std::string::npos) return wrong(line);
    Loop n;
    n.name = line.text.substr(name, in - name);
    n.kind = begins(line.text, "parallel ") ? LoopKind::parallel : LoopKind::serial;
    WHET_TRY(n.min, expression(line, line.text.substr(in + 4, dots - in - 4), DType::i64));
    WHET_TRY(const Expr end, expression(line, line.text.substr(dots + 4), DType::i64));
    n.extent = end - n.min;
    n.index = bind(n.name);
    WHET_TRY(n.body, statements(at, depth + 1));
    vars_.erase(n.name);
    return make_stmt(std::move(n));
  }

  Result<Stmt> let(const Line& line, std::size_t& at, std::size_t depth) {
    const std::size_t equals = line.text.find(" = ");
    if (equals == std::string::npos) return wrong(line);
    Let n;
    n.name = line.text.substr(4, equals - 4);
    WHET_TRY(n.value, expression(line, line.text.substr(equals + 3), DType::i64));
    n.var = bind(n.name);
    WHET_TRY(n.body, statements(at, depth));
    vars_.erase(n.name);
    return make_stmt(std::move(n));
  }

  Result<Stmt> condition(const Line& line, std::size_t& at, std::size_t depth) {
    If n;
    WHET_TRY(n.condition, expression(line, line.text.substr(3), DType::boolean));
    WHET_TRY(n.then_body, statements(at, depth + 1));
    if (at < lines_.size() && lines_[at].depth == depth && lines_[at].text == "else") {
      WHET_TRY(n.else_body, statements(++at, depth + 1));
    }
    return make_stmt(std::move(n));
  }

  /// bK[...] = VALUE
  Result<Stmt> store(const Line& line) {
    const std::size_t equals = line.text.find(" = ");
    if (equals == std::string::npos) return wrong(line);
    WHET_TRY(const Load to, place(line, line.text.substr(0, equals)));
    const BufferId buffer(to.source.value);
    WHET_TRY(Expr value, expression(line, line.text.substr(equals + 3), program_.buffer(buffer).dtype));
    return make_stmt(Store{buffer, to.index, std::move(value), Expr()});
  }

  Result<Stmt> prefetch(const Line& line) {
    WHET_TRY(const Load from, place(line, line.text.substr(9)));
    return make_stmt(Prefetch{BufferId(from.source.value), from.index});
  }

  /// bK[...], read as a load of that buffer.
  Result<Load> place(const Line& line, const std::string& text) {
    const auto k = static_cast<std::size_t>(text[0] == 'b' ? std::atoll(text.c_str() + 1) : -1);
    if (k >= program_.buffers.size()) return wrong(line);
    WHET_TRY(const Expr read, expression(line, text, program_.buffers[k].dtype));
    const Load* load = std::get_if<Load>(&read->kind);
    return load != nullptr ? Result<Load>(*load) : wrong(line);
  }

  VarId bind(const std::string& name) { return vars_[name] = program_.fresh_var(); }

  /// An expression is written as in the notation of DAGs, so it is read as the body of an op whose placeholders are the
  /// buffers and whose axes are the variables in scope.
  Result<Expr> expression(const Line& line, const std::string& text, DType dtype) const {
    std::string dag, axes, ranges;
    for (const Buffer& b : program_.buffers) {
      std::string shape;
      for (const std::int64_t extent : b.extents) shape += fmt::format("{}{}", shape.empty() ? "" : ", ", extent);
      dag += fmt::format("{} = PLACEHOLDER [{}] {}\n", b.name, shape, name_of(b.dtype));
    }
    std::vector<Expr> variables;
    for (const auto& [name, id] : vars_) {
      axes += (axes.empty() ? "" : ", ") + name;
      ranges += fmt::format("{}{} in 1", ranges.empty() ? "" : ", ", name);
      variables.push_back(var(id, name));
    }
    if (variables.empty()) axes = "none", ranges = "none in 1";
    dag += fmt::format("value({}): {} = {} for {}\nreturn value\n", axes, name_of(dtype), text, ranges);
    const Result<ComputeDag> parsed = parse_dag(dag);
    if (!parsed.ok()) return Error{fmt::format("line {}: {}: {}", line.number, line.text, parsed.error().message)};
    return substitute(parsed->ops.back().element().body,
                      [&](VarId v) { return variables[static_cast<std::size_t>(v.value)]; });
  }

  std::vector<Line> lines_;
  Program program_;
  std::map<std::string, VarId> vars_;
};

}  // namespace

std::string write_program(const Program& program) {
  Program named = program;
  for (std::size_t k = 0; k < named.buffers.size(); ++k) named.buffers[k].name = fmt::format("b{}", k);
  std::map<VarId, std::string> names;  // numbered in the order in which they are bound
  const auto number = [&](VarId v) { names.emplace(v, fmt::format("v{}", names.size())); };
  for_each(
      named.body,
      [&](const Stmt& s) {
        if (const Loop* loop = std::get_if<Loop>(&s->kind)) number(loop->index);
        if (const Let* let = std::get_if<Let>(&s->kind)) number(let->var);
      },
      nullptr);
  const auto rename = [&](const Expr& e) { return substitute(e, [&](VarId v) { return var(v, names.at(v)); }); };
  const std::function<Stmt(const Stmt&)> statement = [&](const Stmt& s) -> Stmt {
    const auto renamed = [&](auto out, std::string name) -> Stmt {
      if (out.name == name) return Stmt();  // go inside
      out.name = std::move(name);
      return rewrite(make_stmt(std::move(out)), statement, rename);
    };
    if (const Loop* loop = std::get_if<Loop>(&s->kind)) return renamed(*loop, names.at(loop->index));
    if (const Let* let = std::get_if<Let>(&s->kind)) return renamed(*let, names.at(let->var));
    return Stmt();
  };
  named.body = rewrite(named.body, statement, rename);
  return to_text(named);
}

Result<Program> read_program(std::string_view text) { return Reader(text).read(); }

}  // namespace whet::toy
