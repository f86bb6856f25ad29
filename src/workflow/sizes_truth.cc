#include "workflow/sizes_truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "base/arithmetic.h"
#include "base/check.h"
#include "base/parallel.h"
#include "plan/tried.h"
#include "tuner/compare_models.h"
#include "tuner/network.h"

namespace whet {
namespace {

/// A size has kernels of its own where it has this part of the requests' time, and they take this part of the time of those for ranges.
constexpr double kHotShare = 0.1, kHotFaster = 0.97;
/// Libraries for one size alone, and how far apart these are where they are not hot: neighbours tell the same.
constexpr std::size_t kMostAlone = 3;
constexpr double kApart = 1.4;
/// The untuned library is faster where it takes this part of the time in new processes; in one process alone, where the places of its
/// memory may have made it so, this one.
constexpr double kUntunedFaster = 0.99, kClearlyFaster = 0.95;
/// Of each library at each size, alternately.
constexpr double kLibraryBurst = 0.05;
constexpr int kLibraryBursts = 5;
/// The wall time of both libraries at a size.
constexpr double kPointSeconds = 2 * kLibraryBursts * kLibraryBurst;

double product_over(const SizeValues& values) {
  return std::accumulate(values.begin(), values.end(), 1.0,
                         [](double product, std::int64_t value) { return product * static_cast<double>(value); });
}

/// Evenly between the two nearest, by the product of the sizes; below the least as there, above the largest in proportion.
double seconds_at(const std::vector<std::pair<double, double>>& timed, double product) {
  WHET_CHECK(!timed.empty(), "a time at some size");
  const auto next = std::ranges::lower_bound(timed, product, {}, &std::pair<double, double>::first);
  if (next == timed.begin()) return next->second;
  const auto before = next - 1;
  if (next == timed.end()) return before->second * product / before->first;
  const double part = (product - before->first) / (next->first - before->first);
  return before->second + part * (next->second - before->second);
}

/// Those of all requests with each of their sizes together.
std::vector<double> seconds_of_all(const std::vector<RequestCount>& requests,
                                   const std::vector<std::pair<SizeValues, double>>& timed) {
  std::vector<std::pair<double, double>> by_product;
  for (const auto& [at, seconds] : timed) by_product.emplace_back(product_over(at), seconds);
  std::ranges::sort(by_product);
  std::vector<double> all;
  for (const RequestCount& each : requests)
    all.push_back(static_cast<double>(each.count) * seconds_at(by_product, product_over(each.at)));
  return all;
}

std::int64_t requests_at(const std::vector<RequestCount>& requests, const SizeValues& at) {
  std::int64_t count = 0;
  for (const RequestCount& each : requests) count += each.at == at ? each.count : 0;
  return count;
}

class SettlingAtSizes {
 public:
  SettlingAtSizes(const SizedLibraries& libraries, Device& device, const SizesTruthOptions& options)
      : libraries_(libraries), device_(device), options_(options) {}

  SizesTruth run() {
    const bool compiled = compile(tuned_, [&](const std::string& path) { return libraries_.tuned({}, path); }) &&
                          compile(untuned_, libraries_.untuned);
    if (!compiled && truth_.failed.ok() && !interrupted()) truth_.needed = 2 * compiling_;
    if (!compiled) return std::move(truth_);
    for (const SizeValues& at : options_.at) truth_.points.push_back({at});
    time_points();
    std::erase_if(truth_.points, [](const TimedAtSizes& point) { return point.untuned == 0; });
    if (goes_on()) keep_what_is_faster();
    if (goes_on() && is_current_) try_alone();
    std::erase_if(truth_.points, [](const TimedAtSizes& point) { return point.untuned == 0 && point.ranged == 0; });
    (void)device_.time_models({}, {});  // frees their memory
    std::ranges::sort(truth_.points, {}, &TimedAtSizes::at);
    return std::move(truth_);
  }

 private:
  bool interrupted() const { return options_.interrupted && options_.interrupted(); }
  double left() const { return options_.left ? options_.left() : kInfinity; }
  bool goes_on() const { return truth_.failed.ok() && !truth_.points.empty() && !interrupted(); }

