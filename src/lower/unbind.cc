#include "lower/unbind.h"

namespace whet {
namespace {

Stmt unbound(const Stmt& s) {
  return rewrite(
      s,
      [](const Stmt& part) -> Stmt {
        const Loop* loop = std::get_if<Loop>(&part->kind);
        if (!loop || loop->kind <= LoopKind::unrolled) return Stmt();
        Loop serial = *loop;
        serial.kind = LoopKind::serial, serial.body = unbound(loop->body);
        return make_stmt(std::move(serial));
      },
      nullptr);
}

}  // namespace

Result<Program> unbind_loops(Program program, const Target&) {
  program.body = unbound(program.body);
  return program;
}

}  // namespace whet
