#include "workflow/repeats.h"

#include <algorithm>
#include <utility>

#include "base/arithmetic.h"
#include "space/space.h"

namespace whet {
namespace {

/// Of each schedule; the best of them counts.
constexpr int kBursts = 4;

std::vector<Device*> devices_of(const Workplace& place) {
  std::vector<Device*> devices;
  for (const auto& device : place.devices) devices.push_back(device.get());
  return devices;
}

}  // namespace

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string failure_text(const Outcome& outcome) {
  const std::string name(name_of(outcome.code));
  return outcome.message.empty() ? name : name + ": " + outcome.message;
}

Repeats::Repeats(const TuneSettings& settings, Workplace& place, Zygote& zygote, const std::vector<Device*>& devices)
    : settings_(settings),
      target_(place.prepared.place.target),
      builders_(zygote, settings.builders, {.timeout = settings.build_timeout}),
      measurer_(builders_, devices, measure_options(settings, place.prepared)) {}

Result<std::unique_ptr<Repeats>> Repeats::make(const TuneSettings& settings, Workplace& place, Zygote& zygote) {
  std::unique_ptr<Repeats> repeats(new Repeats(settings, place, zygote, devices_of(place)));
  WHET_RETURN_IF_ERROR(calibrate(settings, place.prepared, repeats->measurer_));
  return repeats;
}

std::string Repeats::usual(const Task& task) const {
  const Result<Steps> steps = default_steps(task.dag, target_, settings_.rounding.schedules());
  return steps.ok() ? to_text(*steps) : "";
}

std::optional<Repeated> Repeats::time(const Task& task, const std::vector<std::string>& schedules,
                                      const std::function<bool(const Repeated&)>& doubted) {
  std::vector<std::string> all = schedules;
  const std::string of_default = usual(task);
  const auto place = static_cast<std::size_t>(std::ranges::find(all, of_default) - all.begin());
  if (place == all.size()) all.push_back(of_default);
  std::vector<Outcome> outcomes = measurer_.compare(measured(task), all, kBursts);
  const auto repeated = [&] {
    const auto end = outcomes.begin() + static_cast<std::ptrdiff_t>(schedules.size());
    return Repeated{{outcomes.begin(), end}, outcomes[place]};
  };
  if (!is_interrupted() && doubted(repeated())) {
    const std::vector<Outcome> more = measurer_.compare(measured(task), all, kBursts);
    for (std::size_t i = 0; i < outcomes.size(); ++i)
      outcomes[i].seconds.insert(outcomes[i].seconds.end(), more[i].seconds.begin(), more[i].seconds.end());
  }
  return is_interrupted() ? std::nullopt : std::optional(repeated());
}

std::optional<std::vector<double>> Repeats::side_by_side(const std::vector<TaskSchedule>& schedules) {
  std::vector<double> seconds(schedules.size(), kInfinity);
  for (int burst = 0; burst < kBursts; ++burst)
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      const auto& [task, steps] = schedules[i];
      const Outcome seen = measurer_.compare(measured(*task), {steps}, 1).front();
      if (is_interrupted()) return std::nullopt;
      seconds[i] = std::min(seconds[i], seen.best_seconds());
    }
  return seconds;
}

std::vector<std::vector<Outcome>> Repeats::across(const LadderTask& task, const std::vector<SizedSchedule>& schedules) {
  return time_again(task, schedules, target_, measurer_, settings_.model.seed);
}

Outcome Repeats::checked(const Task& task, const std::string& steps, Precision precision, Outcome timed) {
  if (!timed.ok() || is_interrupted()) return timed;
  Outcome answers = measurer_.check(measured(task), steps, precision);
  return answers.ok() || is_interrupted() ? timed : answers;
}

}  // namespace whet
