#include "import_torch/script_parse.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/nearest.h"
#include "import_torch/script_lex.h"

namespace whet::torch {
namespace {

using Token = ScriptToken;
using TokenIs = ScriptToken::Kind;
using Expression = ScriptExpression;
using Is = ScriptExpression::Kind;
using Statement = ScriptStatement;

constexpr int kDeepest = 100;  ///< of expressions in expressions and blocks in blocks

/// The names that expressions and statements read.
void collect_reads(const Expression& expression, std::set<std::string>& names) {
  if (expression.kind == Is::name) names.insert(expression.text);
  for (const Expression& each : expression.items) collect_reads(each, names);
  for (const auto& [keyword, each] : expression.keywords) collect_reads(each, names);
}
void collect_reads(const std::vector<Statement>& body, std::set<std::string>& names) {
  for (const Statement& each : body) {
    collect_reads(each.value, names);
    for (const Expression& target : each.targets)
      if (target.kind != Is::name) collect_reads(target, names);
    collect_reads(each.body, names);
    collect_reads(each.otherwise, names);
  }
}

/// A place in the tokens of a file; errors name its line.
class TokenCursor {
 public:
  TokenCursor(std::vector<Token> tokens, const std::string& what) : tokens_(std::move(tokens)), what_(what) {}

 protected:
  const Token& token() const { return tokens_[at_]; }
  bool at(TokenIs kind) const { return token().kind == kind; }
  bool at(std::string_view symbol) const { return at(TokenIs::symbol) && token().text == symbol; }
  bool at_word(std::string_view word) const { return at(TokenIs::name) && token().text == word; }
  void advance() {
    if (!at(TokenIs::end)) ++at_;
  }
  bool accept(TokenIs kind) { return at(kind) && (advance(), true); }
  bool accept(std::string_view symbol) { return at(symbol) && (advance(), true); }
  bool accept_word(std::string_view word) { return at_word(word) && (advance(), true); }
  Error fault(const std::string& expected) const {
    const std::string found = at(TokenIs::end)        ? "its end"
                              : at(TokenIs::line_end) ? "the end of the line"
                              : at(TokenIs::indent)   ? "an indentation"
                              : at(TokenIs::dedent)   ? "the end of a block"
                                                      : in_quotes(token().text.substr(0, 40));
    return Error{what_ + ": line " + std::to_string(token().line) + ": found " + found + "; expected " + expected};
  }
  Status expect(std::string_view symbol) { return accept(symbol) ? ok_status() : Status(fault(in_quotes(symbol))); }
  Status expect_line_end() { return accept(TokenIs::line_end) ? ok_status() : Status(fault("the end of the line")); }
  Result<std::string> name() {
    if (!at(TokenIs::name)) return fault("a name");
    std::string text = token().text;
    advance();
    return text;
  }

  std::vector<Token> tokens_;
  const std::string& what_;
  std::size_t at_ = 0;
};

/// Reads an expression at the place, and goes behind it.
class ExpressionParser : protected TokenCursor {
 public:
  using TokenCursor::TokenCursor;

 protected:
  /// One, or a tuple without parentheses.
  Result<Expression> expressions() {
    WHET_TRY(Expression first, expression());
    if (!at(",")) return first;
    Expression tuple;
    tuple.kind = Is::tuple;
    tuple.items.push_back(std::move(first));
    while (accept(",")) {
      if (at("=") || at(TokenIs::line_end)) break;
      WHET_TRY(Expression next, expression());
      tuple.items.push_back(std::move(next));
    }
    return tuple;
  }
  Result<Expression> expression() {
    if (++depth_ > kDeepest) return fault("expressions that are nested less deep");
    Result<Expression> made = negated();
    --depth_;
    return made;
  }
  /// A type as text; it is compared with few.
  Result<std::string> type_text() {
    const std::size_t begin = at_;
    WHET_TRY(const Expression type, expression());
    std::string text;
    for (std::size_t i = begin; i < at_; ++i) text += tokens_[i].text;
    return text;
  }

  int depth_ = 0;

