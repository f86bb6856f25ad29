#include "tuner/ranker.h"

#include <limits>

#include "cost/features.h"

namespace whet {
namespace {

/// More than a strategy's pool, so that ranking it again computes nothing anew. A row takes some 700 bytes.
constexpr std::size_t kKept = 2048;
constexpr double kNever = std::numeric_limits<double>::lowest();

}  // namespace

const Ranker::Known& Ranker::known(const Candidate& candidate) {
  if (const auto found = known_.find(candidate); found != known_.end()) return found->second;
  Known known;
  if (const Result<Scheduled> scheduled = space_->schedule(candidate); scheduled.ok()) {
    known.row = features(scheduled->tree, target_);
    known.analytic = analytic_seconds(scheduled->tree, target_);
  }
  return known_.emplace(candidate, std::move(known)).first->second;
}

std::vector<double> Ranker::rank(const std::vector<Candidate>& candidates) {
  if (known_.size() > kKept) known_.clear();
  std::vector<double> scores;
  std::vector<std::vector<float>> rows;
  std::vector<std::size_t> of_row;
  for (const Candidate& candidate : candidates) {
    const Known& k = known(candidate);
    scores.push_back(k.row.empty() ? kNever : -k.analytic);
    if (k.row.empty()) continue;
    rows.push_back(k.row);
    of_row.push_back(scores.size() - 1);
  }
  if (!model_->fitted() || rows.empty()) return scores;
  const std::vector<float> learned = model_->score(rows);
  for (std::size_t i = 0; i < of_row.size(); ++i) scores[of_row[i]] = static_cast<double>(learned[i]);
  return scores;
}

double Ranker::predicted(const Candidate& candidate) {
  if (!model_->fitted()) return 0;
  const double score = rank({candidate})[0];
  return score == kNever ? 0 : score;
}

void Ranker::learn(const Candidate& candidate, const Outcome& outcome) {
  const Known& k = known(candidate);
  if (k.row.empty()) return;
  model_->add(task_, k.row, outcome.ok() ? outcome.best_seconds() : std::numeric_limits<double>::infinity());
}

}  // namespace whet
