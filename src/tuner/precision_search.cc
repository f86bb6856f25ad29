#include "tuner/precision_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/arithmetic.h"
#include "base/counted.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/version.h"
#include "compiler/scratch.h"
#include "plan/error_uses.h"
#include "plan/tried.h"
#include "plan/uniform_plan.h"
#include "records/error_line.h"
#include "records/record_line.h"
#include "tuner/compare_models.h"
#include "tuner/plan_decision.h"
#include "tuner/plan_hopes.h"
#include "tuner/unseen.h"
#include "tuner/value_ranges.h"

namespace whet {
namespace {

/// Rounds of measuring and choosing, at most: each one measures something new.
constexpr int kMeasuringRounds = 100;
/// Tasks between two looks at the plans, the most promising first: what kernels of a kind gain tells what others may.
constexpr std::size_t kMeasuredAtATime = 6;
/// Of the time or the trials for lowered kernels, layers are begun with in this part.
constexpr double kOpenPart = 0.6;
/// More trials for the kernels of the chosen plan go on where they make it shorter by this.
constexpr double kShorterPlan = 0.998;
/// Without a relative limit the first budget is that of this error: the loop corrects it.
constexpr double kFirstError = 0.01;
/// A plan that uses this part of what it is to use is near enough.
constexpr double kNearAim = 0.8;
/// A choice is made so often again with a lower aim: held-out samples that decide more often have taken part.
constexpr int kTightenings = 2;
/// What the worst sample to come is expected to use of what is allowed, where a lower aim follows from it.
constexpr double kOfWhatMayCome = 0.9;
/// Layers' errors are measured on as many of the samples that calibrate at the most: they rank layers, and what plans err by is measured on all.
constexpr std::size_t kErrorSamples = 8;
/// A proof to a thousandth is enough: errors are not known better.
constexpr double kChoiceGap = 1e-3;
/// Of what is hoped for, a proof to a hundredth.
constexpr double kHopedGap = 1e-2;
/// Budgets that are nearer to each other than this choose the same.
constexpr double kSameBudget = 1.1;
/// One choice corrects the budget by this factor at the most.
constexpr double kMostCorrection = 16;

/// "0.81%"
std::string percent_text(double part) { return fmt::format("{:.2g}%", 100 * part); }

std::vector<std::string> output_names(const Graph& graph) {
  std::vector<std::string> names;
  for (ValueId id : graph.outputs) names.push_back(graph.value(id).name);
  return names;
}

/// What names the errors of a network's layers and its values' ranges.
LayerErrorOptions error_options(const FusedGraph& fused, const Target& target, const PrecisionOptions& options) {
  LayerErrorOptions errors;
  errors.graph = hash_of(fused), errors.weights = hash_of_constants(fused);
  errors.samples = options.samples, errors.target = to_string(target);
  errors.deadline = std::min(options.errors_deadline, options.tuning.deadline);
  errors.clock = options.network.clock, errors.interrupted = options.tuning.interrupted;
  return errors;
}

/// Evenly, as neighbours in a folder are alike.
SampleInputs some_of(const SampleInputs& samples) {
  const std::size_t count = std::min(samples.size(), kErrorSamples);
  SampleInputs some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(samples[i * samples.size() / count]);
  return some;
}

/// Scales follow from them to the last bit.
std::string hash_of_ranges(const ValueRanges& ranges) {
  return fmt::format("{:016x}", hash_bytes(dump(to_json(ranges))));
}

/// Of top1 all samples are counted together: it may use all that is allowed.
double may_use(const JudgedLimit& limit, double most) { return limit.allowed.measure == Measure::top1 ? 1 : most; }

double part_of(double allowed, double used) { return used > allowed ? allowed / used : 1; }

bool is_whole(StoredAs stored) { return stored == StoredAs::i16 || stored == StoredAs::u8; }

class PrecisionSearcher {
 public:
  ///   ranges  that the alternatives were found with
  PrecisionSearcher(const FusedGraph& fused, const Target& target, const Alternatives& alternatives,
                    const ValueRanges& ranges, Measurer& measurer, RecordFile& file, Device& device,
                    const PrecisionOptions& options)
      : fused_(fused),
        target_(target),
        alternatives_(alternatives),
        ranges_(ranges),
        measurer_(measurer),
        file_(file),
        device_(device),
        options_(options),
        begun_(now()),
        hopes_(fused, target, alternatives, file.records(), with_cache_of(options.prices, measurer)) {}