  /// False where no time is left for it and its comparison, or where it fails or is interrupted.
  bool compile(const std::string& path, const std::function<Status(const std::string&)>& make) {
    if (interrupted() || left() < 2 * compiling_) return false;
    const double begin = seconds_now();
    truth_.failed = make(path);
    compiling_ = std::max(compiling_, seconds_now() - begin);
    return truth_.failed.ok() && !interrupted();
  }

  Result<ModelRun> run_at(const SizeValues& at) const {
    WHET_TRY(ModelRun run, libraries_.run_at(at));
    run.burst_seconds = kLibraryBurst, run.bursts = kLibraryBursts;
    return run;
  }

  /// The best burst of two libraries, which are timed alternately.
  Result<std::pair<double, double>> best_of(const std::string& first, const std::string& second,
                                            const SizeValues& at) const {
    WHET_TRY(const ModelRun run, run_at(at));
    WHET_TRY(const std::vector<ModelTimes> times, device_.time_models({{first}, {second}}, run));
    if (!make_sense(times, 2, kLibraryBursts)) return Error{"the device's times of the models make no sense"};
    const auto best = [](const ModelTimes& model) {
      return std::ranges::min(model.bursts, {}, &ModelBurst::median).median;
    };
    return std::pair(best(times[0]), best(times[1]));
  }

  Status time_point(TimedAtSizes& point) {
    WHET_TRY(const auto best, best_of(untuned_, tuned_, point.at));
    point.untuned = best.first, point.ranged = best.second;
    return ok_status();
  }

  /// As many as there is time for.
  void time_points() {
    for (TimedAtSizes& point : truth_.points) {
      if (!truth_.failed.ok() || interrupted() || left() < kPointSeconds) return;
      truth_.failed = time_point(point);
    }
  }

  /// Whether the untuned library is faster; asked in new processes where there is time.
  bool is_slower(TimedAtSizes& point) const {
    if (point.ranged == 0 || point.untuned >= kUntunedFaster * point.ranged) return false;
    const bool clearly = point.untuned < kClearlyFaster * point.ranged;
    if (interrupted() || left() < kPlanComparisons * kPointSeconds) return clearly;
    const Result<ModelRun> run = run_at(point.at);
    if (!run.ok()) return clearly;
    const Result<ModelVerdict> verdict =
        compare_in_new_processes(device_, ModelLibrary{tuned_}, ModelLibrary{untuned_}, *run, kUntunedFaster);
    if (!verdict.ok()) return clearly;
    point.ranged = verdict->middle.usual, point.untuned = verdict->middle.other;
    return verdict->faster;
  }

  std::vector<TimedAtSizes*> slower_points() {
    std::vector<TimedAtSizes*> slower;
    for (TimedAtSizes& point : truth_.points)
      if (is_slower(point)) slower.push_back(&point);
    return slower;
  }

  /// "b=4, n=512"
  std::string at_text(const SizeValues& values) const {
    std::string at;
    for (std::size_t k = 0; k < values.size(); ++k)
      at += fmt::format("{}{}={}", k > 0 ? ", " : "", options_.names[k], values[k]);
    return at;
  }

  /// "n=512 an inference takes 1.0020 ms by them, and 1.2500 ms"
  std::string times_text(const TimedAtSizes& point) const {
    return fmt::format("{} an inference takes {} by them, and {}", at_text(point.at),
                       four_decimals_of_ms(point.untuned), four_decimals_of_ms(point.ranged));
  }

  void keep_what_is_faster() {
    const std::vector<TimedAtSizes*> slower = slower_points();
    if (slower.empty()) return;
    for (TimedAtSizes* point : slower) {
      tell(options_.tell, "Untuned kernels are kept: at " + times_text(*point) + " by those of the records");
      point->keeps_untuned = true;
    }
    if (slower.size() == options_.at.size()) return keep_all();
    is_current_ = compile(kept_, [&](const std::string& path) { return libraries_.tuned(truth_.points, path); });
    if (is_current_) tuned_ = kept_;
    for (TimedAtSizes& point : truth_.points)
      if (is_current_ || point.keeps_untuned) point.ranged = 0;  // that was another library
    if (is_current_) time_points();
    if (goes_on()) keep_what_is_still_slower();
    for (TimedAtSizes& point : truth_.points)
      if (point.keeps_untuned && point.ranged == 0) point.ranged = point.untuned;  // these are its kernels there
  }

