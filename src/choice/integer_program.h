#pragma once

#include <cstddef>
#include <vector>

namespace whet {

/// Minimise the sum of cost * column under rows; columns lie within 0 .. 1.
struct IntegerProgram {
  struct Column {
    double cost = 0, least = 0, most = 1;
    bool whole = false;  ///< 0 or 1
  };
  /// The sum of factor * column is at least `least`.
  struct Row {
    std::vector<int> columns;
    std::vector<double> factors;
    double least = 0;

    void add(int column, double factor) { columns.push_back(column), factors.push_back(factor); }
  };
  std::vector<Column> columns;
  std::vector<Row> rows;
};

struct LinearSolution {
  bool solved = false;
  bool feasible = false;
  double cost = 0;              ///< no solution of the program costs less
  std::vector<double> columns;  ///< empty unless it is solved and feasible
  std::vector<double>
      reduced;  ///< the least extra cost of a solution in which this column is 1, where it is 0 here; else 0

  bool is_whole() const;  ///< each column is 0 or 1
};

struct IntegerSolution {
  std::vector<double> columns;  ///< the best ones that were found; empty where none were
  double bound = 0;             ///< no solution costs less
  bool finished = false;        ///< these are the best ones, or there are none
};

/// Solves a program without the demand that columns are whole, by Clp.
class LinearSolver {
 public:
  explicit LinearSolver(const IntegerProgram&);
  ~LinearSolver();
  LinearSolver(const LinearSolver&) = delete;
  LinearSolver& operator=(const LinearSolver&) = delete;

  /// For all calls of `solve` that follow.
  void limit(double seconds);

  /// `program` is the constructor's, perhaps with more rows. The solver starts from its last solution.
  LinearSolution solve(const IntegerProgram& program);

 private:
  void add_rows(const IntegerProgram& program);

  void* model_;
  std::size_t rows_;
  bool started_ = false;
};

/// Solves by CBC. `start` has the first columns of a known solution, or is empty. With a gap, a solution is good enough whose cost is at
/// most the least one divided by (1 - gap).
/// Both solvers run in one thread, without output; a run that ends before its limit gives the same answer each time.
IntegerSolution solve_integer_program(const IntegerProgram&, const std::vector<double>& start, double seconds,
                                      double gap = 0);

}  // namespace whet
