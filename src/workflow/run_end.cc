#include "workflow/run_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "base/parallel.h"
#include "tuner/placements.h"
#include "workflow/opened.h"
#include "workflow/ranges_end.h"
#include "workflow/transferring.h"

namespace whet {
namespace {

/// Per task, where no limit is given.
constexpr int kDefaultTrialsPerTask = 64;
/// Of the trials and the time, this part may go to other layouts and covers: more where a depthwise convolution can be in one chain
/// with others, which gains most (docs/decisions/covers.md). Where none can, a short run's usual kernels are worth the time.
constexpr double kShareWithChains = 0.25, kShareWithoutChains = 0.1;
/// The first round of a short run is smaller, so that it reaches more tasks.
constexpr int kShortFirstRound = 4;
/// Of the time for layouts, the comparison of plans may take this part.
constexpr double kComparedPart = 0.75;
/// A choice of plans may take this part of a run [s of s], and all that are needed about these seconds.
constexpr double kChoicePart = 0.01, kChoosingSeconds = 0.3;
/// Measuring the rates again, and the end of the process [s].
constexpr double kRatesSeconds = 0.35, kExitSeconds = 0.15;
/// Trials from which the seconds of a build are known.
constexpr std::int64_t kTellingTrials = 4;

/// The trials that are left for the usual kernels.
std::int64_t main_trials(const TuneSettings& settings, double share) {
  return static_cast<std::int64_t>(std::ceil((1 - share) * settings.trials));
}

/// The alternatives that are searched; none where that is not wanted. Layouts are a choice for a whole network of pictures whose times
/// mean something, on a processor.
Alternatives searched_alternatives(const TuneSettings& settings, const Prepared& prepared,
                                   const AlternativeOptions& options) {
  const bool whole = prepared.chosen.size() == prepared.tasks.size();
  if ((options.forms.empty() && !options.covers) || !prepared.place.target.is_cpu() || prepared.emulated ||
      settings.no_network || !whole || !prepared.at.empty())
    return {};
  Result<Alternatives> found = find_alternatives(prepared.fused, prepared.place.target, options);
  return found.ok() ? std::move(*found) : Alternatives();
}

/// The part of the trials and the time that they may have.
double share_of(const Alternatives& alternatives, const TuneSettings& settings) {
  if (alternatives.all.size() == alternatives.usual) return 0;
  const double share = std::ranges::any_of(alternatives.all, chains_depthwise) ? kShareWithChains : kShareWithoutChains;
  return settings.trials > 0 && main_trials(settings, share) == settings.trials ? 0 : share;
}

/// Some of them are chains that gained in other networks.
bool has_known_chains(const Alternatives& alternatives, const Prepared& prepared) {
  const ChainGain gain = known_gains(*prepared.base, prepared.place.target);
  return gain && std::ranges::any_of(alternatives.all, [&](const Alternative& each) {
           return names_chain(each.name) && gain(alternatives.tasks[static_cast<std::size_t>(each.task)]);
         });
}

TuneOptions tune_options(const TuneSettings& settings) {
  TuneOptions options;
  options.round = settings.round;
  if (settings.time.is_short()) options.first_round = std::min(options.first_round, kShortFirstRound);
  options.strategy = settings.strategy;
  options.budget = settings.per_task ? BudgetPolicy::per_task : *parse_budget(settings.scheduler);
  options.least_gain = settings.least_gain / 100;
  options.early_stop = settings.early_stop;
  options.seeds = !settings.no_seeds;
  options.quick_round = settings.repeat == 0;  // who says how often a candidate runs means each
  options.exact = settings.rounding.exact;
  options.precision = settings.rounding.schedules().precision;
  options.seed = settings.model.seed;
  options.interrupted = settings.where.interrupted;
  return options;
}

/// By default schedules on a machine of 100 GFLOPS and 20 GB/s, before anything was timed.
double guessed_inference(const std::vector<Task>& tasks) {
  double seconds = 0;
  for (const Task& task : tasks) seconds += task.weight * (flops(task.dag) / 1e11 + bytes(task.dag) / 2e10);
  return seconds;
}

double weight_bytes(const Graph& graph) {
  double bytes = 0;
  for (const Value& value : graph.values)
    if (value.constant) bytes += static_cast<double>(value.constant->bytes());
  return bytes;
}

bool timed_all(const TuneProgress& progress, std::size_t tasks) {
  return progress.tasks.size() == tasks &&
         std::ranges::all_of(progress.tasks, [](const auto& task) { return std::isfinite(task.default_seconds); });
}

}  // namespace

RunEnd::RunEnd(const TuneSettings& settings, const Prepared& prepared, const AlternativeOptions& alternatives,
               TuneListener& listener)
    : settings_(settings),
      prepared_(prepared),
      alternatives_(alternatives),
      listener_(listener),
      begun_(seconds_now()) {
  const Alternatives found = searched_alternatives(settings, prepared, alternatives);
  share_ = share_of(found, settings);
  known_chains_ = share_ > 0 && has_known_chains(found, prepared);
  find_seconds_ = seconds_now() - begun_;
  size_.kernels = static_cast<int>(prepared.tasks.size());
  size_.weight_bytes = weight_bytes(prepared.fused.graph);
  size_.inference_seconds = guessed_inference(prepared.tasks);
  size_.builders = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

TuneOptions RunEnd::tasks() const {
  TuneOptions options = tune_options(settings_);
  options.base = prepared_.base.get();
  options.ids = prepared_.ids;
  options.several_sizes = !prepared_.at.empty();
  options.trials = main_trials(settings_, share_);
  if (settings_.trials == 0 && !settings_.time.limited())
    options.trials = kDefaultTrialsPerTask * std::ssize(prepared_.ids);
  options.deadline = ends().tasks;
  return options;
}

double RunEnd::learn(const TuneProgress& progress) {
  if (progress.trials >= kTellingTrials && progress.phases.building > 0)
    size_.kernel_seconds = progress.phases.building / static_cast<double>(progress.trials);
  if (timed_all(progress, prepared_.tasks.size())) size_.inference_seconds = progress.default_network_seconds();
  const auto tried = std::ranges::count_if(progress.tasks, [](const auto& task) { return task.trials > 0; });
  most_untried_ = settings_.time.limited() && 2 * tried < std::ssize(progress.tasks);
  return ends().tasks;
}

TuneProgress RunEnd::shown(TuneProgress progress) const {
  const EndNeeds end = needs();
  progress.to_come = end.network.usual + end.layouts.usual + end.rest;
  if (progress.trials > 0) {
    const double a_trial = progress.seconds / static_cast<double>(progress.trials);
    progress.to_come += a_trial * static_cast<double>(progress.allowed_trials) * share_ / (1 - share_);
  }
  if (!settings_.time.limited()) return progress;
  progress.seconds = settings_.time.used(seconds_now());
  progress.allowed_seconds = settings_.time.seconds();
  return progress;
}

EndNeeds RunEnd::needs() const {
  EndNeeds needs;
  const bool timed = !settings_.no_network && !prepared_.tasks.empty() && prepared_.at.empty();
  if (timed) needs.network = network_need(size_);
  if (share_ > 0 && !most_untried_) needs.layouts = layouts_need(size_, find_seconds_);
  needs.layouts_share = share_;
  needs.known_chains = known_chains_ && !most_untried_;
  needs.rest = kExitSeconds + (knows_rates_ ? 0 : kRatesSeconds);
  if (!prepared_.at.empty()) needs.rest += RangesEnd(settings_, prepared_, listener_).needs();
  if (settings_.has_page && timed) needs.page = profile_seconds(size_, true);
  return needs;
}

TuneOptions RunEnd::trial_options() const { return tune_options(settings_); }

/// How the whole network is timed.
Result<NetworkOptions> RunEnd::network_options(Measurer& measurer, double deadline) const {
  NetworkOptions options;
  options.measurer = &measurer;
  const std::vector<InputSlot> slots = input_slots(prepared_.fused.graph);
  const InputFiles files = without_folded(settings_.model, slots, prepared_.files);
  WHET_TRY(options.inputs, match_inputs(slots, files, "random", settings_.model.seed));
  options.open.pin = !settings_.no_pin;
  options.open.threads = static_cast<std::uint32_t>(prepared_.place.target.threads);
  options.open.cores.assign(prepared_.place.cores.cpus.begin(), prepared_.place.cores.cpus.end());
  options.exact = settings_.rounding.exact;
  options.precision = settings_.rounding.schedules().precision;
  if (!prepared_.base->empty())
    options.choose = [this](const Records* records) {
      return best_known(records, *prepared_.base, prepared_.place.target, settings_.rounding.schedules());
    };
  options.deadline = deadline;
  options.size = size_;
  options.interrupted = settings_.where.interrupted;
  options.on_kernel = [this](int done, int all) { listener_.compiling(done, all); };
  return options;
}

/// Times the network as it runs now, alternately with the untuned one.
Result<NetworkTruth> RunEnd::settle(Measurer& measurer, Device& device, RecordFile& file) {
  WHET_TRY(NetworkOptions options, network_options(measurer, ends().network));
  const auto chained = with_known_chains(prepared_.fused, Records(), *prepared_.base, prepared_.place.target,
                                         settings_.rounding.schedules());
  if (chained.ok() && *chained) options.untuned = &(*chained)->fused;
  return settle_in_network(prepared_.fused, prepared_.place.target, file, device, options);
}

/// The fastest of the tasks that stream from memory, where the processors lie now; `placements` of the run go on.
Status RunEnd::compare_again(Measurer& measurer, RecordFile& file, PlacementTimes& placements) const {
  const Target& target = prepared_.place.target;
  tell(settings_.where.tell,
       "The processors moved again: the fastest schedules that stream from memory, and the network, are timed there");
  std::vector<Task> streaming;
  for (const Task& task : prepared_.chosen)
    if (streams({task.key, task.name, task.dag, target, task.within})) streaming.push_back(task);
  TuneOptions options = tune_options(settings_);
  options.finals_only = true;
  options.deadline = ends().network;
  options.placements = placements;
  WHET_TRY(const TuneProgress done, tune(streaming, target, measurer, file, options, [](const TuneProgress&) {}));
  placements = done.placements;
  return ok_status();
}

Result<PlanSearch> RunEnd::search_layouts(const Tuned& tuned, Measurer& measurer, Device& device, RecordFile& file) {
  PlanSearchOptions options;
  options.name = settings_.model.name();
  options.alternatives = alternatives_;
  options.prices.schedules = {settings_.rounding.exact, settings_.rounding.schedules().precision};
  options.prices.rates = tuned.rates;
  options.prices.network_bytes = prepared_.footprint.least();
  const NetworkTruth& truth = tuned.truth;
  options.knows_excess = !truth.disturbed && !truth.disturbed_beside_tasks;
  if (options.knows_excess && truth.tasks_seconds > 0)
    options.excess_seconds = std::max(0.0, truth.beside_tasks_seconds - truth.tasks_seconds);
  options.tuning = tune_options(settings_);
  options.tuning.base = prepared_.base.get();
  options.chain_gain = known_gains(*prepared_.base, prepared_.place.target);
  options.tuning.placements = tuned.progress.placements;
  if (settings_.trials > 0) options.tuning.trials = settings_.trials - main_trials(settings_, share_);
  if (settings_.trials == 0 && !settings_.time.limited())
    options.tuning.trials = static_cast<std::int64_t>(share_ * kDefaultTrialsPerTask) * std::ssize(prepared_.ids);
  const PhaseEnds ends = this->ends();
  options.tuning.deadline = can_compare_plans() ? std::min(ends.layouts_measured, ends.layouts - needs().layouts.least)
                                                : ends.layouts - kChoosingSeconds;
  options.seconds_a_choice = std::min(options.seconds_a_choice, kChoicePart * settings_.time.run_seconds());
  options.on_round = [this](const PlanProgress& progress) { listener_.planning(progress); };
  WHET_TRY(options.network, network_options(measurer, ends.layouts));
  return search_plans(prepared_.fused, prepared_.place.target, measurer, file, device, options);
}

void RunEnd::leave_out(Tuned& tuned, double deadline, const std::string& phase, double needed,
                       const std::string& consequence) const {
  const double offered = settings_.time.offered(std::max(0.0, deadline - seconds_now()), needed);
  leave_out(tuned, settings_.time.too_short(offered, phase, needed, consequence));
}

void RunEnd::leave_out(Tuned& tuned, const std::string& sentence) const {
  tuned.left_out.push_back(sentence);
  tell(settings_.where.tell, sentence);
}

/// Layouts begin when they can end, and when most tasks of the usual kernels have been tried.
bool RunEnd::has_time_for_layouts(Tuned& tuned) const {
  if (!settings_.time.limited()) return true;
  if (most_untried_) {
    const auto tried = std::ranges::count_if(tuned.progress.tasks, [](const auto& task) { return task.trials > 0; });
    leave_out(tuned,
              fmt::format("{} was enough for trials of {} of {} tasks: layouts and covers come after most of them",
                          settings_.time.option(), tried, tuned.progress.tasks.size()));
    return false;
  }
  if (can_compare_plans()) return true;
  const double needed = plans_seconds();
  if (known_chains_ && seconds_now() + kChoosingSeconds < ends().layouts) {
    leave_out(tuned, ends().layouts, "layouts and covers, whose search and comparison take", needed,
              "chains that gained in other networks are measured, and compiles choose by their times");
    return true;
  }
  leave_out(tuned, ends().layouts, "layouts and covers, whose search and comparison take", needed,
            "they are not searched (--layouts nhwc --covers off says so on purpose)");
  return false;
}

double RunEnd::plans_seconds() const { return needs().layouts.least / kComparedPart; }
bool RunEnd::can_compare_plans() const {
  return !settings_.time.limited() || ends().layouts - seconds_now() >= plans_seconds();
}

void RunEnd::run(DeviceMeasurer& measurer, const Devices& devices, RecordFile& file, Tuned& tuned) {
  knows_rates_ = true;
  Device& device = *devices[measurer.deciding()];
  Result<NetworkTruth> truth = settle_in_placement(
      tuned.progress.placements.at_hand(), [&] { return measurer.placement(); },
      [&] { return compare_again(measurer, file, tuned.progress.placements); },
      [&] { return settle(measurer, device, file); });
  if (!truth.ok())
    return tell(settings_.where.tell,
                fmt::format("The network{} cannot be timed: {}", settings_.together.empty() ? "" : " " + prepared_.name,
                            truth.error().message));
  if (truth->needed_seconds > 0)
    leave_out(tuned, ends().network, "the network, whose comparison takes", truth->needed_seconds,
              "it is not compared (--no-network says so on purpose)");
  if (!settings_.together.empty()) truth->model = prepared_.name;
  if (truth->compile_seconds > 0) size_.compile = truth->compile_seconds;
  if (truth->tuned.seconds > 0) size_.inference_seconds = truth->tuned.seconds;
  tuned.truth = std::move(*truth);
  if (tuned.truth.needed_seconds == 0) listener_.network(tuned.truth);
  if (interrupted() || share_ == 0 || tuned.progress.reached || !has_time_for_layouts(tuned)) return;
  Result<PlanSearch> plans = search_layouts(tuned, measurer, device, file);
  if (!plans.ok()) return tell(settings_.where.tell, "The layouts cannot be compared: " + plans.error().message);
  tuned.plans = std::move(*plans);
  listener_.plans(*tuned.plans);
}

double profile_seconds(const NetworkSize& size, bool network_timed) {
  constexpr double kOnce = 0.5;  // layouts are compared, and the page is written
  constexpr double kRuns = 120;  // of the network, with and without a timeline
  constexpr int kTurns = 7;      // of two networks, where nobody has timed them
  constexpr double kTurn = 0.1;
  return kOnce + compile_seconds(size) + kRuns * size.inference_seconds +
         (network_timed ? 0 : compile_seconds(size) + comparison_seconds(size, {kTurns, kTurn}));
}

}  // namespace whet
