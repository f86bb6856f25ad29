#include "measure/units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>

#include "device/testing/fake_devices.h"

namespace whet::units_test {
namespace {

using testing::FormulaDevice;

/// Devices that do nothing, and units of them.
struct Idle {
  explicit Idle(const std::vector<std::string>& names, double patience = 0.2, std::function<bool()> interrupted = {},
                int at_once = 1) {
    for (const std::string& name : names)
      owned.push_back(
          std::make_unique<FormulaDevice>([](const KernelJob&) { return 1e-3; }, FormulaDevice::Outputs{}, name));
    std::vector<Device*> devices;
    for (const auto& device : owned) {
      device->set_jobs_at_once(at_once);
      devices.push_back(device.get());
    }
    units = std::make_unique<Units>(devices, patience, std::move(interrupted));
  }
  std::vector<std::unique_ptr<FormulaDevice>> owned;
  std::unique_ptr<Units> units;
};
void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }
/// Until a condition holds; ten seconds at most, by which a busy machine has run every thread.
template <typename Condition>
void wait_until(Condition condition) {
  for (int i = 0; i < 5000 && !condition(); ++i) pause();
}

TEST(Units, HaveNamesOfTheirOwn) {
  const Idle idle({"pi", "pi", "box", "pi"});
  std::string names;
  for (std::size_t i = 0; i < 4; ++i) names += idle.units->name(i) + ", ";
  EXPECT_EQ(names, "pi, pi #2, box, pi #3, ");
}
TEST(Units, ShareWorkAndDoOneThingAtATime) {
  const Idle idle({"a", "b", "c"});
  std::atomic<int> done = 0;
  std::atomic<int> busy[3] = {}, works[3] = {};
  const auto all_work = [&] { return std::ranges::all_of(works, [](const std::atomic<int>& n) { return n > 0; }); };
  const Units::Work work = [&](Device&, std::size_t unit) {
    EXPECT_EQ(busy[unit]++, 0) << "it is at something else";
    ++works[unit];
    wait_until(all_work);
    pause();
    --busy[unit];
    ++done;
    return true;
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) callers.emplace_back([&] { idle.units->anywhere(std::vector<Units::Work>(10, work)); });
  idle.units->on(1, [&](Device& device) { work(device, 1); });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(done, 41);
  EXPECT_TRUE(all_work());
}
TEST(Units, AreAskedForAsManyThingsAsTheyTakeAtOnce) {
  for (const std::vector<std::string>& names : {std::vector<std::string>{"alone"}, {"a", "b"}}) {
    const Idle idle(names, 0.2, {}, 2);
    std::atomic<int> busy[2] = {}, most = 0;
    const Units::Work work = [&](Device&, std::size_t unit) {
      const int now = ++busy[unit];
      EXPECT_LE(now, 2);
      for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      wait_until([&] { return most >= 2; });
      pause();
      --busy[unit];
      return true;
    };
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) callers.emplace_back([&] { idle.units->anywhere(std::vector<Units::Work>(10, work)); });
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(most, 2) << names.size() << " units";
    EXPECT_GT(idle.units->reports(0)[0].busy_seconds, 0);
  }
}
TEST(Units, TakeNothingMoreWhileAnotherHasNothing) {
  const Idle idle({"a", "b"}, 0.2, {}, 2);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> arrived = 0;
    std::atomic<bool> together = true;
    std::set<std::size_t> units;
    std::mutex mutex;
    const Units::Work meet = [&](Device&, std::size_t unit) {
      {
        const std::lock_guard<std::mutex> lock(mutex);
        units.insert(unit);
      }
      ++arrived;
      wait_until([&] { return arrived >= 2; });
      if (arrived < 2) together = false;
      return true;
    };
    idle.units->anywhere({meet, meet});
    EXPECT_TRUE(together);
    EXPECT_EQ(units.size(), 2u);
  }
}
TEST(Units, GiveWhatOneLosesToAnother) {
  const Idle idle({"dead", "alive"}, 5);
  std::atomic<int> done = 0, lost = 0;
  idle.units->anywhere(std::vector<Units::Work>(6, [&](Device&, std::size_t unit) {
    ++(unit == 1 ? done : lost);
    wait_until([&] { return lost > 0; });
    return unit == 1;
  }));
  EXPECT_EQ(done, 6);
  EXPECT_GT(idle.units->reports(0)[0].losses, 0);
}
TEST(Units, GiveUpWhereAllAreLost) {
  const Idle idle({"a", "b"});
  std::atomic<int> tried = 0;
  const Units::Work lost = [&](Device&, std::size_t) {
    ++tried;
    return false;
  };
  idle.units->anywhere({lost, lost, lost});
  EXPECT_GE(tried, 2);
  const Idle alone({"a"});
  tried = 0;
  alone.units->anywhere({lost, lost});
  EXPECT_EQ(tried, 1) << "the only device has had its patience";
}
TEST(Units, GiveUpAlsoWhereLostOnesAreAskedForThemselves) {
  const Idle idle({"a", "b"}, 0.2);
  std::atomic<bool> ends = false;
  std::thread asking([&] {
    for (int i = 0; i < 200 && !ends; ++i) {
      for (const std::size_t unit : {0, 1}) idle.units->on(unit, [](Device&) {});
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  std::atomic<int> tried = 0;
  idle.units->anywhere({[&](Device&, std::size_t) {
    ++tried;
    return false;
  }});
  ends = true;
  asking.join();
  EXPECT_LT(tried, 20) << "the answers of lost units are no work done";
}
TEST(Units, LeaveWhatHasNotBegunWhenTheUserInterrupts) {
  std::atomic<bool> interrupted = false;
  const Idle idle({"a", "b"}, 5, [&] { return interrupted.load(); });
  std::atomic<int> done = 0;
  idle.units->anywhere(std::vector<Units::Work>(100, [&](Device&, std::size_t) {
    if (++done == 4) interrupted = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return true;
  }));
  EXPECT_LT(done, 20);
}
TEST(Units, RunOnAllAtOnce) {
  const Idle idle({"a", "b", "c"});
  std::atomic<int> here = 0;
  idle.units->on_all([&](Device&, std::size_t) {
    ++here;
    while (here < 3) pause();  // each waits for the others
  });
  EXPECT_EQ(here, 3);
}
TEST(Units, AreDrainedWhereTheyAloneFail) {
  const Idle idle({"good", "bad", "better"});
  for (int i = 0; i < 10; ++i) {
    for (const std::size_t good : {0, 2}) idle.units->note(good, [](UnitReport& report) { report.candidates += 8; });
    idle.units->note(1, [](UnitReport& report) { report.candidates += 8, report.failed += 4; });
  }
  const std::vector<UnitReport> reports = idle.units->reports(0);
  EXPECT_FALSE(reports[0].drained);
  EXPECT_TRUE(reports[1].drained);
  std::set<std::size_t> seen;
  std::mutex mutex;
  idle.units->anywhere(std::vector<Units::Work>(12, [&](Device&, std::size_t unit) {
    pause();
    const std::lock_guard<std::mutex> lock(mutex);
    seen.insert(unit);
    return true;
  }));
  EXPECT_FALSE(seen.contains(1));
}
TEST(Units, AreNotDrainedWhereAllFail) {
  const Idle idle({"a", "b"});
  for (int i = 0; i < 10; ++i)
    for (const std::size_t unit : {0, 1})
      idle.units->note(unit, [](UnitReport& report) { report.candidates += 8, report.failed += 7; });
  for (const UnitReport& report : idle.units->reports(0)) EXPECT_FALSE(report.drained);
}
TEST(Units, KnowTheirFactors) {
  const Idle idle({"a", "b", "c"});
  for (const double noise : {0.99, 1.0, 1.01, 5.0, 1.0}) {
    idle.units->note_pace(0, 1.1 * noise);
    idle.units->note_pace(1, 1.21 * noise);
  }
  const std::vector<UnitReport> reports = idle.units->reports(0);
  EXPECT_DOUBLE_EQ(reports[0].factor, 1);
  EXPECT_NEAR(reports[1].factor, 1.1, 1e-9);
  EXPECT_DOUBLE_EQ(reports[2].factor, 1) << "nothing is known of it";
}

}  // namespace
}  // namespace whet::units_test
