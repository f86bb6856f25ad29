#include "tuner/unseen.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

namespace whet {
namespace {

/// What a number by the normal law of mean 0 and deviation 1 stays within with this chance.
double normal_quantile(double chance) {
  double low = -10, high = 10;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::numbers::sqrt2) / 2 < chance ? low : high) = middle;
  }
  return low;
}

}  // namespace

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
  constexpr double kChance = 0.05;  // that the worst of as many others is worse; one in ten, as the slope is not exact
  constexpr double kLeastPart = 1e-3;  // smaller errors, beside the largest, are no part of its distribution
  constexpr std::size_t kFewest = 8;   // the deviation of fewer is noise
  if (shares.empty()) return 0;
  std::ranges::sort(shares, std::greater());
  const double worst = shares.front();
  if (worst <= 0 || !std::isfinite(worst)) return worst;
  std::erase_if(shares, [&](double share) { return share < kLeastPart * worst; });
  const std::size_t n = shares.size(), half = n / 2;
  if (n < kFewest) return worst;
  const auto count = static_cast<double>(n);
  std::vector<double> places;
  double place = 0, error = 0;  // their means over the larger half
  for (std::size_t i = 0; i < half; ++i) {
    places.push_back(normal_quantile((count - static_cast<double>(i) - 0.375) / (count + 0.25)));
    place += places[i] / static_cast<double>(half), error += std::log(shares[i]) / static_cast<double>(half);
  }
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < half; ++i) {
    products += (places[i] - place) * (std::log(shares[i]) - error);
    squares += (places[i] - place) * (places[i] - place);
  }
  const double beyond = normal_quantile(std::pow(1 - kChance, 1 / count)) - place;
  return std::max(worst, std::exp(error + products / squares * beyond));
}

}  // namespace whet
