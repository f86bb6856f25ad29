#include "runtime/cpu/shares.h"

#include <sched.h>

#include "runtime/clock.h"

namespace whet {
namespace {

/// A worker that has had its processor for so long offers it where other programs were seen: schedulers take it after 1
/// to 4 ms, wherever the worker is. Where none was seen it offers it seldom, since that costs some microseconds.
constexpr std::uint64_t kTurnNs = 1000000;
constexpr std::uint64_t kQuietTurnNs = 10000000;
/// A processor that stays away for longer was given to somebody else.
constexpr std::uint64_t kAwayNs = 50000;
/// How long a worker that has seen other programs counts on them.
constexpr std::uint64_t kSharedNs = 20000000;
/// How long a worker that is done waits for the end of the group before it looks at the shares of the others, which
/// takes a cache line from each. On a quiet machine they end at about the same time.
constexpr std::uint64_t kPatienceNs = 20000;

}  // namespace

void Shares::init(Seat* seats, std::uint32_t workers, std::uint64_t spin_ns) {
  seats_ = seats;
  workers_ = workers;
  spin_ns_ = spin_ns;
  reset();
}

void Shares::reset() {
  for (std::uint32_t w = 0; w < workers_; ++w) {
    // Of the group before the first, of which nothing is left.
    seats_[w].taken.store(std::uint64_t{0xffffffffu} << 32, std::memory_order_relaxed);
    seats_[w].inside.reset(0);
    seats_[w].turn_began = seats_[w].looked = seats_[w].shared_until = 0;
  }
  active_.store(0, std::memory_order_relaxed);
  open_.reset(0);
  finished_.store(0, std::memory_order_relaxed);
}

void Shares::begin(const whet_work& work) {
  work_ = work;
  begin_ = open_.load();
  active_.store(1, std::memory_order_release);
}

void Shares::run() {
  look(seats_[0]);
  while (take_part(0)) {
  }
  // Either a worker that enters sees this, or it is seen inside.
  active_.store(0, std::memory_order_seq_cst);
  for (std::uint32_t w = 1; w < workers_; ++w) {
    while (seats_[w].inside.load() != 0) seats_[w].inside.wait_while(1, spin_ns_);
  }
}

void Shares::join(std::uint32_t worker) {
  if (!enter(worker)) return;
  look(seats_[worker]);
  while (take_part(worker)) {
  }
}

/// Whether a job is under way. It does not end before this worker leaves. Worker 0 is always inside.
bool Shares::enter(std::uint32_t worker) {
  if (worker == 0) return true;
  seats_[worker].inside.store(1);
  if (active_.load(std::memory_order_seq_cst) != 0) return true;
  leave(worker);
  return false;
}

void Shares::leave(std::uint32_t worker) {
  if (worker != 0) seats_[worker].inside.store(0);
}

/// Inside: does what there is to do in the open group. Returns false where the job is done; then the worker has left.
bool Shares::take_part(std::uint32_t worker) {
  const std::uint32_t number = open_.load();
  if (number - begin_ >= work_.groups) {
    leave(worker);
    return false;
  }
  const std::uint32_t* first = work_.first_step + (number - begin_);
  const Group group{number, first[0], first[1] - first[0]};
  const bool goes_on = !ends_turn(seats_[worker]) && run_group(group, worker);
  return goes_on ? wait(group, worker) : give_up_processor(worker);
}

/// Reads the clock. Gives true where the worker was busy with something else meanwhile, or had no processor.
bool Shares::look(Seat& seat) {
  const std::uint64_t now = now_ns();
  const bool away = now - seat.looked > kTurnNs;
  if (away) seat.turn_began = now;
  seat.looked = now;
  return away;
}

/// Between two parts: whether the worker has had its processor for a while.
bool Shares::ends_turn(Seat& seat) {
  if (look(seat)) seat.shared_until = seat.looked + kSharedNs;
  return seat.looked - seat.turn_began > (seat.looked < seat.shared_until ? kTurnNs : kQuietTurnNs);
}

/// It would be lost soon where another program wants it, and inside a part, for which all would wait.
bool Shares::give_up_processor(std::uint32_t worker) {
  Seat& seat = seats_[worker];
  leave(worker);
  sched_yield();
  const std::uint64_t now = now_ns();
  if (now - seat.looked > kAwayNs) seat.shared_until = now + kSharedNs;
  seat.turn_began = seat.looked = now;
  return enter(worker);
}

/// Returns when the group has ended; false where the job is over.
bool Shares::wait(const Group& group, std::uint32_t worker) {
  if (open_.load() != group.number) return true;
  leave(worker);
  Seat& seat = seats_[worker];
  const std::uint64_t turn = seat.looked - seat.turn_began;
  open_.wait_while(group.number, spin_ns_, turn < kTurnNs ? kTurnNs - turn : 0);
  look(seat);
  return enter(worker);
}

/// Runs the worker's own share, then what others have left of theirs. Returns false where the worker's turn ends before.
bool Shares::run_group(const Group& group, std::uint32_t worker) {
  Seat& seat = seats_[worker];
  std::uint32_t done = 0;
  const bool whole_turn = run_share(group, worker, worker, &done);
  finish(group, done);
  if (!whole_turn) return false;
  const bool patient = seat.looked >= seat.shared_until;
  if (patient && open_.spin_while(group.number, kPatienceNs)) return true;
  done = 0;
  bool goes_on = true;
  for (std::uint32_t i = 1; i < workers_ && goes_on && open_.load() == group.number; ++i) {
    goes_on = run_share(group, (worker + i) % workers_, worker, &done);
  }
  // Workers that take from each other at once always find something: that is no sign of other programs.
  if (patient && done != 0) seat.shared_until = seat.looked + kSharedNs;
  finish(group, done);
  return goes_on;
}

/// Adds the number of parts that it ran to `done`. Returns false where the worker's turn ends before the share.
bool Shares::run_share(const Group& group, std::uint32_t from, std::uint32_t worker, std::uint32_t* done) {
  Seat& seat = seats_[worker];
  const bool own = from == worker;
  std::uint32_t at;
  while (const std::uint32_t count = take(group, from, own && seat.looked >= seat.shared_until, own, &at)) {
    run_parts(group, from, at, count, worker);
    *done += count;
    if (count != kParts && ends_turn(seat)) return false;
  }
  return true;
}

/// Takes the next parts of a worker's share: those of a whole step, or one. Gives their number, 0 where none may be
/// taken.
std::uint32_t Shares::take(const Group& group, std::uint32_t from, bool whole, bool own, std::uint32_t* at) {
  std::atomic<std::uint64_t>& taken = seats_[from].taken;
  std::uint64_t seen = taken.load(std::memory_order_relaxed);
  while (true) {
    const std::uint32_t of = static_cast<std::uint32_t>(seen >> 32);
    const std::uint32_t next = of == group.number ? static_cast<std::uint32_t>(seen) : 0;
    // A worker that comes late may be looking at a group that has ended.
    if ((of != group.number && of != group.number - 1) || next == group.steps * kParts) return 0;
    const std::uint8_t kind = work_.kind[group.first + next / kParts];
    if (kind == WHET_WORK_TOGETHER && !own) return 0;
    const std::uint32_t count = kind == WHET_WORK_DIVIDED && (!whole || next % kParts != 0) ? 1 : kParts;
    if (taken.compare_exchange_weak(seen, std::uint64_t{group.number} << 32 | (next + count),
                                    std::memory_order_relaxed)) {
      *at = next;
      return count;
    }
  }
}

void Shares::run_parts(const Group& group, std::uint32_t from, std::uint32_t at, std::uint32_t count,
                       std::uint32_t worker) {
  const std::uint32_t step = group.first + at / kParts;
  if (work_.kind[step] == WHET_WORK_ALONE) {
    if (from == 0) run_alone(group, step, worker);
  } else if (count == kParts) {
    work_.run(work_.context, step, from, workers_, worker);
  } else {
    work_.run(work_.context, step, from * kParts + at % kParts, workers_ * kParts, worker);
  }
}

/// Steps of this kind may depend on each other: the first one runs with all that follow, and the others are empty.
void Shares::run_alone(const Group& group, std::uint32_t step, std::uint32_t worker) {
  for (std::uint32_t before = group.first; before < step; ++before) {
    if (work_.kind[before] == WHET_WORK_ALONE) return;
  }
  for (; step < group.first + group.steps; ++step) {
    if (work_.kind[step] == WHET_WORK_ALONE) work_.run(work_.context, step, 0, 1, worker);
  }
}

/// Counts parts that have ended. Whoever counts the last one opens the next group.
void Shares::finish(const Group& group, std::uint32_t count) {
  if (count == 0) return;
  const std::uint32_t before = finished_.fetch_add(count, std::memory_order_acq_rel);
  if (before + count != group.steps * kParts * workers_) return;
  finished_.store(0, std::memory_order_relaxed);
  open_.store(group.number + 1);
}

}  // namespace whet
