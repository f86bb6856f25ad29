#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "program/program.h"

namespace whet {

/// Writes small flat Programs by hand.
struct Builder {
  Program p;
  int arguments = 0;

  explicit Builder(std::string name = "k") { p.name = std::move(name); }

  BufferId input(std::int64_t n, DType dtype = DType::f32, std::string name = "x") {
    return p.add({std::move(name), dtype, {n}, Scope::argument, arguments++, false, false});
  }
  BufferId output(std::int64_t n, DType dtype = DType::f32, std::string name = "y") {
    return p.add({std::move(name), dtype, {n}, Scope::argument, arguments++, false, true});
  }
  BufferId scratch(Scope scope, std::int64_t n, DType dtype = DType::f32, std::string name = "t") {
    return p.add({std::move(name), dtype, {n}, scope, -1, false, true});
  }

  Expr at(BufferId b, Expr index) const { return load(p.buffer(b).dtype, SourceId(b.value), {std::move(index)}); }
  Expr at(BufferId b, std::int64_t index) const { return at(b, int_const(index)); }
  Expr masked(BufferId b, Expr index, Expr mask) const {
    const int lanes = index->lanes;
    return make_expr(p.buffer(b).dtype, lanes, Load{SourceId(b.value), {std::move(index)}, std::move(mask)});
  }
  static Stmt put(BufferId b, Expr index, Expr value, Expr mask = Expr()) {
    return make_stmt(Store{b, {std::move(index)}, std::move(value), std::move(mask)});
  }
  static Stmt put(BufferId b, std::int64_t index, Expr value) { return put(b, int_const(index), std::move(value)); }

  using Body = std::function<Stmt(Expr)>;
  Stmt loop(Expr min, Expr extent, const Body& body, LoopKind kind = LoopKind::serial) {
    const VarId v = p.fresh_var();
    const std::string name = "i" + std::to_string(v.value);
    return make_stmt(Loop{v, name, std::move(min), std::move(extent), kind, body(var(v, name))});
  }
  Stmt loop(std::int64_t extent, const Body& body, LoopKind kind = LoopKind::serial) {
    return loop(int_const(0), int_const(extent), body, kind);
  }
  Stmt parallel(std::int64_t extent, const Body& body) { return loop(extent, body, LoopKind::parallel); }
  Stmt let(Expr value, const Body& body) {
    const VarId v = p.fresh_var();
    const std::string name = "v" + std::to_string(v.value);
    Expr variable = make_expr(value->dtype, value->lanes, Var{v, name});
    return make_stmt(Let{v, name, std::move(value), body(std::move(variable))});
  }
  static Stmt when(Expr condition, Stmt then_body, Stmt else_body = Stmt()) {
    return make_stmt(If{std::move(condition), std::move(then_body), std::move(else_body)});
  }
};

inline Expr f32(double value, int lanes = 1) { return broadcast(float_const(value), lanes); }

}  // namespace whet