 private:
  Result<Expression> negated() {
    if (!accept("-")) return postfixed();
    Expression made;
    made.kind = Is::negative;
    // The least integer has no positive twin.
    if (at(TokenIs::integer) && token().text == "9223372036854775808") {
      advance();
      made.kind = Is::integer;
      made.integer = std::numeric_limits<std::int64_t>::min();
      return made;
    }
    WHET_TRY(Expression inner, expression());
    made.items.push_back(std::move(inner));
    return made;
  }
  Result<Expression> postfixed() {
    WHET_TRY(Expression made, primary());
    for (int count = 0;; ++count) {
      if (count > kDeepest) return fault("fewer calls of one value");
      Expression outer;
      if (accept(".")) {
        outer.kind = Is::attribute;
        WHET_TRY(outer.text, name());
        outer.items.push_back(std::move(made));
      } else if (accept("(")) {
        outer.kind = Is::call;
        outer.items.push_back(std::move(made));
        WHET_RETURN_IF_ERROR(call_arguments(outer));
      } else if (accept("[")) {
        outer.kind = Is::subscript;
        outer.items.push_back(std::move(made));
        WHET_TRY(Expression place, until("]", Is::tuple));
        // One without a comma is no tuple.
        outer.items.push_back(single_or_tuple(std::move(place)));
      } else {
        return made;
      }
      made = std::move(outer);
    }
  }
  Status call_arguments(Expression& call) {
    while (!accept(")")) {
      if (at(TokenIs::name) && tokens_[at_ + 1].kind == TokenIs::symbol && tokens_[at_ + 1].text == "=") {
        const std::string keyword = token().text;
        advance();
        advance();
        WHET_TRY(Expression value, expression());
        call.keywords.emplace_back(keyword, std::move(value));
      } else {
        WHET_TRY(Expression value, expression());
        call.items.push_back(std::move(value));
      }
      if (!at(")")) WHET_RETURN_IF_ERROR(expect(","));
    }
    return ok_status();
  }
  Result<Expression> until(std::string_view close, Is kind) {
    Expression made;
    made.kind = kind;
    while (!accept(close)) {
      WHET_TRY(Expression item, expression());
      made.items.push_back(std::move(item));
      if (kind == Is::dictionary) {
        WHET_RETURN_IF_ERROR(expect(":"));
        WHET_TRY(Expression value, expression());
        made.items.push_back(std::move(value));
      }
      if (!at(close)) WHET_RETURN_IF_ERROR(expect(","));
    }
    return made;
  }
  /// The content of brackets that were just closed: one without a comma behind it is no tuple.
  Expression single_or_tuple(Expression tuple) const {
    const Token& before = tokens_[at_ - 2];
    if (tuple.items.size() != 1 || (before.kind == TokenIs::symbol && before.text == ",")) return tuple;
    Expression inner = std::move(tuple.items[0]);
    return inner;
  }
  Result<Expression> primary() {
    Expression made;
    const std::string text = token().text;
    if (accept(TokenIs::integer)) {
      made.kind = Is::integer;
      const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), made.integer);
      if (code != std::errc()) return fault("an integer of 64 bits before this");
      return made;
    }
    if (accept(TokenIs::number)) {
      made.kind = Is::number;
      std::from_chars(text.data(), text.data() + text.size(), made.number);
      return made;
    }
    if (accept(TokenIs::text)) {
      made.kind = Is::text;
      made.text = text;
      return made;
    }
    if (accept("(")) {
      WHET_TRY(made, until(")", Is::tuple));
      return single_or_tuple(std::move(made));
    }
    if (accept("[")) return until("]", Is::list);
    if (accept("{")) return until("}", Is::dictionary);
    if (!at(TokenIs::name)) return fault("an expression");
    advance();
    made.text = text;
    made.kind = text == "None" ? Is::none : text == "True" || text == "False" ? Is::boolean : Is::name;
    made.integer = text == "True" ? 1 : 0;
    return made;
  }
};