  Result<PrecisionSearch> run() {
    const Status done = search();
    if (!done.ok() && !(done.error().kind == ErrorKind::interrupted && stop())) return done.error();
    result_.seconds = now() - begun_;
    return std::move(result_);
  }

 private:
  /// A plan that was run on the samples.
  struct Verified {
    NetworkPlan plan;
    FusedGraph network;
    RunNetwork run;
    AnswerError error;
    double share = 0, budget = 0, predicted = 0;
    std::vector<double> shares;  ///< of what is allowed, one a sample that calibrates
    std::string broken;          ///< the limit that it breaks on the calibration samples, and by what; "": none
  };

  static PriceOptions with_cache_of(PriceOptions prices, const Measurer& measurer) {
    prices.cache = measurer.setting().cache;
    return prices;
  }
  double now() const { return options_.network.clock ? options_.network.clock() : seconds_now(); }
  bool interrupted() const { return options_.tuning.interrupted && options_.tuning.interrupted(); }
  void tell(PrecisionProgress progress) const {
    if (options_.on_progress) options_.on_progress(progress);
  }
  const Alternative& at(int number) const { return alternatives_.all[static_cast<std::size_t>(number)]; }

  Status search() {
    for (const Alternative& each : alternatives_.all) result_.alternatives += each.kind == AlternativeKind::lowered;
    if (result_.alternatives == 0) return stay("no layer of this network can be lowered: f32 stays");
    WHET_RETURN_IF_ERROR(answer_in_f32());
    WHET_RETURN_IF_ERROR(measure_errors());
    if (stop()) return ok_status();
    set_uses();
    WHET_RETURN_IF_ERROR(measure_what_is_hoped());
    WHET_RETURN_IF_ERROR(tune_chosen());
    if (stop()) return ok_status();
    WHET_TRY(std::optional<Verified> chosen, options_.uniform ? take_uniform() : choose_what_holds());
    if (stop() || !chosen) return ok_status();
    chosen->run = {};  // nothing is open while networks are timed
    WHET_TRY(const bool faster, is_faster(*chosen));
    if (stop() || (!faster && !options_.uniform)) return ok_status();
    result_.why_not.clear();  // who asks for one type gets it, and is told what it takes
    return adopt(*chosen);
  }

  bool stop() { return result_.interrupted = result_.interrupted || interrupted(); }
  Status stay(std::string why) { return result_.why_not = std::move(why), ok_status(); }

  /// By the f32 network, as it is compiled from the records. It is closed before anything is timed.
  Status answer_in_f32() {
    WHET_TRY(PlannedNetwork network, planned(fused_, file_.records(), target_, options_.prices.schedules));
    f32_ = std::move(network);
    WHET_TRY(const RunNetwork usual, options_.open(f32_.fused));
    WHET_TRY(want_, answers_to(usual, options_.calibration, options_.tuning.interrupted));
    WHET_TRY(want_held_out_, answers_to(usual, options_.held_out, options_.tuning.interrupted));
    SampleInputs all = want_;
    all.insert(all.end(), want_held_out_.begin(), want_held_out_.end());
    return check_reference(options_.accuracy, output_names(fused_.graph), all);
  }

  // ---- errors ----

  Status measure_errors() {
    WHET_TRY(const ProbeNetwork probe, probe_of(fused_, alternatives_, ranges_));
    result_.layers = probe.layers.size();
    LayerErrorOptions options = error_options(fused_, target_, options_);
    if (!ranges_.empty()) options.ranges = hash_of_ranges(ranges_);
    options.on_layer = [&](std::size_t done, std::size_t all) { tell({PrecisionProgress::Phase::errors, done, all}); };
    const SampleInputs samples = some_of(options_.calibration);
    WHET_TRY(const LayerErrors errors,
             measure_layer_errors(probe, by_worth(probe), samples, options_.open, file_, options));
    result_.errors = errors.measured, result_.known_errors = errors.known, result_.errors_seconds = errors.seconds;
    result_.interrupted = errors.interrupted;
    for (const std::optional<LayerError>& error : errors.of)
      if (error) errors_.push_back(*error);
    return ok_status();
  }

