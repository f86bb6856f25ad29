#include "program/statement_lines.h"

#include <algorithm>

namespace whet {

StatementLines::StatementLines(const Program& program) : program_(program) { number(program.body); }

void StatementLines::number(const Stmt& s) {
  if (!s.defined()) return;
  if (const auto* n = std::get_if<Block>(&s->kind)) {
    for (const Stmt& inner : n->body) number(inner);
    return;
  }
  statements_.push_back(s);
  lines_.emplace(&*s, static_cast<std::int32_t>(statements_.size()));
  if (const auto* n = std::get_if<Loop>(&s->kind)) number(n->body);
  if (const auto* n = std::get_if<Let>(&s->kind)) number(n->body);
  if (const auto* n = std::get_if<If>(&s->kind)) {
    number(n->then_body);
    if (n->else_body.defined()) statements_.emplace_back();
    number(n->else_body);
  }
}

std::string StatementLines::text_of(std::int32_t line) const {
  if (line == 0) return "the launch";
  const std::string text = to_text(program_, statements_[static_cast<std::size_t>(line) - 1]);
  return "line " + std::to_string(line) + " `" + text.substr(0, std::min<std::size_t>(text.find('\n'), 120)) + "`";
}

}  // namespace whet
