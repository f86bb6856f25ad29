#include "lower/cpu/unbind.h"

#include "lower/copy_groups.h"

namespace whet {
namespace {

bool is_bound(const Stmt& s) {
  const Loop* loop = std::get_if<Loop>(&s->kind);
  return loop && loop->kind > LoopKind::unrolled;
}

Stmt unbound(const Stmt& s) {
  return rewrite(
      s,
      [](const Stmt& part) -> Stmt {
        if (!is_bound(part)) return Stmt();
        Loop serial = std::get<Loop>(part->kind);
        serial.kind = LoopKind::serial, serial.body = unbound(serial.body);
        return make_stmt(std::move(serial));
      },
      nullptr);
}

}  // namespace

Result<Program> unbind_loops(Program program) {
  bool any = false;
  for_each(program.body, [&](const Stmt& s) { any = any || is_bound(s); }, nullptr);
  if (any) program.body = without_copy_groups(unbound(program.body));
  for (Buffer& buffer : program.buffers)
    if (buffer.scope == Scope::block) buffer.scope = Scope::local;
  return program;
}

}  // namespace whet