  /// The part of a layer's time that is lost where a type has no error. i16 errs least and halves the time; bytes halve it again, where they
  /// err by little enough; bf16 takes the time of i16 and errs by more, so it helps layers alone that have no i16, except by tiles.
  double worth(StoredAs stored) const {
    const bool has_tiles = target_.is_cpu() && target_.cpu().bf16_tiles;
    return stored == StoredAs::i16 ? 0.55 : stored == StoredAs::u8 ? 0.2 : has_tiles ? 0.3 : 0.05;
  }

  /// What has no error in the end stays as it is: where most is lost comes first.
  std::vector<std::size_t> by_worth(const ProbeNetwork& probe) {
    hopes_.read({});
    std::map<int, double> seconds;
    for (std::size_t a = 0; a < alternatives_.usual; ++a)
      seconds[alternatives_.all[a].group] = hopes_.prices()[a].seconds;
    std::vector<std::size_t> order(probe.layers.size());
    for (std::size_t layer = 0; layer < order.size(); ++layer) order[layer] = layer;
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t layer) {
      const ProbedLayer& own = probe.layers[layer];
      return worth(own.stored) * seconds[own.group];
    });
    return order;
  }

  /// What each alternative adds to the squared error. An alternative whose layer has no error is never chosen, nor is a layout or a cover
  /// that the f32 plan does without: these multiply the choice by themselves.
  void set_uses() {
    ErrorUses found = error_uses(fused_, alternatives_, errors_);
    uses_ = std::move(found.uses);
    if (!options_.uniform) never_ = std::move(found.unknown);
    std::set<int> kept;
    if (const auto plan = find_plan(fused_, alternatives_, f32_.kernels); plan.ok())
      kept.insert(plan->alternatives.begin(), plan->alternatives.end());
    for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a) {
      const Alternative& each = alternatives_.all[a];
      const bool of_f32 = each.kind == AlternativeKind::layout || each.kind == AlternativeKind::cover;
      if (of_f32 && !kept.contains(static_cast<int>(a))) never_.push_back(static_cast<int>(a));
    }
  }

  // ---- times ----

  double first_budget() const {
    double limit = kInfinity;
    for (const Allowed& allowed : options_.accuracy.allowed)
      if (allowed.measure == Measure::relative) limit = std::min(limit, allowed.limit);
    const double error = aim_ * (std::isfinite(limit) ? limit : kFirstError);
    return error * error;
  }

  PlanOptions plan_options(double budget) const {
    PlanOptions options{.forbidden = never_, .seconds_limit = options_.seconds_a_choice};
    constexpr double kShortestChoice = 0.1;
    const double left = std::max(kShortestChoice, options_.network.deadline - now());
    options.seconds_limit = std::min(options.seconds_limit, left);
    options.gap = kChoiceGap;
    if (options_.uniform)
      forbid(others_than(alternatives_, *options_.uniform, given_up()), options);
    else
      options.uses = uses_, options.budget = budget;
    return options;
  }
  static void forbid(const std::vector<int>& numbers, PlanOptions& options) {
    options.forbidden.insert(options.forbidden.end(), numbers.begin(), numbers.end());
  }

  /// Alternatives of which no candidate ran.
  std::vector<int> given_up() const {
    std::vector<int> numbers;
    for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a)
      if (const int task = alternatives_.all[a].task; task >= 0 && given_up_.contains(id_of(task)))
        numbers.push_back(static_cast<int>(a));
    return numbers;
  }

  std::int64_t trials_left() const { return options_.tuning.trials - result_.trials; }
  bool used_up() {
    return stop() || (options_.tuning.trials > 0 && trials_left() <= 0) || now() >= options_.tuning.deadline;
  }

  /// Most of what measuring may take is used. From then on no further layer is begun with, and what was measured becomes parts of whole
  /// plans: else a short run would end with single kernels, between which everything has to be copied.
  bool is_late() const {
    const auto is_most = [](double used, double all) { return used >= kOpenPart * all; };
    const double ends = options_.tuning.deadline;
    return (options_.tuning.trials > 0 &&
            is_most(static_cast<double>(result_.trials), static_cast<double>(options_.tuning.trials))) ||
           (std::isfinite(ends) && is_most(now() - measuring_begun_, ends - measuring_begun_));
  }

  /// A larger budget than the first may be right in the end: what is hoped for within twice the error is measured too, when the rest is.
  Status measure_what_is_hoped() {
    measuring_begun_ = now();
    WHET_RETURN_IF_ERROR(measure_within(first_budget()));
    return options_.uniform ? ok_status() : measure_within(4 * first_budget());
  }

  Status measure_within(double budget) {
    for (int round = 0; round < kMeasuringRounds && !used_up(); ++round) {
      hopes_.learn({});
      PlanOptions options = plan_options(budget);
      options.bounds = true;
      if (!options_.uniform) options.gap = kHopedGap;
      forbid(given_up(), options);
      const bool begins = !options_.uniform && !is_late();
      if (!options_.uniform && !begins) forbid(hopes_.not_begun(), options);
      WHET_TRY(const NetworkPlans hoped, best_plans(fused_, alternatives_, hopes_.prices(), options));
      std::vector<Task> unknown = hopes_.unmeasured(hoped.best.front().alternatives);
      // A choice that did not end may give the f32 plan, of which nothing is left to measure.
      if (unknown.empty() && !hoped.optimal && begins) unknown = hopes_.most_promising(options.forbidden);
      if (unknown.empty()) break;
      if (unknown.size() > kMeasuredAtATime) unknown.resize(kMeasuredAtATime);
      WHET_RETURN_IF_ERROR(measure(unknown, options_.trials_a_task));
    }
    return ok_status();
  }

  std::string id_of(int task) const { return plan_task_id(alternatives_.tasks[static_cast<std::size_t>(task)]); }

  Status measure(const std::vector<Task>& tasks, int trials_a_task) {
    tell({PrecisionProgress::Phase::measuring, 0, 0, tasks.size()});
    TuneOptions tuning = options_.tuning;
    tuning.ids.clear();
    tuning.first_round = tuning.round = trials_a_task;
    const auto wanted = static_cast<std::int64_t>(tasks.size()) * trials_a_task;
    tuning.trials = options_.tuning.trials > 0 ? std::min(wanted, trials_left()) : wanted;
    WHET_TRY(const TuneProgress progress, tune(tasks, target_, measurer_, file_, tuning, [](const TuneProgress&) {}));
    result_.trials += progress.trials;
    const bool had_time = progress.trials == 0 && !used_up();
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      const TaskProgress& task = progress.tasks[t];
      if ((task.trials == 0 && !had_time) || task.best_seconds < kInfinity) continue;
      given_up_.insert(plan_task_id(tasks[t]));
      hopes_.give_up(tasks[t]);
    }
    return ok_status();
  }

  // ---- the choice ----

  /// The fastest plan of measured kernels within a budget. Of a uniform type there may be none such: then of all kernels, and compile has
  /// default schedules for those that nobody measured.
  Result<NetworkPlans> plans_within(double budget) {
    hopes_.read({});
    PlanOptions measured = plan_options(budget);
    forbid(hopes_.not_measured(), measured);
    Result<NetworkPlans> plans = best_plans(fused_, alternatives_, hopes_.prices(), measured);
    if (plans.ok() || !options_.uniform) return plans;
    PlanOptions any = plan_options(budget);
    forbid(given_up(), any);
    return best_plans(fused_, alternatives_, hopes_.prices(), any);
  }

  /// The usual kernels had far more trials than lowered ones: what time is left is for these, as long as plans become shorter by it.
  Status tune_chosen() {
    for (double before = kInfinity; !used_up();) {
      WHET_TRY(const NetworkPlans plans, plans_within(first_budget()));
      const NetworkPlan& plan = plans.best.front();
      const std::vector<Task> tasks = hopes_.other_tasks({plan});
      if (tasks.empty() || plan.seconds >= kShorterPlan * before) break;
      before = plan.seconds;
      WHET_RETURN_IF_ERROR(measure(tasks, 2 * options_.trials_a_task));
    }
    return ok_status();
  }

  bool is_lowered(const NetworkPlan& plan) const {
    return std::ranges::any_of(plan.alternatives,
                               [&](int a) { return at(a).kind == AlternativeKind::lowered && at(a).task >= 0; });
  }
  /// By the layers' errors alone.
  double sum_of_errors(const NetworkPlan& plan) const {
    double squares = 0;
    for (int a : plan.alternatives) squares += uses_[static_cast<std::size_t>(a)];
    return std::sqrt(squares);
  }

  Result<Verified> verified(const NetworkPlan& plan, double budget) {
    const double start = now();
    tell({PrecisionProgress::Phase::verifying, 0, 0, 0, result_.choices + 1});
    const double sum = sum_of_errors(plan);
    Verified one{plan, {}, {}, {}, 0, budget, correction_ * sum, {}, ""};
    WHET_TRY(one.network, assemble(fused_, alternatives_, plan.alternatives));
    WHET_TRY(one.run, options_.open(one.network));
    WHET_TRY(const SampleInputs got, answers_to(one.run, options_.calibration, options_.tuning.interrupted));
    WHET_TRY(const Judged judged, judge(options_.accuracy, output_names(fused_.graph), got, want_));
    WHET_TRY(one.shares, shares_by_sample(options_.accuracy, output_names(fused_.graph), got, want_));
    one.error = error_between(got, want_), one.share = judged.share;
    if (sum > 0 && one.error.error > 0 && std::isfinite(one.error.error)) correction_ = one.error.error / sum;
    if (!judged.kept()) one.broken = to_text(judged.worst());
    if (result_.choices++ == 0) result_.first_error = one.error.worst;
    result_.verifying_seconds += now() - start;
    return one;
  }

  /// A choice that uses more than the aim on the held-out samples, or whose samples err so differently that others may break a limit, is made
  /// again, with an aim that is lower by as much.
  Result<std::optional<Verified>> choose_what_holds() {
    for (;;) {
      WHET_TRY(std::optional<Verified> chosen, choose());
      if (!chosen && result_.tightened) result_.why_not = on_held_out_;
      if (stop() || !chosen) return std::optional<Verified>();
      WHET_TRY(const bool holds, holds_out(*chosen));
      if (holds) return chosen;
      const double part = std::min(held_out_part_, part_of(kOfWhatMayCome, result_.share_to_come));
      // An answer that is not finite gives no lower aim, and with the same one the same plan would be chosen.
      const bool helps = part > 0 && part < 1 && std::isfinite(result_.precision.held_out_error);
      if (stop() || result_.tightened == kTightenings || !helps || !has_time_to_choose())
        return std::optional<Verified>();
      ++result_.tightened;
      aim_ *= part;
      on_held_out_ = std::exchange(result_.why_not, "");
    }
  }

  /// Behind the last choice held-out samples, two compiles and the comparison take as long as some choices.
  bool has_time_to_choose() const { return now() + 4 * longest_ < options_.network.deadline; }

  /// Corrects the budget by what plans do, and keeps the fastest that uses at most `aim` of what is allowed.
  Result<std::optional<Verified>> choose() {
    std::optional<Verified> best;
    std::map<std::vector<int>, bool> seen;  // whether it fits
    double budget = first_budget(), fits = 0, breaks = kInfinity;
    bool any = false;
    const int most = 4 * options_.choices;  // with those that choose a plan again
    const int verified_before = result_.choices;
    for (int choice = 0; choice < most && result_.choices < verified_before + options_.choices && !stop(); ++choice) {
      const double start = now();
      if (!has_time_to_choose()) break;
      WHET_TRY(const NetworkPlans plans, plans_within(budget));
      NetworkPlan plan = plans.best.front();
      std::sort(plan.alternatives.begin(), plan.alternatives.end());
      if (!is_lowered(plan)) {  // nothing within this budget is worth it
        if (breaks < kInfinity || budget >= kMostCorrection * first_budget()) break;
        fits = budget, budget *= 4;
        continue;
      }
      any = true;
      if (const auto known = seen.find(plan.alternatives); known != seen.end()) {
        (known->second ? fits : breaks) = budget;
        if (breaks == kInfinity || breaks < kSameBudget * fits) break;
        budget = fits > 0 ? std::sqrt(fits * breaks) : budget / 2;
        continue;
      }
      WHET_TRY(Verified one, verified(plans.best.front(), budget));
      longest_ = std::max(longest_, now() - start);
      result_.gap = plans.gap;
      const double used = std::pow(sum_of_errors(one.plan), 2);  // with less, it is not chosen again
      const bool kept = one.share <= aim_ && std::isfinite(one.error.worst);
      seen[plan.alternatives] = kept;
      const double correction =
          std::clamp(std::pow(aim_ / std::max(one.share, 1e-9), 2), 1 / kMostCorrection, kMostCorrection);
      const bool near = one.share > kNearAim * aim_;
      if (kept) {
        fits = std::max(fits, budget);
        if (!best || one.plan.seconds < best->plan.seconds) best = std::move(one);
        if (near) break;
        budget = std::min(budget * correction, breaks == kInfinity ? kInfinity : std::sqrt(budget * breaks));
      } else {
        breaks = std::min(breaks, budget);
        budget = std::max(std::min(0.9 * budget * correction, 0.99 * used), fits > 0 ? std::sqrt(fits * breaks) : 0);
      }
    }
    if (best) return describe(std::move(*best));
    tell_layers({}, first_budget());
    if (!result_.interrupted) WHET_RETURN_IF_ERROR(stay(why_nothing(any)));
    return std::optional<Verified>();
  }

  /// The one plan of a uniform type, where it keeps what the user allows.
  Result<std::optional<Verified>> take_uniform() {
    const std::optional<Verified> nothing;
    WHET_TRY(const NetworkPlans plans, plans_within(0));
    const NetworkPlan& plan = plans.best.front();
    if (std::ranges::none_of(plan.alternatives, [&](int a) { return at(a).rounds_product == options_.uniform; })) {
      tell_layers({}, 0);
      WHET_RETURN_IF_ERROR(stay("no layer of this network has a kernel on bytes that runs: f32 stays"));
      return nothing;
    }
    result_.gap = plans.gap;
    WHET_TRY(Verified verified_plan, verified(plan, 0));
    std::optional<Verified> one = describe(std::move(verified_plan));
    std::string wrong = one->broken;
    if (!std::isfinite(one->error.worst)) wrong = "an answer is not finite";
    if (!wrong.empty()) {
      WHET_RETURN_IF_ERROR(stay("in bytes " + wrong + ": f32 stays; --precision auto looks for a mix of types"));
      return nothing;
    }
    WHET_TRY(const bool holds, holds_out(*one));
    if (!holds) return nothing;
    return one;
  }

  void tell_layers(const std::vector<int>& plan, double budget) {
    const ErrorUses uses = error_uses(fused_, alternatives_, errors_);
    result_.by_layer = layer_precisions(fused_, alternatives_, hopes_.prices(), uses, plan, budget, ranges_);
  }

  std::optional<Verified> describe(Verified one) {
    tell_layers(one.plan.alternatives, one.budget);
    result_.aim = aim_;
    result_.predicted_error = one.predicted, result_.measured_error = one.error.error;
    result_.kernels = result_.lowered = result_.conversions = 0;  // a choice before may be described already
    result_.lowered_to.clear();
    result_.precision = {};
    for (int a : one.plan.alternatives) {
      if (at(a).task < 0) continue;
      ++result_.kernels;
      if (const auto stored = at(a).rounds_product ? at(a).rounds_product : at(a).rounds_reads)
        ++result_.lowered, ++result_.lowered_to[*stored];
      result_.conversions += at(a).kind == AlternativeKind::transform;
    }
    PlanPrecision& precision = result_.precision;
    precision.samples = options_.samples, precision.weights = hash_of_constants(fused_);
    for (const Allowed& allowed : options_.accuracy.allowed) precision.allowed.push_back(to_text(allowed));
    precision.calibration = std::ssize(options_.calibration), precision.held_out = std::ssize(options_.held_out);
    precision.share = one.share, precision.error = one.error.worst, precision.budget = one.budget;
    if (std::ranges::any_of(lowered_of(kernels_of(fused_, alternatives_, one.plan)), is_whole))
      precision.ranges = ranges_;
    if (options_.uniform) precision.uniform = to_text(ActivationLayout{0, 0, *options_.uniform});
    return one;
  }

  std::string why_nothing(bool any) const {
    if (any) return "every plan in fewer bits that was tried breaks the limits on the samples: f32 stays";
    const LayerError* least = nullptr;
    for (const LayerError& error : errors_)
      if (error.product && (least == nullptr || error.error < least->error)) least = &error;
    if (least == nullptr) return "there was no time to measure the error of a layer: f32 stays";
    if (least->error * least->error > first_budget())
      return fmt::format("no layer can be lowered within {}: the least error of a layer is {} ({}); f32 stays",
                         to_text(options_.accuracy.allowed.front()), percent_text(least->error), least->node);
    if (now() >= options_.tuning.deadline)
      return "no plan of the lowered kernels that there was time to measure has a smaller sum of times: f32 stays";
    return "no plan in fewer bits has a smaller sum of kernels' times: f32 stays";
  }

  // ---- the last word ----

  Result<bool> holds_out(const Verified& chosen) {
    const double start = now();
    WHET_TRY(const SampleInputs got, answers_to(chosen.run, options_.held_out, options_.tuning.interrupted));
    WHET_TRY(const Judged judged, judge(options_.accuracy, output_names(fused_.graph), got, want_held_out_));
    result_.verifying_seconds += now() - start;
    result_.precision.held_out_share = judged.share;
    result_.precision.held_out_error = error_between(got, want_held_out_).worst;
    // The worst of samples to come uses more than the worst of these more often than not. A plan with a lower aim comes near to it.
    const double most = options_.uniform ? 1 : result_.tightened > 0 ? kTightenedShare : options_.aim;
    WHET_TRY(result_.share_to_come, share_to_come(chosen, got));
    const bool others_keep = result_.share_to_come <= 1;
    const auto keeps = [&](const JudgedLimit& limit) { return limit.share <= may_use(limit, most); };
    held_out_part_ = lower_aim(judged.limits, options_.aim);
    const bool finite = std::isfinite(result_.precision.held_out_error);
    const bool these_keep = std::ranges::all_of(judged.limits, keeps);
    if (these_keep && others_keep && finite) return true;
    const auto beyond = [&](const JudgedLimit& limit) { return limit.share / may_use(limit, most); };
    std::string wrong = "an answer is not finite";
    if (finite) {
      const JudgedLimit& worst = *std::ranges::max_element(judged.limits, {}, beyond);
      wrong = to_text(worst);
      if (!these_keep && worst.share <= 1)
        wrong += fmt::format(": {:.2g} of what is allowed, and {:.2g} may be used, since other samples use more",
                             worst.share, most);
    }
    if (finite && these_keep)
      wrong +=
          fmt::format("; samples err so differently that the worst of as many others may use {:.2g} of what is allowed",
                      result_.share_to_come);
    result_.why_not = fmt::format("on the held-out samples {}: f32 stays; {} may be too few", wrong,
                                  counted(std::ssize(options_.calibration) + std::ssize(options_.held_out), "sample"));
    return false;
  }

  /// Of what is allowed, by the samples that calibrate and those that are held out together: half of them are few.
  Result<double> share_to_come(const Verified& chosen, const SampleInputs& held_out) const {
    if (options_.uniform) return 0.0;  // nothing is promised of it
    WHET_TRY(std::vector<double> shares,
             shares_by_sample(options_.accuracy, output_names(fused_.graph), held_out, want_held_out_));
    shares.insert(shares.end(), chosen.shares.begin(), chosen.shares.end());
    return worst_to_come(std::move(shares));
  }

  Result<bool> is_faster(const Verified& chosen) {
    WHET_TRY(ScratchDirectory scratch, ScratchDirectory::make());
    const ScheduleSource best = compiled_schedules(options_.network, &file_.records(), target_);
    const std::string usual = scratch.path() + "/usual.so", lowered = scratch.path() + "/lowered.so";
    CompileOptions compiling;
    compiling.on_kernel = options_.network.on_kernel;
    WHET_TRY(const CompileReport usual_report, compile_model(f32_.fused, best, target_, usual, compiling));
    WHET_TRY(const CompileReport report, compile_model(chosen.network, best, target_, lowered, compiling));
    const NetworkOptions& network = options_.network;
    Bursts bursts{network.bursts, network.burst_seconds};
    if (const double left = network.deadline - now(); std::isfinite(left))
      bursts = bursts_within(left, network.size, bursts, 1, kShortestBurst, kPlanComparisons);
    if (bursts.count == 0) {
      result_.why_not = "no time was left to time the plan in fewer bits in the network: f32 stays";
      return false;
    }
    const ModelRun run{network.open, network.inputs, bursts.seconds, bursts.count};
    const Result<ModelVerdict> seen = compare_in_new_processes(device_, {usual}, {lowered}, run, kFasterPlan);
    (void)device_.time_models({}, {});  // frees the models' memory
    if (!seen.ok()) return stop() ? Result<bool>(false) : seen.error();
    result_.network_seconds = seen->middle.other, result_.usual_network_seconds = seen->middle.usual;
    if (!seen->faster)
      result_.why_not = fmt::format("the plan in fewer bits takes {:.4f} ms, the f32 network {:.4f} ms{}: f32 stays",
                                    seen->middle.other * 1e3, seen->middle.usual * 1e3,
                                    seen->noisy() ? ", and the times are too far apart" : "");
    return seen->faster;
  }

  Status adopt(const Verified& chosen) {
    Plan line{.version = options_.uniform                   ? 6
                         : result_.precision.ranges.empty() ? 4
                                                            : 5,
              .graph = hash_of(fused_),
              .name = plan_name(fused_, options_.name),
              .target = to_string(target_)};
    line.kernels = kernels_of(fused_, alternatives_, chosen.plan);
    line.seconds = chosen.plan.seconds;
    for (std::size_t a = 0; a < alternatives_.usual; ++a) line.usual_seconds += hopes_.prices()[a].seconds;
    line.bound_seconds = line.seconds * (1 - result_.gap);
    line.network_seconds = result_.network_seconds, line.usual_network_seconds = result_.usual_network_seconds;
    line.precision = result_.precision;
    line.whet = version(), line.at = utc_now();
    WHET_RETURN_IF_ERROR(file_.append_plan(line));
    result_.adopted = std::move(line);
    return ok_status();
  }

  const FusedGraph& fused_;
  const Target& target_;
  const Alternatives& alternatives_;
  const ValueRanges& ranges_;
  Measurer& measurer_;
  RecordFile& file_;
  Device& device_;
  const PrecisionOptions& options_;
  const double begun_;
  PlanHopes hopes_;
  PlannedNetwork f32_{{}};             ///< as a compile makes it
  SampleInputs want_, want_held_out_;  ///< its answers to the samples
  std::vector<LayerError> errors_;
  std::vector<double> uses_;
  std::vector<int> never_;  ///< alternatives that are in no plan
  std::set<std::string> given_up_;
  double measuring_begun_ = 0;
  double correction_ = 1;  ///< what the plan that was verified last errs by, over the sum of its layers' errors
  double aim_ = options_.aim;
  double longest_ = 0;        ///< of a choice, with its verification [s]
  double held_out_part_ = 1;  ///< of its aim, that the last choice is to use by what it used on held-out samples
  std::string on_held_out_;   ///< what the first choice did there, where it used too much
  PrecisionSearch result_;
};

}  // namespace

