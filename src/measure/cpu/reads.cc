#include "measure/cpu/reads.h"

#include <utility>
#include <vector>

namespace whet {
namespace {

constexpr std::int64_t kSums = 4;  // as the bandwidths of this machine are measured (machine/bandwidth.cc)

}  // namespace

std::int64_t read_step(const CpuTarget& cpu) { return kSums * cpu.lanes(4); }

Program read_program(const CpuTarget& cpu, std::int64_t floats, std::int64_t passes, std::int64_t threads) {
  const int lanes = cpu.lanes(4);
  const std::int64_t step = read_step(cpu);
  Program p;
  p.name = "reads";
  const BufferId data = p.add({"data", DType::f32, {threads * floats}, Scope::argument, 0, false, false});
  const BufferId sums = p.add({"sums", DType::f32, {threads * step}, Scope::argument, 1, false, true});
  const BufferId held = p.add({"held", DType::f32, {step}, Scope::registers, -1, false, true});
  const VarId thread = p.fresh_var(), pass = p.fresh_var(), at = p.fresh_var();
  const Expr own = var(thread, "thread"), place = var(at, "at");
  const auto vector = [&](const Expr& first) { return ramp(first, 1, lanes); };
  const auto read = [&](BufferId buffer, const Expr& first) {
    return load(DType::f32, SourceId(buffer.value), {vector(first)});
  };
  std::vector<Stmt> begin, add, end;
  for (std::int64_t sum = 0; sum < kSums; ++sum) {
    const Expr register_ = int_const(sum * lanes);
    begin.push_back(make_stmt(Store{held, {vector(register_)}, read(data, own * floats + sum * lanes), Expr()}));
    const Expr next = read(held, register_) + read(data, own * floats + place * step + sum * lanes);
    add.push_back(make_stmt(Store{held, {vector(register_)}, next, Expr()}));
    end.push_back(make_stmt(Store{sums, {vector(own * step + sum * lanes)}, read(held, register_), Expr()}));
  }
  Stmt sweep =
      make_stmt(Loop{at, "at", int_const(0), int_const(floats / step), LoopKind::serial, block(std::move(add))});
  Stmt sweeps = make_stmt(Loop{pass, "pass", int_const(0), int_const(passes), LoopKind::serial, std::move(sweep)});
  p.body = make_stmt(Loop{thread, "thread", int_const(0), int_const(threads), LoopKind::parallel,
                          block({block(std::move(begin)), std::move(sweeps), block(std::move(end))})});
  return p;
}

}  // namespace whet
