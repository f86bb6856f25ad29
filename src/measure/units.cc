#include "measure/units.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "trial/outcome.h"

namespace whet {
namespace {

/// A unit that was lost takes no work of others for so long [s].
constexpr std::chrono::milliseconds kRest{500};
/// How often a waiting thread looks whether the user interrupts, or all units are lost.
constexpr std::chrono::milliseconds kUnitsTick{50};
/// A unit is drained where it fails five times as often as the others, after eight failures of its own and 16 candidates
/// of the others.
constexpr double kFarMoreOften = 5;
constexpr std::int64_t kEnoughFailures = 8, kEnoughCandidates = 16;
/// Of which a unit's factor is the median.
constexpr std::size_t kKeptPaces = 15;

/// 0 for none.
double median(std::deque<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

struct Units::Order {
  const Work* work;
  bool is_done = false, is_running = false;
  Clock::time_point since = Clock::now();
};

Units::Units(const std::vector<Device*>& devices, double patience, std::function<bool()> interrupted)
    : patience_(patience), interrupted_(std::move(interrupted)) {
  std::map<std::string, int> known;
  for (Device* device : devices) {
    auto unit = std::make_unique<Unit>();
    unit->device = device;
    unit->alone = std::make_unique<std::counting_semaphore<>>(std::max(1, device->info().jobs_at_once));
    const std::string& name = device->info().name;
    const int number = ++known[name];
    unit->report.name = numbered_device(name, number);
    units_.push_back(std::move(unit));
  }
  if (units_.size() == 1) return;
  for (std::size_t i = 0; i < units_.size(); ++i)
    for (int k = 0; k < std::max(1, units_[i]->device->info().jobs_at_once); ++k)
      units_[i]->threads.emplace_back([this, i] { serve(i); });
}

Units::~Units() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  ordered_.notify_all();
  for (const auto& unit : units_)
    for (std::thread& thread : unit->threads) thread.join();
}

/// The only unit's, on the caller's thread.
bool Units::do_alone(const Work& work) {
  Unit& unit = *units_[0];
  unit.alone->acquire();
  std::unique_lock<std::mutex> lock(mutex_);
  const bool done = do_work(lock, 0, work);
  lock.unlock();
  unit.alone->release();
  return done;
}

/// The lock is of `mutex_`, and not held while the unit works.
bool Units::do_work(std::unique_lock<std::mutex>& lock, std::size_t number, const Work& work) {
  Unit& unit = *units_[number];
  if (unit.at_work++ == 0) unit.busy_since = Clock::now();
  lock.unlock();
  const bool done = work(*unit.device, number);
  lock.lock();
  if (--unit.at_work == 0)
    unit.report.busy_seconds += std::chrono::duration<double>(Clock::now() - unit.busy_since).count();
  unit.report.losses += !done;
  return done;
}

/// Whether a unit does nothing, and takes what any may do.
bool Units::is_free(const Unit& unit) const {
  return unit.at_work == 0 && !unit.report.drained && Clock::now() >= unit.rests_until;
}
/// A unit takes no second thing where others have none.
bool Units::leaves_to_others(const Unit& unit) const {
  return unit.at_work > 0 && std::ranges::any_of(units_, [&](const auto& other) { return is_free(*other); });
}

/// A thread of a unit.
void Units::serve(std::size_t number) {
  Unit& unit = *units_[number];
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ends_) {
    const bool rests = Clock::now() < unit.rests_until;
    const bool is_own = !unit.own.empty();
    if (!is_own && (rests || any_.empty() || unit.report.drained || leaves_to_others(unit) || is_interrupted())) {
      if (rests)
        ordered_.wait_until(lock, unit.rests_until);
      else
        ordered_.wait(lock);
      continue;
    }
    std::deque<Order*>& queue = is_own ? unit.own : any_;
    Order* order = queue.front();
    queue.pop_front();
    order->is_running = true;
    if (!any_.empty()) ordered_.notify_all();  // this unit is free no more: others need not leave it anything
    const bool done = do_work(lock, number, *order->work);
    order->is_running = false;
    if (!is_own) {  // what is asked of a lost unit itself ends as well, with the answer that it is lost
      if (done) last_success_ = Clock::now();
      unit.rests_until = done ? Clock::time_point{} : Clock::now() + kRest;
    }
    if (done || is_own) {
      order->is_done = true;
      finished_.notify_all();
    } else {
      any_.push_front(order);
      ordered_.notify_all();
    }
  }
}

/// Whether no unit has done anything for too long.
bool Units::is_hopeless(const Order& order) const {
  const auto since = std::max(order.since, last_success_);
  return std::chrono::duration<double>(Clock::now() - since).count() > patience_ &&
         std::ranges::all_of(units_, [](const auto& unit) { return unit->rests_until != Clock::time_point{}; });
}

void Units::wait_for(std::unique_lock<std::mutex>& lock, const std::vector<std::unique_ptr<Order>>& orders) {
  for (const auto& order : orders) {
    while (!order->is_done) {
      finished_.wait_for(lock, kUnitsTick);
      if (order->is_done || order->is_running) continue;
      if (is_interrupted() || is_hopeless(*order)) {
        std::erase(any_, order.get());
        order->is_done = true;
      }
    }
  }
}

void Units::anywhere(const std::vector<Work>& works) {
  if (units_.size() == 1) {
    for (const Work& work : works)
      if (is_interrupted() || !do_alone(work)) return;
    return;
  }
  std::vector<std::unique_ptr<Order>> orders;
  std::unique_lock<std::mutex> lock(mutex_);
  for (const Work& work : works) {
    orders.push_back(std::make_unique<Order>(Order{&work}));
    any_.push_back(orders.back().get());
  }
  ordered_.notify_all();
  wait_for(lock, orders);
}

void Units::on(std::size_t unit, const std::function<void(Device&)>& what) {
  wait_for_own({unit}, [&](Device& device, std::size_t) { return what(device), true; });
}

void Units::on_all(const std::function<void(Device&, std::size_t)>& what) {
  std::vector<std::size_t> all(units_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  wait_for_own(all, [&](Device& device, std::size_t unit) { return what(device, unit), true; });
}

void Units::wait_for_own(const std::vector<std::size_t>& units, const Work& work) {
  if (units_.size() == 1) {
    do_alone(work);
    return;
  }
  std::vector<Order> orders(units.size(), Order{&work});
  std::unique_lock<std::mutex> lock(mutex_);
  for (std::size_t i = 0; i < units.size(); ++i) units_[units[i]]->own.push_back(&orders[i]);
  ordered_.notify_all();
  finished_.wait(lock, [&] { return std::ranges::all_of(orders, &Order::is_done); });
}

/// Only where others work, and by a number of failures that is no accident.
bool Units::fails_alone(const UnitReport& report) const {
  std::int64_t candidates = 0, failed = 0;
  for (const auto& unit : units_) {
    if (&unit->report == &report || unit->report.drained) continue;
    candidates += unit->report.candidates;
    failed += unit->report.failed;
  }
  if (candidates < kEnoughCandidates || report.failed < kEnoughFailures) return false;
  const double others = static_cast<double>(std::max<std::int64_t>(failed, 1)) / static_cast<double>(candidates);
  return static_cast<double>(report.failed) > kFarMoreOften * others * static_cast<double>(report.candidates);
}

void Units::note(std::size_t unit, const std::function<void(UnitReport&)>& change) {
  const std::lock_guard<std::mutex> lock(mutex_);
  UnitReport& report = units_[unit]->report;
  change(report);
  if (!report.drained && fails_alone(report)) report.drained = true;
}

void Units::note_pace(std::size_t unit, double pace) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::deque<double>& paces = units_[unit]->paces;
  paces.push_back(pace);
  if (paces.size() > kKeptPaces) paces.pop_front();
}

std::vector<UnitReport> Units::reports(std::size_t deciding) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const double middle = median(units_[deciding]->paces);
  std::vector<UnitReport> out;
  for (const auto& unit : units_) {
    out.push_back(unit->report);
    if (!unit->paces.empty() && middle > 0) out.back().factor = median(unit->paces) / middle;
  }
  return out;
}

}  // namespace whet
