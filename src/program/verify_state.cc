#include "program/verify_state.h"

#include <algorithm>

namespace whet {

VerifyState::VerifyState(const Program& program, const VerifyOptions& options)
    : program(program),
      options(options),
      vars(static_cast<std::size_t>(std::max(program.vars, 0))),
      facts(size_ranges(program.sizes)) {}

void VerifyState::fail(std::string what, ErrorKind of) {
  if (failed()) return;
  error = std::move(what);
  kind = of;
}

std::string VerifyState::text(const Expr& e) const {
  return to_text(e, [&](SourceId id) { return known(id) ? buffer(id).name : "?"; });
}

bool VerifyState::known(SourceId id) const { return id.valid() && id.index() < program.buffers.size(); }

const Buffer& VerifyState::buffer(SourceId id) const { return program.buffer(BufferId(id.value)); }

void VerifyState::bind(VarId var, const std::string& name, DType dtype, int lanes) {
  if (!var.valid() || var.index() >= vars.size())
    return fail("'" + name + "' is variable " + std::to_string(var.value) + " of " + std::to_string(program.vars));
  const Life life = vars[var.index()].life;
  need(life == Life::unbound || (life == Life::ended && !options.bound_once),
       [&] { return "variable " + std::to_string(var.value) + " '" + name + "' is bound twice"; });
  vars[var.index()] = {Life::live, dtype, lanes};
}

void VerifyState::unbind(VarId var) {
  if (!failed()) vars[var.index()].life = Life::ended;
}

bool VerifyState::varies(const Expr& e) const {
  bool found = false;
  for_each(e, [&](const Expr& x) {
    const auto* v = std::get_if<Var>(&x->kind);
    found = found || std::holds_alternative<Load>(x->kind) || (v && v->id.valid() && vars[v->id.index()].varies);
  });
  return found;
}

Expr VerifyState::over_indices(const Expr& e) const {
  return substitute(e, [&](VarId id) { return id.valid() ? vars[id.index()].value : Expr(); });
}

}  // namespace whet
