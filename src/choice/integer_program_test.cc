#include "choice/integer_program.h"

#include <gtest/gtest.h>

#include <csignal>

#include "choice/narrow.h"

namespace whet {
namespace {

/// Of each two neighbours on a circle of `count`, one is chosen: (count + 1) / 2 of them, and half of each where they need not be whole.
IntegerProgram cover_of_circle(int count) {
  IntegerProgram program;
  for (int i = 0; i < count; ++i) {
    program.columns.push_back({1.0 + i * 0.01, 0, 1, true});
    program.rows.push_back({{i, (i + 1) % count}, {1, 1}, 1});
  }
  return program;
}

double cost_of_columns(const IntegerProgram& program, const std::vector<double>& columns) {
  double cost = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) cost += program.columns[i].cost * columns[i];
  return cost;
}

TEST(IntegerProgram, IsSolvedWhereTheLinearProgramIsNotWhole) {
  const IntegerProgram program = cover_of_circle(5);
  LinearSolver solver(program);
  const LinearSolution linear = solver.solve(program);
  EXPECT_NEAR(linear.cost, 2.55, 1e-9);
  EXPECT_FALSE(linear.is_whole());
  const IntegerSolution solution = solve_integer_program(program, {}, 10);
  EXPECT_TRUE(solution.finished);
  EXPECT_EQ(solution.columns, std::vector<double>({1, 1, 0, 1, 0}));
  EXPECT_NEAR(cost_of_columns(program, solution.columns), 3.04, 1e-9);
}

TEST(IntegerProgram, OfALinearSolverMayGrow) {
  IntegerProgram program = cover_of_circle(5);
  LinearSolver solver(program);
  (void)solver.solve(program);
  program.rows.push_back({{0, 1, 2, 3, 4}, {1, 1, 1, 1, 1}, 3});
  EXPECT_NEAR(solver.solve(program).cost, 3.04, 1e-9);
  program.rows.push_back({{0, 1}, {-1, -1}, 0});
  const LinearSolution none = solver.solve(program);
  EXPECT_TRUE(none.solved);
  EXPECT_FALSE(none.feasible);
}

TEST(IntegerProgram, WithoutSolutionHasNoColumns) {
  IntegerProgram program = cover_of_circle(5);
  program.rows.push_back({{0, 1, 2, 3, 4}, {-1, -1, -1, -1, -1}, -2});
  const IntegerSolution solution = solve_integer_program(program, {}, 10);
  EXPECT_TRUE(solution.finished);
  EXPECT_TRUE(solution.columns.empty());
}

TEST(IntegerProgram, IsSolvedInSilenceAndLeavesTheHandlerOfInterruptsAlone) {
  const auto handler = [](int) {};
  std::signal(SIGINT, handler);
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const IntegerProgram program = cover_of_circle(31);
  const IntegerSolution first = solve_integer_program(program, {}, 10);
  const IntegerSolution second = solve_integer_program(program, first.columns, 10);
  EXPECT_EQ(::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(std::signal(SIGINT, SIG_DFL), +handler);
  EXPECT_EQ(first.columns, second.columns);
}

TEST(IntegerProgram, IsSolvedOnAPartOfItsColumnsWhereThatIsEnough) {
  const IntegerProgram program = cover_of_circle(5);
  // Extra costs that are right: the best solution without column 1 costs 3.05, with columns 0, 2 and 4 or 0, 2 and 3.
  const IntegerSolution all = solve_narrowly(program, 2.55, {}, {}, 10);
  EXPECT_EQ(all.columns, std::vector<double>({1, 1, 0, 1, 0}));
  // Column 1 is left out at first, the others have no solution within the margin, and then it is there.
  const IntegerSolution narrow = solve_narrowly(program, 2.55, {0, 0.49, 0, 0, 0}, {}, 10);
  EXPECT_NEAR(cost_of_columns(program, narrow.columns), 3.04, 1e-9);
  // A column that costs too much never comes back.
  const IntegerSolution without = solve_narrowly(program, 2.55, {0, 0, 0, 0, 9}, {1, 1, 0, 1, 0}, 10);
  EXPECT_NEAR(cost_of_columns(program, without.columns), 3.04, 1e-9);
}

}  // namespace
}  // namespace whet
