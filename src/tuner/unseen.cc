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
  constexpr double kChance = 0.1;         // that the worst of as many others is worse
  constexpr double kLeastPart = 1e-3;     // smaller errors, beside the largest, are no part of its distribution
  constexpr std::size_t kFewestTail = 4;  // the exponent of fewer is noise
  constexpr std::size_t kMostTail = 100;
  if (shares.empty()) return 0;
  const std::size_t tail = std::min(shares.size() / 4, kMostTail);
  std::ranges::sort(shares, std::greater());
  const double worst = shares.front();
  if (worst <= 0 || !std::isfinite(worst)) return worst;
  std::erase_if(shares, [&](double share) { return share < kLeastPart * worst; });
  const double begins = shares[std::min(tail, shares.size() - 1)];
  const auto above =
      static_cast<std::size_t>(std::ranges::count_if(shares, [&](double share) { return share > begins; }));
  if (above < kFewestTail) return worst;
  double exponent = 0;
  for (std::size_t i = 0; i < above; ++i) exponent += std::log(shares[i] / begins);
  exponent /= static_cast<double>(above);
  // Of n others one goes beyond with that chance where each does with a part of n of it; `above` of the n at hand go beyond where the tail
  // begins.
  return std::max(worst, begins * std::pow(static_cast<double>(above) / kChance, exponent));
}

}  // namespace whet
