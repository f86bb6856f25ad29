#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/cpu/futex.h"
#include "runtime/cpu/work.h"

namespace whet {

/// A worker's state in Shares, on cache lines of its own.
struct alignas(64) Seat {
  /// Upper half: the group whose parts were taken last from this worker's share. Lower half: how many of them were taken.
  std::atomic<std::uint64_t> taken;
  WaitWord inside;  ///< 1 while the worker may touch what belongs to the job

  // Only the worker reads and writes these. Nanoseconds of the clock.
  std::uint64_t turn_began;    ///< when it got the processor, as far as it knows
  std::uint64_t looked;        ///< when it last read the clock
  std::uint64_t shared_until;  ///< until then it counts on other programs beside it
};

/// Divides the parts of a job's steps where other programs use the machine. Each worker has the same share of every step at
/// every run, which keeps data in its caches, and runs it in order. A worker that is done takes parts from the shares of the
/// others. No worker waits for one that holds no part: a job continues, and ends, without workers that have no processor.
/// A worker that has run for a while yields its processor between two parts. Otherwise another program would take the processor
/// soon, inside a part, and all workers would wait for that part.
class Shares {
 public:
  /// Parts of a step in each worker's share.
  static constexpr std::uint32_t kParts = 4;

  /// `seats` has an entry a worker and outlives this.
  void init(Seat* seats, std::uint32_t workers, std::uint64_t spin_ns);
  /// As after init, in a child after fork.
  void reset();

  /// Worker 0: a job begins. Others may join from now on.
  void begin(const whet_work&);
  /// Worker 0: runs the job with all workers that join. Returns when it is done and no worker uses it any more.
  void run();
  /// The other workers: takes part in the job that is under way, if one is. Returns when it has ended.
  void join(std::uint32_t worker);

 private:
  struct Group {
    std::uint32_t number, first, steps;
  };

  bool enter(std::uint32_t worker);
  void leave(std::uint32_t worker);
  bool take_part(std::uint32_t worker);
  static bool look(Seat&);
  static bool ends_turn(Seat&);
  bool give_up_processor(std::uint32_t worker);
  bool wait(const Group&, std::uint32_t worker);
  bool run_group(const Group&, std::uint32_t worker);
  bool run_share(const Group&, std::uint32_t from, std::uint32_t worker, std::uint32_t* done);
  std::uint32_t take(const Group&, std::uint32_t from, bool whole, bool own, std::uint32_t* at);
  void run_parts(const Group&, std::uint32_t from, std::uint32_t at, std::uint32_t count, std::uint32_t worker);
  void run_alone(const Group&, std::uint32_t step, std::uint32_t worker);
  void finish(const Group&, std::uint32_t count);

  // One cache line, which is read at every group. The job's part is written while no other worker is inside.
  Seat* seats_ = nullptr;
  whet_work work_{};
  std::uint32_t begin_ = 0;  ///< number of the job's first group; groups are counted over all jobs
  std::uint32_t workers_ = 0;
  std::uint64_t spin_ns_ = 0;

  alignas(64) std::atomic<std::uint32_t> active_{0};
  alignas(64) WaitWord open_;  ///< the group that may be run; when the job is done, the number behind its last group
  alignas(64) std::atomic<std::uint32_t> finished_{0};  ///< parts of the open group that have ended
};

}  // namespace whet
