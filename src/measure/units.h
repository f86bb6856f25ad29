#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "device/device.h"

namespace whet {

/// What a unit did in a run, for the report.
struct UnitReport {
  std::string name;
  std::string unit;  ///< as its records have it; "" of this machine's devices
  std::int64_t jobs = 0, candidates = 0, failed = 0;
  int losses = 0;           ///< how often it was lost
  double busy_seconds = 0;  ///< of wall time, with a job or a comparison
  double factor = 1;        ///< its times against the deciding unit's: 1.1 is 10% slower
  bool drained = false;     ///< it failed so often that it gets no more candidates
};

/// Devices of one target at work side by side. Each does one thing at a time, and is asked for as many as it takes at once: what
/// is asked of it alone goes before what any may do. Work that a unit loses goes to the others; a unit that was lost rests for a moment. Where there is but
/// one device, work runs on the caller's thread. For several threads.
class Units {
 public:
  ///   patience     seconds that work waits for a unit, once all are lost
  ///   interrupted  what has not begun is left; may be empty
  Units(const std::vector<Device*>&, double patience, std::function<bool()> interrupted);
  ~Units();
  Units(const Units&) = delete;

  std::size_t size() const { return units_.size(); }
  const Device& device(std::size_t unit) const { return *units_[unit]->device; }
  /// Asking them costs time: all devices are of one kind.
  bool are_far_away() const { return device(0).info().job_candidates > 1; }
  /// Of its device; further ones of the same name have a number behind it, "board #2".
  const std::string& name(std::size_t unit) const { return units_[unit]->report.name; }

  /// Work on a device. False where the device was lost before all was done: it is called again, for another unit.
  using Work = std::function<bool(Device&, std::size_t unit)>;
  /// Runs each work on whichever unit is free first, and waits for all; in no order. Where all units are lost for too
  /// long, or the user interrupts, the rest is left as it is.
  void anywhere(const std::vector<Work>&);
  /// Runs work on this unit, whatever becomes of it, and waits.
  void on(std::size_t unit, const std::function<void(Device&)>&);

  /// The same on every unit.
  void on_all(const std::function<void(Device&, std::size_t unit)>&);

  /// Adds to what is known of a unit, and drains it where it fails far more often than the others.
  void note(std::size_t unit, const std::function<void(UnitReport&)>&);
  /// How much longer a champion took on a unit than when and where it won.
  void note_pace(std::size_t unit, double pace);
  /// `deciding`: the unit that the others' factors are against.
  std::vector<UnitReport> reports(std::size_t deciding) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Order;  // a work that waits
  struct Unit {
    Device* device = nullptr;
    UnitReport report;
    std::deque<double> paces;  ///< the last few
    std::deque<Order*> own;    ///< for this unit alone
    Clock::time_point rests_until{};
    int at_work = 0;  ///< what it was asked for and has not answered
    Clock::time_point busy_since{};
    std::unique_ptr<std::counting_semaphore<>> alone;  ///< of the device, where there is no thread
    std::vector<std::thread> threads;                  ///< one for each thing that it is asked for at once
  };

  void serve(std::size_t unit);
  bool is_free(const Unit&) const;
  bool leaves_to_others(const Unit&) const;
  bool do_alone(const Work&);
  bool do_work(std::unique_lock<std::mutex>&, std::size_t unit, const Work&);
  bool is_hopeless(const Order&) const;
  bool fails_alone(const UnitReport&) const;
  bool is_interrupted() const { return interrupted_ && interrupted_(); }
  void wait_for_own(const std::vector<std::size_t>& units, const Work&);
  void wait_for(std::unique_lock<std::mutex>&, const std::vector<std::unique_ptr<Order>>&);

  std::vector<std::unique_ptr<Unit>> units_;
  double patience_;
  std::function<bool()> interrupted_;
  mutable std::mutex mutex_;  ///< of all below, and of the units' reports and orders
  std::deque<Order*> any_;    ///< for whichever unit is free
  Clock::time_point last_success_ = Clock::now();
  bool ends_ = false;
  std::condition_variable ordered_, finished_;
};

}  // namespace whet
