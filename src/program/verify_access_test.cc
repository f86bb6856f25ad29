#include "program/verify_access.h"

#include <gtest/gtest.h>

namespace whet {
namespace {

/// The rules at a statement of a program that has in[24] and the loop index i, which is 0 to 5 there.
struct AtAStatement {
  Program program;
  VerifyOptions options;
  SourceId in;
  Expr i;

  AtAStatement() {
    in = SourceId(program.add({"in", DType::f32, {24}, Scope::argument, 0, false, false}).value);
    i = var(program.fresh_var(), "i");
  }
  /// The fault, and the facts that the rules leave behind are those that they found.
  std::string fault(const Expr& e) const {
    VerifyState state(program, options);
    const VarId index = std::get<Var>(i->kind).id;
    state.bind(index, "i", DType::i64, 1);
    state.facts.bind(index, Interval{0, 5});
    const auto mark = state.facts.mark();
    AccessRules(state).expr(e);
    EXPECT_EQ(state.facts.mark().facts, mark.facts);
    return state.error;
  }
  Expr read(const Expr& at) const { return load(DType::f32, in, {at}); }
};

TEST(AccessRules, ProveReadsByTheFactsOfTheStatement) {
  const AtAStatement here;
  EXPECT_EQ(here.fault(here.read(here.i * 4 + 3)), "");
  EXPECT_EQ(here.fault(here.read(here.i * 5)),
            "load from 'in' at index (i*5), which is not proven to be inside 0 .. 24");
}

TEST(AccessRules, ProveEachSideOfASelectByItsCondition) {
  const AtAStatement here;
  const Expr safe = here.i < int_const(5), far = here.read(here.i * 5), zero = float_const(0);
  EXPECT_EQ(here.fault(select(safe, far, zero)), "");
  EXPECT_NE(here.fault(select(safe, zero, far)), "");
}

TEST(AccessRules, NeedDivisorsOfIndicesOtherThanZero) {
  const AtAStatement here;
  EXPECT_EQ(here.fault(floordiv(int_const(24), here.i + 1)), "");
  EXPECT_EQ(here.fault(floordiv(int_const(24), here.i)),
            "the divisor is not proven to be other than 0 in floordiv(24, i)");
}

TEST(AccessRules, ProveNothingWhereTheyAreTold) {
  AtAStatement here;
  here.options.proofs = false;
  EXPECT_EQ(here.fault(here.read(here.i * 5)), "");
  EXPECT_EQ(here.fault(floordiv(int_const(24), here.i)), "");
}

}  // namespace
}  // namespace whet
