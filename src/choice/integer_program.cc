#include "choice/integer_program.h"

#include <coin/Cbc_C_Interface.h>
#include <coin/Clp_C_Interface.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

namespace whet {
namespace {

/// A program as CBC and Clp take it: its matrix by columns.
struct ColumnMatrix {
  std::vector<CoinBigIndex> starts;
  std::vector<int> rows;
  std::vector<double> factors, least, most, costs, row_least;

  int count() const { return static_cast<int>(costs.size()); }
  int row_count() const { return static_cast<int>(row_least.size()); }
};

ColumnMatrix by_columns(const IntegerProgram& program) {
  ColumnMatrix matrix;
  for (const auto& column : program.columns) {
    matrix.least.push_back(column.least), matrix.most.push_back(column.most), matrix.costs.push_back(column.cost);
  }
  matrix.starts.assign(program.columns.size() + 1, 0);
  for (const auto& row : program.rows) {
    matrix.row_least.push_back(row.least);
    for (int column : row.columns) ++matrix.starts[column + 1];
  }
  for (std::size_t column = 0; column < program.columns.size(); ++column)
    matrix.starts[column + 1] += matrix.starts[column];
  matrix.rows.resize(matrix.starts.back());
  matrix.factors.resize(matrix.starts.back());
  std::vector<CoinBigIndex> next(matrix.starts.begin(), matrix.starts.end() - 1);
  for (std::size_t row = 0; row < program.rows.size(); ++row) {
    for (std::size_t i = 0; i < program.rows[row].columns.size(); ++i) {
      const CoinBigIndex at = next[program.rows[row].columns[i]]++;
      matrix.rows[at] = static_cast<int>(row);
      matrix.factors[at] = program.rows[row].factors[i];
    }
  }
  return matrix;
}

constexpr double kWhole = 1e-6;  // from 0 or 1

Clp_Simplex* clp(void* model) { return static_cast<Clp_Simplex*>(model); }

/// Tells the solver of a known solution.
void start_at(Cbc_Model* model, const IntegerProgram& program, const std::vector<double>& start) {
  std::vector<int> places;
  std::vector<double> values;
  for (std::size_t column = 0; column < start.size(); ++column) {
    if (program.columns[column].whole && start[column] != 0)
      places.push_back(static_cast<int>(column)), values.push_back(1);
  }
  Cbc_setMIPStartI(model, static_cast<int>(places.size()), places.data(), values.data());
}

}  // namespace

bool LinearSolution::is_whole() const {
  return std::all_of(columns.begin(), columns.end(), [](double at) { return at < kWhole || at > 1 - kWhole; });
}

LinearSolver::LinearSolver(const IntegerProgram& program) : model_(Clp_newModel()), rows_(program.rows.size()) {
  const ColumnMatrix matrix = by_columns(program);
  Clp_setLogLevel(clp(model_), 0);
  Clp_loadProblem(clp(model_), matrix.count(), matrix.row_count(), matrix.starts.data(), matrix.rows.data(),
                  matrix.factors.data(), matrix.least.data(), matrix.most.data(), matrix.costs.data(),
                  matrix.row_least.data(), nullptr);
}

LinearSolver::~LinearSolver() { Clp_deleteModel(clp(model_)); }

void LinearSolver::limit(double seconds) { Clp_setMaximumSeconds(clp(model_), seconds); }

void LinearSolver::add_rows(const IntegerProgram& program) {
  std::vector<CoinBigIndex> starts = {0};
  std::vector<int> columns;
  std::vector<double> factors, least;
  for (; rows_ < program.rows.size(); ++rows_) {
    const IntegerProgram::Row& row = program.rows[rows_];
    columns.insert(columns.end(), row.columns.begin(), row.columns.end());
    factors.insert(factors.end(), row.factors.begin(), row.factors.end());
    starts.push_back(static_cast<CoinBigIndex>(columns.size()));
    least.push_back(row.least);
  }
  const std::vector<double> most(least.size(), std::numeric_limits<double>::max());
  Clp_addRows(clp(model_), static_cast<int>(least.size()), least.data(), most.data(), starts.data(), columns.data(),
              factors.data());
}

LinearSolution LinearSolver::solve(const IntegerProgram& program) {
  if (rows_ < program.rows.size()) add_rows(program);
  std::exchange(started_, true) ? Clp_dual(clp(model_), 0) : Clp_initialSolve(clp(model_));
  LinearSolution solution;
  constexpr int kOptimal = 0, kInfeasible = 1;
  const int status = Clp_status(clp(model_));
  solution.solved = status == kOptimal || status == kInfeasible;
  solution.feasible = status == kOptimal;
  if (!solution.feasible) return solution;
  solution.cost = Clp_objectiveValue(clp(model_));
  const double* at = Clp_getColSolution(clp(model_));
  const double* reduced = Clp_getReducedCost(clp(model_));
  solution.columns.assign(at, at + program.columns.size());
  for (std::size_t column = 0; column < program.columns.size(); ++column) {
    solution.reduced.push_back(at[column] < kWhole ? std::max(0.0, reduced[column]) : 0);
  }
  return solution;
}

IntegerSolution solve_integer_program(const IntegerProgram& program, const std::vector<double>& start, double seconds,
                                      double gap) {
  static std::mutex one_at_a_time;  // CBC has variables that all models share
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  const ColumnMatrix matrix = by_columns(program);
  const std::unique_ptr<Cbc_Model, decltype(&Cbc_deleteModel)> model(Cbc_newModel(), &Cbc_deleteModel);
  Cbc_loadProblem(model.get(), matrix.count(), matrix.row_count(), matrix.starts.data(), matrix.rows.data(),
                  matrix.factors.data(), matrix.least.data(), matrix.most.data(), matrix.costs.data(),
                  matrix.row_least.data(), nullptr);
  for (int column = 0; column < matrix.count(); ++column) {
    if (program.columns[column].whole) Cbc_setInteger(model.get(), column);
  }
  Cbc_setLogLevel(model.get(), 0);
  Cbc_setAllowableGap(model.get(), 0);
  if (gap > 0) Cbc_setAllowableFractionGap(model.get(), gap);
  // Measured on programs of networks (docs/decisions/choice-solver.md): these take longer than they spare.
  for (const char* without : {"gomoryCuts", "probingCuts", "heuristicsOnOff"})
    Cbc_setParameter(model.get(), without, "off");
  Cbc_setMaximumSeconds(model.get(), seconds);
  if (!start.empty()) start_at(model.get(), program, start);
  Cbc_solve(model.get());
  IntegerSolution solution;
  solution.bound = Cbc_getBestPossibleObjValue(model.get());
  solution.finished = Cbc_isProvenOptimal(model.get()) || Cbc_isProvenInfeasible(model.get());
  const double* best = Cbc_isProvenInfeasible(model.get()) ? nullptr : Cbc_bestSolution(model.get());
  if (best != nullptr) solution.columns.assign(best, best + program.columns.size());
  return solution;
}

}  // namespace whet