double lower_aim(const std::vector<JudgedLimit>& limits, double aim) {
  double part = 1;
  for (const JudgedLimit& limit : limits) part = std::min(part, part_of(may_use(limit, aim), limit.share));
  return part;
}

Result<PrecisionSearch> search_precision(const FusedGraph& fused, const Target& target, Measurer& measurer,
                                         RecordFile& file, Device& device, const PrecisionOptions& options) {
  AlternativeOptions asked{.covers = false, .lowered = options.lowered};
  if (std::ranges::any_of(options.lowered, is_whole)) {
    Result<std::optional<ValueRanges>> ranges = ranges_on_samples(
        fused, options.calibration, options.held_out, options.open, file, error_options(fused, target, options));
    if (!ranges.ok() && ranges.error().kind == ErrorKind::interrupted) return PrecisionSearch{.interrupted = true};
    if (!ranges.ok()) return ranges.error();
    if (*ranges)
      asked.ranges = std::move(**ranges);
    else
      std::erase_if(asked.lowered, is_whole);
    if (asked.lowered.empty())
      return PrecisionSearch{.why_not = "there was no time to measure the ranges of values: f32 stays"};
  }
  WHET_TRY(const PlannedNetwork network, planned(fused, file.records(), target, options.prices.schedules));
  add_forms_of(network.kernels, asked);
  asked.covers = std::ranges::any_of(network.kernels, [](const PlannedKernel& k) { return names_cover(k.forms); });
  WHET_TRY(const Alternatives alternatives, find_alternatives(fused, target, asked));
  return PrecisionSearcher(fused, target, alternatives, asked.ranges, measurer, file, device, options).run();
}

}  // namespace whet