  /// With kernels of the records beside them untuned ones may be others, as they read the same weights.
  void keep_what_is_still_slower() {
    const bool all_timed =
        std::ranges::all_of(truth_.points, [](const TimedAtSizes& point) { return point.ranged > 0; });
    const std::vector<TimedAtSizes*> still = slower_points();
    if (still.empty()) return;
    const bool all = all_timed && truth_.points.size() == options_.at.size();
    tell(options_.tell, fmt::format("Untuned kernels are kept{}: at {} with those of the records beside them",
                                    all ? " at all sizes" : "", times_text(*still.front())));
    if (all) return keep_all();
    is_current_ = false;
    for (TimedAtSizes* point : still) point->keeps_untuned = true, point->ranged = 0;
  }

  void keep_all() {
    tuned_ = untuned_;
    for (TimedAtSizes& point : truth_.points) point.keeps_untuned = true, point.ranged = point.untuned;
  }

  /// The parts of the time that the requests of each size take.
  std::vector<double> shares() const {
    std::vector<std::pair<SizeValues, double>> timed;
    for (const TimedAtSizes& each : truth_.points)
      timed.emplace_back(each.at, each.ranged > 0 ? each.ranged : each.untuned);
    return time_shares(options_.requests, timed);
  }

  /// Libraries for the sizes with most of the requests' time alone, against that for the ranges: which sizes are better off with kernels
  /// of their own, and what the others lose by having none.
  void try_alone() {
    const std::vector<double> shares = this->shares();
    for (std::size_t k = 0; k < options_.requests.size(); ++k)
      for (TimedAtSizes& point : truth_.points)
        if (point.at == options_.requests[k].at) point.share = shares[k];
    for (const std::size_t k : heaviest_sizes(options_.requests, shares)) {
      if (!truth_.failed.ok() || left() < 2 * kPointSeconds) return;
      const SizeValues& at = options_.requests[k].at;
      const std::string alone = fmt::format("{}/alone{}.so", options_.folder, k);
      const bool is_compiled = compile(alone, [&](const std::string& path) { return libraries_.alone(at, path); });
      if (!is_compiled && truth_.failed.ok()) return;
      if (is_compiled) {
        TimedAtSizes& point = point_at(at, shares[k]);
        truth_.failed = shares[k] < kHotShare ? glance_alone(point, alone) : compare_alone(point, alone);
      }
      if (shares[k] < kHotShare && !truth_.failed.ok() && !interrupted()) go_on_without(at);
    }
  }

  /// What decides nothing ends nothing.
  void go_on_without(const SizeValues& at) {
    tell(options_.tell,
         fmt::format("A library for {} alone is not timed: {}", at_text(at), truth_.failed.error().message));
    truth_.failed = ok_status();
  }

  TimedAtSizes& point_at(const SizeValues& at, double share) {
    const auto point = std::ranges::find(truth_.points, at, &TimedAtSizes::at);
    return point != truth_.points.end() ? *point : truth_.points.emplace_back(TimedAtSizes{at, share});
  }

  /// Decides nothing: once, in one process. Where the point has a time, that stays, and the other has its pace.
  Status glance_alone(TimedAtSizes& point, const std::string& alone) const {
    WHET_TRY(const auto best, best_of(tuned_, alone, point.at));
    if (point.ranged == 0) point.ranged = best.first;
    point.exact = point.ranged * best.second / best.first;
    return ok_status();
  }

  Status compare_alone(TimedAtSizes& point, const std::string& alone) const {
    WHET_TRY(const ModelRun run, run_at(point.at));
    WHET_TRY(const ModelVerdict verdict,
             compare_in_new_processes(device_, ModelLibrary{tuned_}, ModelLibrary{alone}, run, kHotFaster));
    point.ranged = verdict.middle.usual;
    point.exact = verdict.middle.other;
    point.hot = verdict.faster && options_.hot;
    return ok_status();
  }

