#pragma once

#include <string>
#include <vector>

#include "program/program.h"
#include "tensor/tensor.h"

namespace whet::testing {

/// Writes small programs of launches briefly. `b` and `t` are the indices of the block and of the thread.
struct LaunchSketch {
  Program p;
  Expr b, t;

  LaunchSketch();
  BufferId buffer(const std::string& name, Shape, Scope, DType = DType::f32);
  /// The next argument.
  BufferId argument(const std::string& name, Shape, bool written = false, DType = DType::f32);
  Expr index(const std::string& name) { return var(p.fresh_var(), name); }

  Expr read(BufferId, std::vector<Expr> index) const;
  /// `b` and `t` belong to one launch; another launch of the same program has indices of its own.
  Stmt launch(std::int64_t grid, std::int64_t threads, Stmt body) const;
  Program with(Stmt body) const;
};

Stmt store(BufferId, std::vector<Expr> index, Expr value);
/// The same store asynchronously, or of the value of thread t ^ cross.
Stmt async(const Stmt& store);
Stmt crossed(const Stmt& store, int cross);
Stmt barrier();
Stmt grid_barrier();
Stmt commit();
Stmt wait(int pending);
Stmt when(Expr condition, Stmt then_body, Stmt else_body = {});
Stmt loop(const Expr& index, Expr extent, Stmt body, LoopKind = LoopKind::serial);
Stmt let(const Expr& variable, Expr value, Stmt body);

}  // namespace whet::testing