/// Reads a file: classes and functions, their statements, and the expressions in these.
class ScriptParser : ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Result<ScriptSource> run() {
    ScriptSource source;
    while (!at(TokenIs::end)) {
      if (accept(TokenIs::line_end)) continue;
      WHET_RETURN_IF_ERROR(part(source));
    }
    return source;
  }

 private:
  // ---- Classes and functions.
  Status part(ScriptSource& source) {
    if (accept_word("class")) {
      WHET_TRY(ScriptClass type, class_body());
      source.classes.insert_or_assign(type.name, std::move(type));
      return ok_status();
    }
    if (accept_word("def")) {
      WHET_TRY(ScriptFunction made, function());
      source.functions.insert_or_assign(made.name, std::move(made));
      return ok_status();
    }
    // Older files begin with "op_version_set = 1" and imports of other files.
    if (!at_word("import") && !at_word("op_version_set")) return fault("a class or a function");
    while (!at(TokenIs::line_end) && !at(TokenIs::end)) advance();
    return ok_status();
  }
  Result<ScriptClass> class_body() {
    ScriptClass type;
    WHET_TRY(type.name, name());
    if (accept("(")) {
      WHET_TRY(const Expression base, expression());
      type.base = base.text;
      WHET_RETURN_IF_ERROR(expect(")"));
    }
    WHET_RETURN_IF_ERROR(expect(":"));
    WHET_RETURN_IF_ERROR(expect_line_end());
    if (!accept(TokenIs::indent)) return fault("an indentation");
    while (!accept(TokenIs::dedent)) {
      if (at(TokenIs::end)) return fault("the rest of a class");
      if (accept(TokenIs::line_end)) continue;
      if (accept_word("def")) {
        WHET_TRY(ScriptFunction method, function());
        type.methods.insert_or_assign(method.name, std::move(method));
      } else {
        WHET_RETURN_IF_ERROR(field(type));
      }
    }
    return type;
  }
  /// "weight : Tensor", "in_features : Final[int] = 8", "__buffers__ = [...]", '__annotations__["0"] = T', "pass".
  Status field(ScriptClass& type) {
    if (accept_word("pass")) return expect_line_end();
    WHET_TRY(const Expression target, expression());
    std::string said;
    if (accept(":")) {
      WHET_TRY(said, type_text());
    }
    if (accept("=")) {
      WHET_TRY(const Expression value, expression());
      if (target.text == "__buffers__")
        for (const Expression& each : value.items) type.buffers.push_back(each.text);
    }
    if (target.kind == Is::name && !said.empty()) type.fields.emplace_back(target.text, said);
    return expect_line_end();
  }
  Result<ScriptFunction> function() {
    ScriptFunction made;
    WHET_TRY(made.name, name());
    WHET_RETURN_IF_ERROR(expect("("));
    while (!accept(")")) {
      ScriptParameter parameter;
      WHET_TRY(parameter.name, name());
      if (accept(":")) {
        WHET_TRY(parameter.type, type_text());
      }
      if (accept("=")) {
        parameter.has_default = true;
        WHET_TRY(parameter.usual, expression());
      }
      made.parameters.push_back(std::move(parameter));
      if (!at(")")) WHET_RETURN_IF_ERROR(expect(","));
    }
    if (accept("->")) {
      WHET_TRY(const Expression result, expression());
    }
    WHET_TRY(made.body, block());
    collect_reads(made.body, made.read);
    return made;
  }

  // ---- Statements.
  Result<std::vector<Statement>> block() {
    WHET_RETURN_IF_ERROR(expect(":"));
    WHET_RETURN_IF_ERROR(expect_line_end());
    if (!accept(TokenIs::indent)) return fault("an indentation");
    if (++depth_ > kDeepest) return fault("blocks that are nested less deep");
    std::vector<Statement> body;
    while (!accept(TokenIs::dedent)) {
      if (at(TokenIs::end)) return fault("the rest of a block");
      if (accept(TokenIs::line_end)) continue;
      if (accept_word("pass")) continue;
      WHET_TRY(Statement each, statement());
      body.push_back(std::move(each));
    }
    --depth_;
    return body;
  }
  Result<Statement> statement() {
    Statement made;
    made.line = token().line;
    if (accept_word("return")) {
      made.kind = Statement::Kind::give;
      if (!at(TokenIs::line_end)) {
        WHET_TRY(made.value, expressions());
      }
      WHET_RETURN_IF_ERROR(expect_line_end());
      return made;
    }
    if (accept_word("if")) return choice(std::move(made));
    if (accept_word("for")) {
      made.kind = Statement::Kind::count;
      WHET_TRY(Expression counter, expression());
      made.targets.push_back(std::move(counter));
      if (!accept_word("in")) return fault("\"in\"");
      WHET_TRY(made.value, expression());
      WHET_TRY(made.body, block());
      return made;
    }
    if (accept_word("while")) {
      made.kind = Statement::Kind::repeat;
      WHET_TRY(made.value, expression());
      WHET_TRY(made.body, block());
      return made;
    }
    if (at_word("with") || at_word("try") || at_word("def")) return fault("an assignment, if, for, while or return");
    return assignment(std::move(made));
  }
  Result<Statement> choice(Statement made) {
    made.kind = Statement::Kind::choose;
    WHET_TRY(made.value, expression());
    WHET_TRY(made.body, block());
    if (accept_word("else")) {
      WHET_TRY(made.otherwise, block());
    }
    return made;
  }
  Result<Statement> assignment(Statement made) {
    WHET_TRY(Expression left, expressions());
    if (at(":")) {  // a type: "x : int = 1"
      advance();
      if (const auto type = type_text(); !type.ok()) return type.error();
    }
    if (accept("=")) {
      made.kind = Statement::Kind::assign;
      made.unpacks = left.kind == Is::tuple;
      if (made.unpacks) {
        made.targets = std::move(left.items);
      } else {
        made.targets.push_back(std::move(left));
      }
      WHET_TRY(left, expressions());
    }
    made.value = std::move(left);
    WHET_RETURN_IF_ERROR(expect_line_end());
    return made;
  }
};

}  // namespace

Result<ScriptSource> parse_script(std::string_view text, const std::string& what) {
  WHET_TRY(std::vector<Token> tokens, script_tokens(text, what));
  return ScriptParser(std::move(tokens), what).run();
}

}  // namespace whet::torch
