#include "runtime/cpu/shares.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <memory>
#include <thread>
#include <vector>

#include "base/rng.h"

namespace whet {
namespace shares_test {

constexpr std::uint64_t kSpinNs = 20000;

/// Groups of steps of random kinds, which check how they are run.
class CheckedWork {
 public:
  CheckedWork(Rng& rng, std::uint32_t workers, bool together) : workers_(workers), meet_(workers) {
    const std::int64_t groups = 1 + rng.below(6);
    for (std::int64_t g = 0; g < groups; ++g) {
      first_.push_back(static_cast<std::uint32_t>(kinds_.size()));
      for (std::int64_t n = 1 + rng.below(4); n > 0; --n) {
        kinds_.push_back(static_cast<std::uint8_t>(together ? rng.below(3) : 1 + rng.below(2)));
        group_of_.push_back(static_cast<std::uint32_t>(g));
      }
    }
    first_.push_back(static_cast<std::uint32_t>(kinds_.size()));
    parts_ = std::vector<std::atomic<int>>(kinds_.size() * workers * Shares::kParts);
    ended_ = std::vector<std::atomic<std::uint32_t>>(kinds_.size());
  }

  whet_work work() { return {this, static_cast<std::uint32_t>(first_.size() - 1), first_.data(), kinds_.data(), run}; }
  /// Called in every part, with the worker that runs it.
  void (*in_part)(std::uint32_t worker) = nullptr;

  void expect_done() {
    for (const std::atomic<int>& part : parts_) ASSERT_EQ(part, 1);
    EXPECT_EQ(wrong_, 0);
    for (std::atomic<int>& part : parts_) part = 0;
    for (std::atomic<std::uint32_t>& ended : ended_) ended = 0;
  }

 private:
  static void run(void* context, std::uint32_t step, std::uint32_t part, std::uint32_t parts, std::uint32_t worker) {
    static_cast<CheckedWork*>(context)->run_part(step, part, parts, worker);
  }

  std::uint32_t all_of(std::uint32_t step) const {
    return kinds_[step] == WHET_WORK_ALONE ? 1 : workers_ * Shares::kParts;
  }

  void run_part(std::uint32_t step, std::uint32_t part, std::uint32_t parts, std::uint32_t worker) {
    for (std::uint32_t before = 0; before < first_[group_of_[step]]; ++before)
      wrong_ += ended_[before] != all_of(before);
    if (in_part != nullptr) in_part(worker);
    const std::size_t first = step * workers_ * Shares::kParts;
    if (kinds_[step] == WHET_WORK_ALONE) {
      wrong_ += parts != 1 || part != 0;
      for (std::uint32_t before = first_[group_of_[step]]; before < step; ++before)
        wrong_ += kinds_[before] == WHET_WORK_ALONE && ended_[before] != 1;
      for (std::uint32_t i = 0; i < workers_ * Shares::kParts; ++i) ++parts_[first + i];
      ended_[step] = 1;
      return;
    }
    if (kinds_[step] == WHET_WORK_TOGETHER) {
      wrong_ += parts != workers_ || part != worker;
      meet_.arrive_and_wait();
    }
    const std::uint32_t each = workers_ * Shares::kParts / parts;
    for (std::uint32_t i = 0; i < each; ++i) ++parts_[first + part * each + i];
    ended_[step] += each;
  }

  std::uint32_t workers_;
  std::vector<std::uint32_t> first_, group_of_;
  std::vector<std::uint8_t> kinds_;
  std::vector<std::atomic<int>> parts_;            ///< of each step: how often each of its smallest parts was run
  std::vector<std::atomic<std::uint32_t>> ended_;  ///< of each step: parts that have ended
  std::atomic<int> wrong_{0};
  std::barrier<> meet_;
};

/// Shares with threads for all workers but the caller, which look for jobs all the time.
class Team {
 public:
  explicit Team(std::uint32_t workers) : seats_(new Seat[workers]) {
    shares_.init(seats_.get(), workers, kSpinNs);
    for (std::uint32_t w = 1; w < workers; ++w) {
      threads_.emplace_back([this, w] {
        while (!stop_) {
          shares_.join(w);
          sched_yield();
        }
      });
    }
  }
  ~Team() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

  void run(const whet_work& work) {
    shares_.begin(work);
    shares_.run();
  }

 private:
  std::unique_ptr<Seat[]> seats_;
  Shares shares_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

TEST(Shares, RunEveryPartOnceAndEveryGroupAfterTheOneBefore) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Rng rng(seed);
    const std::uint32_t workers = 2 + static_cast<std::uint32_t>(rng.below(4));
    Team team(workers);
    for (int job = 0; job < 20; ++job) {
      CheckedWork work(rng, workers, true);
      for (int round = 0; round < 3; ++round) {
        team.run(work.work());
        work.expect_done();
      }
    }
  }
}

TEST(Shares, DoTheSameWithWorkersThatSleepInTheirParts) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Rng rng(seed);
    const std::uint32_t workers = 2 + static_cast<std::uint32_t>(rng.below(3));
    Team team(workers);
    for (int job = 0; job < 6; ++job) {
      CheckedWork work(rng, workers, seed % 2 == 0);
      work.in_part = [](std::uint32_t worker) {
        static std::atomic<std::uint32_t> calls{0};
        if (calls.fetch_add(1) % 7 == worker % 7) usleep(300);
      };
      team.run(work.work());
      work.expect_done();
    }
  }
}

TEST(Shares, EndAJobWithoutTheWorkersThatNeverCome) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    const std::unique_ptr<Seat[]> seats(new Seat[3]);
    Shares shares;
    shares.init(seats.get(), 3, kSpinNs);
    for (int job = 0; job < 5; ++job) {
      CheckedWork work(rng, 3, false);
      shares.begin(work.work());
      shares.run();
      work.expect_done();
      shares.join(1);  // too late: the job is over, and nothing of it is touched
    }
  }
}

/// Worker 1 takes a long nap in its first part. What it has not begun is run by worker 0 meanwhile.
TEST(Shares, LetAWorkerThatIsDoneTakeFromOneThatIsLate) {
  static std::atomic<int> parts_of_1;
  static std::atomic<bool> in_part;
  const std::uint32_t first[] = {0, 4};
  const std::uint8_t kinds[] = {WHET_WORK_DIVIDED, WHET_WORK_DIVIDED, WHET_WORK_DIVIDED, WHET_WORK_DIVIDED};
  const auto run = [](void*, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t worker) {
    if (worker == 0) {
      while (!in_part) sched_yield();
      return;
    }
    ++parts_of_1;
    in_part = true;
    usleep(100000);
  };
  Team team(2);
  int least = 4;  // more than one only where worker 0 is kept from its processor for longer than the nap
  for (int round = 0; round < 10 && least > 1; ++round) {
    parts_of_1 = 0, in_part = false;
    team.run({nullptr, 1, first, kinds, run});
    least = std::min(least, parts_of_1.load());
  }
  EXPECT_EQ(least, 1) << "of the four steps";
}

}  // namespace shares_test
}  // namespace whet