  const SizedLibraries& libraries_;
  Device& device_;
  const SizesTruthOptions& options_;
  const std::string untuned_ = options_.folder + "/untuned.so", kept_ = options_.folder + "/kept.so";
  std::string tuned_ = options_.folder + "/tuned.so";  ///< the library for the ranges as it is now
  bool is_current_ = true;                             ///< that is what the records make from now on
  double compiling_ = 0;                               ///< seconds of the slowest compile
  SizesTruth truth_;
};

}  // namespace

SizesTruth settle_at_sizes(const SizedLibraries& libraries, Device& device, const SizesTruthOptions& options) {
  return SettlingAtSizes(libraries, device, options).run();
}

std::vector<SizeValues> telling_sizes(const std::vector<RequestCount>& requests, const std::vector<WantedSize>& sizes) {
  std::vector<const RequestCount*> order;
  double all = 0;
  for (const RequestCount& each : requests) order.push_back(&each), all += static_cast<double>(each.count);
  std::ranges::stable_sort(order, {}, [](const RequestCount* each) { return product_over(each->at); });
  std::vector<SizeValues> told;
  for (const double part : {0.1, 0.5, 0.9}) {
    double before = 0;
    for (const RequestCount* each : order)
      if (before += static_cast<double>(each->count); before >= part * all) {
        told.push_back(each->at);
        break;
      }
  }
  SizeValues& largest = told.emplace_back();
  for (const WantedSize& size : sizes) largest.push_back(size.listed.empty() ? size.range.max : size.listed.back());
  std::ranges::sort(told);
  told.erase(std::ranges::unique(told).begin(), told.end());
  return told;
}

std::vector<std::size_t> heaviest_sizes(const std::vector<RequestCount>& requests, const std::vector<double>& shares) {
  std::vector<std::size_t> order(requests.size()), taken;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t k) { return shares[k]; });
  const auto is_near = [&](std::size_t a, std::size_t b) {
    double distance = 0;
    for (std::size_t i = 0; i < requests[a].at.size(); ++i)
      distance += std::abs(std::log(static_cast<double>(requests[a].at[i]) / static_cast<double>(requests[b].at[i])));
    return distance < std::log(kApart);
  };
  for (const std::size_t k : order) {
    const bool is_told = std::ranges::any_of(taken, [&](std::size_t other) { return is_near(k, other); });
    if (taken.size() < kMostAlone && shares[k] > 0 && (shares[k] >= kHotShare || !is_told)) taken.push_back(k);
  }
  return taken;
}

std::vector<double> time_shares(const std::vector<RequestCount>& requests,
                                const std::vector<std::pair<SizeValues, double>>& timed) {
  std::vector<double> shares = seconds_of_all(requests, timed);
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share = all > 0 ? share / all : 0;
  return shares;
}

double mean_seconds(const std::vector<RequestCount>& requests,
                    const std::vector<std::pair<SizeValues, double>>& timed) {
  const std::vector<double> seconds = seconds_of_all(requests, timed);
  double count = 0;
  for (const RequestCount& each : requests) count += static_cast<double>(each.count);
  return count > 0 ? std::accumulate(seconds.begin(), seconds.end(), 0.0) / count : 0;
}

std::optional<RequestSeconds> request_seconds(const std::vector<RequestCount>& requests,
                                              const std::vector<TimedAtSizes>& points,
                                              const std::vector<SizeValues>& telling) {
  std::vector<std::pair<SizeValues, double>> untuned, tuned;
  double gained = 0, count = 0;  // by kernels of their own, which requests of no other sizes run
  for (const RequestCount& each : requests) count += static_cast<double>(each.count);
  for (const TimedAtSizes& point : points)
    if (point.untuned > 0 && point.ranged > 0) {
      untuned.emplace_back(point.at, point.untuned);
      tuned.emplace_back(point.at, point.ranged);
      if (point.hot && point.exact > 0)
        gained += static_cast<double>(requests_at(requests, point.at)) * (point.ranged - point.exact);
    }
  const auto is_timed = [&](const SizeValues& at) {
    return std::ranges::find(tuned, at, &std::pair<SizeValues, double>::first) != tuned.end();
  };
  if (tuned.empty() || !std::ranges::all_of(telling, is_timed)) return std::nullopt;
  return RequestSeconds{mean_seconds(requests, untuned),
                        mean_seconds(requests, tuned) - (count > 0 ? gained / count : 0)};
}

double settling_seconds(double sizes, double compile_seconds) {
  constexpr double kLibraries = 3;  // and one with untuned kernels, or for one size alone; more where there is time
  return kLibraries * compile_seconds + sizes * kPointSeconds;
}

}  // namespace whet
