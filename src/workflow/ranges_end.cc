#include "workflow/ranges_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "base/arithmetic.h"
#include "base/counted.h"
#include "base/parallel.h"
#include "base/version.h"
#include "compiler/compile.h"
#include "compiler/scratch.h"
#include "plan/plan.h"
#include "records/record_line.h"
#include "tuner/compare_models.h"
#include "tuner/network.h"
#include "workflow/exact_sizes.h"
#include "workflow/opened.h"
#include "workflow/range_choice.h"
#include "workflow/transferring.h"

namespace whet {
namespace {

/// Two fifths of a run at most.
constexpr double kMostOfARun = 0.4;
/// A size has kernels of its own where it has this part of the requests' time, and they take this part of the time of those for ranges.
constexpr double kHotShare = 0.1, kHotFaster = 0.97;
constexpr std::size_t kMostHot = 3;
/// Of each library at each size, alternately.
constexpr double kLibraryBurst = 0.05;
constexpr int kLibraryBursts = 5;
/// About the seconds of a kernel for ranges at one size, and of how many kernels and sizes a task has.
constexpr double kRungSeconds = 0.012;
constexpr double kKernelsOfATask = 6, kSizesOfATask = 10;
/// A part of the time that is left goes to the ladder, the rest to the network.
constexpr double kLadderPart = 0.6;

double product_over(const SizeValues& values) {
  return std::accumulate(values.begin(), values.end(), 1.0,
                         [](double product, std::int64_t value) { return product * static_cast<double>(value); });
}

/// Evenly between the two nearest, by the product of the sizes; in proportion outside.
double seconds_at(const std::vector<std::pair<double, double>>& timed, double product) {
  const auto next = std::ranges::lower_bound(timed, product, {}, &std::pair<double, double>::first);
  if (next == timed.begin()) return next->second;
  const auto before = next - 1;
  if (next == timed.end()) return before->second * product / before->first;
  const double part = (product - before->first) / (next->first - before->first);
  return before->second + part * (next->second - before->second);
}

}  // namespace

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

std::vector<double> time_shares(const std::vector<RequestCount>& requests,
                                const std::vector<std::pair<SizeValues, double>>& timed) {
  std::vector<std::pair<double, double>> by_product;
  for (const auto& [at, seconds] : timed) by_product.emplace_back(product_over(at), seconds);
  std::ranges::sort(by_product);
  std::vector<double> shares;
  double all = 0;
  for (const RequestCount& each : requests) {
    shares.push_back(static_cast<double>(each.count) * seconds_at(by_product, product_over(each.at)));
    all += shares.back();
  }
  for (double& share : shares) share = all > 0 ? share / all : 0;
  return shares;
}

/// Files of the network, made once.
struct RangesEnd::Libraries {
  std::string folder, untuned, ranged;
};

RangesEnd::RangesEnd(const TuneSettings& settings, const Prepared& prepared, TuneListener& listener)
    : settings_(settings), prepared_(prepared), listener_(listener) {}

bool RangesEnd::is_wanted() const {
  return has_ranges(prepared_.sizes) && prepared_.place.target.is_cpu() && !prepared_.emulated;
}

double RangesEnd::left() const { return settings_.time.left(seconds_now()); }

double RangesEnd::ladder_seconds() const {
  const double tasks = static_cast<double>(prepared_.tasks.size()) / std::max<double>(1, std::ssize(prepared_.at));
  return tasks * kKernelsOfATask * (kSizesOfATask * kRungSeconds + NetworkSize().kernel_seconds);
}

double RangesEnd::needs() const {
  if (!is_wanted()) return 0;
  double points = 1;
  for (const WantedSize& size : prepared_.sizes)
    points *= static_cast<double>(size.listed.empty() ? count_of(size.range) : std::ssize(size.listed));
  const double reading = std::min(points, double(FamilyOptions().most_points)) * prepared_.read_seconds / 2;
  double seconds = reading + ladder_seconds();
  if (!settings_.no_network && !is_remote(prepared_)) {
    NetworkSize size;
    size.kernels = static_cast<int>(prepared_.tasks.size());
    constexpr double kPoints = 4;
    seconds += 3 * compile_seconds(size) + kPoints * 2 * kLibraryBursts * kLibraryBurst;
  }
  return std::min(seconds, kMostOfARun * settings_.time.run_seconds());
}

void RangesEnd::leave_out(Tuned& tuned, const std::string& phase, double needed, const std::string& consequence) const {
  tuned.left_out.push_back(settings_.time.too_short(std::max(0.0, left()), phase, needed, consequence));
  tell(settings_.where.tell, tuned.left_out.back());
}

Result<FusedGraph> RangesEnd::read(const SizeValues& values) const {
  WHET_TRY(const ModelOptions at, model_->at(values));
  return load_fused(at, prepared_.files, for_ranges(settings_.rounding.passes(prepared_.place.target)));
}

/// The network at all sizes, as a library for the ranges has it.
Status RangesEnd::read_network(Tuned&) {
  const double begin = seconds_now();
  WHET_TRY(model_, sized_model(settings_.model, prepared_.files));
  WHET_TRY(requests_, requests_of(model_->sizes, settings_.tuning_sizes));
  WHET_TRY(family_, family_of_ranges(
                        model_->sizes, [&](const SizeValues& values) { return read(values); },
                        [&](std::int64_t, std::int64_t) -> Status {
                          if (interrupted()) return Error{"interrupted", ErrorKind::interrupted};
                          return ok_status();
                        }));
  reading_ = seconds_now() - begin;
  return ok_status();
}

Status RangesEnd::climb(DeviceMeasurer& measurer, RecordFile& file, Tuned& tuned) {
  WHET_TRY(const std::vector<TuningSize> at, ladder_sizes(model_->sizes, settings_.tuning_sizes));
  LadderOptions options;
  options.schedules = settings_.rounding.schedules();
  options.seed = settings_.model.seed;
  options.interrupted = settings_.where.interrupted;
  options.on_task = [&](const LadderProgress& progress) { listener_.ladder(progress); };
  if (settings_.time.limited()) options.deadline = seconds_now() + kLadderPart * std::max(0.0, left());
  WHET_TRY(tuned.ladder, climb_ladder(ladder_tasks(family_, at), prepared_.place.target, measurer, file, options));
  if (tuned.ladder->out_of_time)
    leave_out(tuned, "kernels for ranges, which take", ladder_seconds(),
              fmt::format("{} of {} tasks were timed as such, and the others count by estimates", tuned.ladder->done,
                          tuned.ladder->tasks));
  return ok_status();
}

CompileOptions RangesEnd::compiling() const {
  CompileOptions options;
  options.name = settings_.model.name();
  options.on_kernel = [this](int done, int all) { listener_.compiling(done, all); };
  return options;
}

Result<ModelRun> RangesEnd::run_at(const SizeValues& values, double burst_seconds, int bursts) const {
  WHET_TRY(const ModelOptions at, model_->at(values));
  WHET_TRY(const FusedGraph fused, read(values));
  const std::vector<InputSlot> slots = input_slots(fused.graph);
  ModelRun run;
  WHET_TRY(run.inputs, match_inputs(slots, without_folded(at, slots, prepared_.files), "random", settings_.model.seed));
  run.open.pin = !settings_.no_pin;
  run.open.threads = static_cast<std::uint32_t>(prepared_.place.target.threads);
  run.open.cores.assign(prepared_.place.cores.cpus.begin(), prepared_.place.cores.cpus.end());
  run.burst_seconds = burst_seconds;
  run.bursts = bursts;
  return run;
}

/// Each library's best burst.
Result<std::vector<double>> RangesEnd::seconds_of(Device& device, const std::vector<std::string>& libraries,
                                                  const SizeValues& at) const {
  WHET_TRY(const ModelRun run, run_at(at, kLibraryBurst, kLibraryBursts));
  std::vector<ModelLibrary> files;
  for (const std::string& path : libraries) files.push_back({path});
  WHET_TRY(const std::vector<ModelTimes> times, device.time_models(files, run));
  if (!make_sense(times, files.size(), kLibraryBursts)) return Error{"the device's times of the models make no sense"};
  std::vector<double> seconds;
  for (const ModelTimes& each : times) seconds.push_back(std::ranges::min(each.bursts, {}, &ModelBurst::median).median);
  return seconds;
}

/// Libraries for the sizes with most of the requests' time alone, against that for the ranges.
Status RangesEnd::try_exact(Device& device, RecordFile& file, Libraries& libraries, std::vector<TimedAtSizes>& points) {
  std::vector<std::pair<SizeValues, double>> timed;
  for (const TimedAtSizes& each : points) timed.emplace_back(each.at, each.ranged);
  const std::vector<double> shares = time_shares(requests_, timed);
  std::vector<std::size_t> hottest(requests_.size());
  std::iota(hottest.begin(), hottest.end(), std::size_t{0});
  std::ranges::stable_sort(hottest, std::ranges::greater(), [&](std::size_t k) { return shares[k]; });
  for (std::size_t k = 0; k < requests_.size(); ++k)
    for (TimedAtSizes& point : points)
      if (point.at == requests_[k].at) point.share = shares[k];
  if (hottest.size() > kMostHot) hottest.resize(kMostHot);
  const Target& target = prepared_.place.target;
  const ScheduleSource source = best_known(&file.records(), *prepared_.base, target, settings_.rounding.schedules());
  for (const std::size_t k : hottest) {
    if (interrupted() || shares[k] < kHotShare || left() < 2 * compiling_) break;
    const SizeValues& at = requests_[k].at;
    WHET_TRY(const FusedGraph fused, read(at));
    const std::string alone = fmt::format("{}/exact{}.so", libraries.folder, k);
    const Result<CompileReport> compiled = compile_model(fused, source, target, alone, compiling());
    if (!compiled.ok()) return compiled.error();
    WHET_TRY(const ModelRun run, run_at(at, kLibraryBurst, kLibraryBursts));
    WHET_TRY(const ModelVerdict verdict,
             compare_in_new_processes(device, ModelLibrary{libraries.ranged}, ModelLibrary{alone}, run, kHotFaster));
    auto point = std::ranges::find(points, at, &TimedAtSizes::at);
    if (point == points.end()) {
      points.push_back({at, shares[k]});
      point = points.end() - 1;
    }
    point->ranged = verdict.middle.usual;
    point->exact = verdict.middle.other;
    point->hot = verdict.faster && settings_.tuning_sizes.hot != "off";
  }
  std::ranges::sort(points, {}, &TimedAtSizes::at);
  return ok_status();
}

/// The libraries for ranges alternately at telling sizes, then those for one size.
Status RangesEnd::time_network(Device& device, RecordFile& file, Tuned& tuned) {
  const Target& target = prepared_.place.target;
  const SpaceOptions schedules = settings_.rounding.schedules();
  WHET_TRY(const ScratchDirectory scratch, ScratchDirectory::make());
  Libraries libraries{scratch.path(), scratch.path() + "/untuned.so", scratch.path() + "/ranged.so"};
  std::vector<ModelSize> sizes;
  for (const WantedSize& size : model_->sizes)
    sizes.push_back({size.name, 0, 0, size.listed, size.range.min, size.range.max, size.range.step});
  const Records none;
  const std::pair<std::string, const Records*> made[] = {{libraries.ranged, &file.records()},
                                                         {libraries.untuned, &none}};
  for (const auto& [path, records] : made) {
    const double begin = seconds_now();
    if (left() < 2 * compiling_)
      return leave_out(tuned, "the network, whose comparison takes", 2 * compiling_, "it is not compared"), ok_status();
    WHET_TRY(const RangeChoice choice,
             choose_for_ranges(family_, model_->sizes, settings_.tuning_sizes, *records, target, schedules));
    const ScheduleSource source = best_known(records == &none ? nullptr : records, *prepared_.base, target, schedules);
    const Result<CompileReport> compiled =
        compile_family(family_, choice.pieces, sizes, source, target, path, compiling(), model_->dimensions);
    if (!compiled.ok()) return compiled.error();
    compiling_ = std::max(compiling_, seconds_now() - begin);
    if (interrupted()) return ok_status();
  }
  NetworkAtSizes line;
  Status timed = ok_status();
  for (const SizeValues& at : telling_sizes(requests_, model_->sizes)) {
    if (interrupted() || left() < 2 * kLibraryBursts * kLibraryBurst) break;
    const Result<std::vector<double>> seconds = seconds_of(device, {libraries.untuned, libraries.ranged}, at);
    if (!seconds.ok()) timed = seconds.error();
    if (!timed.ok()) break;
    line.points.push_back({at, 0, (*seconds)[0], (*seconds)[1], 0, false});
  }
  if (timed.ok() && !line.points.empty()) timed = try_exact(device, file, libraries, line.points);
  (void)device.time_models({}, {});  // frees their memory
  if (line.points.empty()) return timed;
  line.graph = hash_of(family_.variants.back().fused);
  line.name = settings_.model.name();
  line.ranges = to_text(family_.sizes);
  line.target = to_string(target);
  line.whet = version();
  line.at = utc_now();
  tuned.at_sizes = line;
  WHET_RETURN_IF_ERROR(file.append(line));  // also what was timed before something failed
  return timed;
}

void RangesEnd::run(DeviceMeasurer& measurer, const Devices& devices, RecordFile& file, Tuned& tuned) {
  if (!is_wanted() || interrupted()) return;
  if (const double needed = needs(); settings_.time.limited() && left() < needed / 2)
    return leave_out(tuned, "kernels for ranges, which take", needed, "none is timed");
  Status done = read_network(tuned);
  if (done.ok()) done = climb(measurer, file, tuned);
  if (done.ok() && tuned.ladder) listener_.ladder(*tuned.ladder);
  const bool whole = !settings_.no_network && prepared_.chosen.size() == prepared_.tasks.size();
  if (done.ok() && whole && !is_remote(prepared_) && !interrupted()) {
    done = time_network(*devices[measurer.deciding()], file, tuned);
    if (done.ok() && tuned.at_sizes) listener_.at_sizes(*tuned.at_sizes);
  }
  if (!done.ok() && !interrupted())
    tell(settings_.where.tell, "Kernels for ranges cannot be timed: " + done.error().message);
}

}  // namespace whet
