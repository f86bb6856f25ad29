#include "cost/cost_model.h"

#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "base/check.h"

namespace whet {
namespace {

constexpr std::size_t kFewest = 24;  ///< rows before the first fit
constexpr double kGrowth = 1.2;      ///< of the rows between two fits
constexpr std::size_t kMost = 8000;  ///< rows of one fit; the slowest of the oldest are left out
constexpr int kTrees = 48;
constexpr float kLeastWeight = 0.05F;  ///< of a row that is far from the best

void must(int status) { WHET_CHECK(status == 0); }

/// XGBoost's matrix of rows.
class Matrix {
 public:
  Matrix(const std::vector<float>& values, std::size_t rows) {
    // One thread: its workers would spin beside what is measured.
    must(XGDMatrixCreateFromMat_omp(values.data(), rows, values.size() / rows, std::numeric_limits<float>::quiet_NaN(),
                                    &handle_, 1));
  }
  ~Matrix() { XGDMatrixFree(handle_); }
  Matrix(const Matrix&) = delete;
  void set(const char* field, const std::vector<float>& values) {
    must(XGDMatrixSetFloatInfo(handle_, field, values.data(), values.size()));
  }
  DMatrixHandle handle() const { return handle_; }

 private:
  DMatrixHandle handle_ = nullptr;
};

class Booster {
 public:
  Booster(const Matrix& matrix, std::uint64_t seed) {
    const DMatrixHandle handle = matrix.handle();
    must(XGBoosterCreate(&handle, 1, &handle_));
    const std::pair<const char*, std::string> parameters[] = {{"nthread", "1"},
                                                              {"verbosity", "0"},
                                                              {"objective", "reg:squarederror"},
                                                              {"tree_method", "hist"},
                                                              {"max_depth", "6"},
                                                              {"eta", "0.2"},
                                                              {"min_child_weight", "0.5"},
                                                              {"subsample", "0.9"},
                                                              {"colsample_bytree", "0.6"},
                                                              {"max_bin", "64"},
                                                              {"base_score", "0.3"},
                                                              {"seed", std::to_string(seed % 1000000007)}};
    for (const auto& [name, value] : parameters) must(XGBoosterSetParam(handle_, name, value.c_str()));
    for (int k = 0; k < kTrees; ++k) must(XGBoosterUpdateOneIter(handle_, k, handle));
  }
  ~Booster() { XGBoosterFree(handle_); }
  Booster(const Booster&) = delete;

  std::vector<float> predict(const Matrix& matrix) const {
    bst_ulong size = 0;
    const float* values = nullptr;
    must(XGBoosterPredict(handle_, matrix.handle(), 0, 0, 0, &size, &values));
    return {values, values + size};
  }

 private:
  BoosterHandle handle_ = nullptr;
};

std::vector<float> flat(const std::vector<std::vector<float>>& rows) {
  std::vector<float> values;
  values.reserve(rows.size() * rows.front().size());
  for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
  return values;
}

}  // namespace

class CostModel::Impl {
 public:
  explicit Impl(std::uint64_t seed) : seed_(seed) {}

  void add(int task, std::vector<float> row, double seconds) {
    WHET_CHECK(rows_.empty() || row.size() == rows_.front().size());
    rows_.push_back(std::move(row));
    seconds_.push_back(seconds);
    tasks_.push_back(task);
    double& best = best_.try_emplace(task, std::numeric_limits<double>::infinity()).first->second;
    best = std::min(best, seconds);
  }

  bool fit_if_grown() {
    const auto needed = static_cast<std::size_t>(std::ceil(kGrowth * static_cast<double>(fitted_rows_)));
    if (rows_.size() < std::max(kFewest, needed)) return false;
    fit();
    return true;
  }

  std::vector<float> score(const std::vector<std::vector<float>>& rows) const {
    WHET_CHECK(booster_ != nullptr);
    if (rows.empty()) return {};
    return booster_->predict(Matrix(flat(rows), rows.size()));
  }

  bool fitted() const { return booster_ != nullptr; }
  std::size_t rows() const { return rows_.size(); }

 private:
  float label(std::size_t i) const {
    return std::isfinite(seconds_[i]) ? static_cast<float>(best_.at(tasks_[i]) / seconds_[i]) : 0.0F;
  }

  void fit() {
    const std::vector<std::size_t> chosen = chosen_rows();
    std::vector<std::vector<float>> rows;
    std::vector<float> labels, weights;
    for (std::size_t i : chosen) {
      rows.push_back(rows_[i]);
      labels.push_back(label(i));
      weights.push_back(std::max(kLeastWeight, labels.back() * labels.back()));
    }
    Matrix matrix(flat(rows), rows.size());
    matrix.set("label", labels);
    matrix.set("weight", weights);
    booster_ = std::make_unique<Booster>(matrix, seed_);
    fitted_rows_ = rows_.size();
  }

  /// All rows, or the fastest and the latest of them where they are too many for a quick fit.
  std::vector<std::size_t> chosen_rows() const {
    std::vector<std::size_t> order(rows_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (order.size() <= kMost) return order;
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(order.size() - kMost / 2);
    std::nth_element(order.begin(), order.begin() + kMost / 2, middle,
                     [&](std::size_t a, std::size_t b) { return label(a) > label(b); });
    std::vector<std::size_t> chosen(order.begin(), order.begin() + kMost / 2);
    chosen.insert(chosen.end(), middle, order.end());
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  std::uint64_t seed_;
  std::vector<std::vector<float>> rows_;
  std::vector<double> seconds_;
  std::vector<int> tasks_;
  std::map<int, double> best_;
  std::unique_ptr<Booster> booster_;
  std::size_t fitted_rows_ = 0;
};

CostModel::CostModel(std::uint64_t seed) : impl_(std::make_unique<Impl>(seed)) {}
CostModel::~CostModel() = default;
void CostModel::add(int task, std::vector<float> row, double seconds) { impl_->add(task, std::move(row), seconds); }
bool CostModel::fit_if_grown() { return impl_->fit_if_grown(); }
bool CostModel::fitted() const { return impl_->fitted(); }
std::vector<float> CostModel::score(const std::vector<std::vector<float>>& rows) const { return impl_->score(rows); }
std::size_t CostModel::rows() const { return impl_->rows(); }

}  // namespace whet
