#include "tuner/unseen.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

namespace whet {

double reach_of(const std::vector<double>& largest) {
  constexpr double kChance = 1e-4;  // of some thousand numbers, values times samples, few go beyond, and by little
  const auto n = static_cast<double>(largest.size());
  const double most = *std::ranges::max_element(largest);
  if (largest.size() < 2) return most;
  const double mean = std::accumulate(largest.begin(), largest.end(), 0.0) / n;
  double squares = 0;
  for (const double each : largest) squares += (each - mean) * (each - mean);
  const double spread = std::sqrt(squares / (n - 1)) * std::sqrt(6.0) / std::numbers::pi;
  return std::max(most, mean + spread * (-std::log(kChance) - std::numbers::egamma));
}

double worst_to_come(std::vector<double> shares) {
  constexpr double kChance = 0.1;      // that the worst of as many others is worse
  constexpr double kLeastPart = 1e-3;  // errors that are smaller beside the largest are all the same, 0 among them
  std::ranges::sort(shares, std::greater());
  if (shares.empty() || shares.front() <= 0 || !std::isfinite(shares.front()) || shares.size() == 1)
    return shares.empty() ? 0 : shares.front();
  const std::size_t tail = std::clamp<std::size_t>(shares.size() / 4, 2, 100);
  const std::size_t above = std::min(tail, shares.size() - 1);
  const double begins = std::max(shares[above], kLeastPart * shares.front());
  double exponent = 0;
  for (std::size_t i = 0; i < above; ++i) exponent += std::log(std::max(shares[i], begins) / begins);
  exponent /= static_cast<double>(above);
  // Of n others one goes beyond with that chance where each does with a part of n of it; `above` of the n at hand go beyond where the tail
  // begins.
  return std::max(shares.front(), begins * std::pow(static_cast<double>(above) / kChance, exponent));
}

}  // namespace whet
