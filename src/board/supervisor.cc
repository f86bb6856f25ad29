#include "board/supervisor.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "base/version.h"
#include "board/model_client.h"
#include "board/slot_turn.h"
#include "board/watch.h"
#include "device/job.h"
#include "device/local/runner_client.h"
#include "device/protocol/bounds.h"

namespace whet {
namespace {

constexpr int kServed = 0, kBroken = 3;
/// Jobs that may wait while one runs.
constexpr std::size_t kMostQueued = 2;
/// How long an idle supervisor sleeps [s]; a message wakes it.
constexpr double kIdleSeconds = 1;
/// Resident bytes beyond a task's at which a runner is replaced: boards have little memory.
constexpr std::int64_t kBoardRecycle = std::int64_t{256} << 20;
/// A board's clock and heat are looked at no more often.
constexpr std::chrono::milliseconds kMoment{20};
constexpr const char* kNoModels = "compiled models do not run there: whet-device was started with --no-models";
constexpr double kLeastDead = 0.1, kMostDead = 60;

class Supervisor {
 public:
  Supervisor(SessionLink& link, Zygote& zygote, const DeviceDescription& board, const SupervisorClocks& clocks,
             const Life& runner, const Life* models)
      : link_(link), zygote_(zygote), board_(board), clocks_(clocks), life_(runner) {
    if (models) models_.emplace(zygote, board, *models);
  }

  int run() {
    if (!link_.send(SessionType::hello, 0, encode(SessionHello{.program = version(), .details = encode(board_)})))
      return kServed;
    if (const std::string complaint = greet(); !complaint.empty()) return leave(complaint);
    while (!gone()) {
      if (!jobs_.empty()) {
        const Queued job = std::move(jobs_.front());
        jobs_.pop_front();
        begin_for(job.user);
        job.message.type == SessionType::order ? run_models(job.message) : run_job(job.message);
      } else if (auto message = link_.receive(kIdleSeconds)) {
        take(std::move(*message));
      }
    }
    if (!complaint_.empty()) return leave(complaint_);
    return link_.error().empty() ? kServed : leave(link_.error());
  }

 private:
  int leave(const std::string& why) {
    link_.send(SessionType::bye, 0, printable(why));
    return kBroken;
  }

  /// "" where both ends can talk.
  std::string greet() {
    const auto message = link_.receive(clocks_.hello);
    if (!message) return link_.error().empty() ? "no hello came" : link_.error();
    const auto hello = message->type == SessionType::hello ? decode<SessionHello>(message->payload) : std::nullopt;
    if (!hello) return "the first message is no hello";
    if (hello->highest < kSessionLowest || hello->lowest > kSessionHighest)
      return "this whet-device speaks version " + std::to_string(kSessionHighest) +
             " of device sessions; whet speaks " + std::to_string(hello->lowest) + " to " +
             std::to_string(hello->highest);
    if (hello->kernel_args != WHET_KERNEL_ARGS_VERSION)
      return "this whet-device calls kernels by version " + std::to_string(WHET_KERNEL_ARGS_VERSION) +
             " of their arguments; whet makes version " + std::to_string(hello->kernel_args);
    return "";
  }

  bool gone() const { return link_.ended() || left_ || !complaint_.empty() || link_.silence() > dead_seconds_; }

  /// A message at any time.
  void take(SessionMessage message) {
    switch (message.type) {
      case SessionType::ping:
        link_.send(SessionType::pong, message.id, std::move(message.payload));
        return;
      case SessionType::open:
        if (const auto open = decode<SessionOpen>(message.payload)) {
          dead_seconds_ = std::clamp(open->dead_seconds, kLeastDead, kMostDead);
          link_.set_dead_seconds(dead_seconds_);
          user_ = open->user;
          link_.send(SessionType::opened, 0, "");
          return;
        }
        break;
      case SessionType::need:
        return answer_files(message.id, models_ ? models_->need(message.payload)
                                                : Result<std::string>(encode(SessionHave{kNoModels, {}})));
      case SessionType::blob:
        if (models_) return answer_files(message.id, models_->add_blob(message.payload));
        break;
      case SessionType::order:
        if (!models_) break;
        [[fallthrough]];
      case SessionType::job:
        if (jobs_.size() < kMostQueued) return jobs_.push_back({std::move(message), user_});
        complaint_ = "more jobs were sent than wait here";
        return;
      case SessionType::cancel:
        cancelled_ = true;
        for (const Queued& job : jobs_) finish(job.message.id);
        jobs_.clear();
        return;
      case SessionType::bye:
        left_ = true;
        return;
      default:
        break;
    }
    complaint_ = "a message of type " + std::to_string(static_cast<int>(message.type)) + " makes no sense here";
  }

  /// Kernels and models of one user leave nothing in the processes that run those of the next: threads, or changed code.
  void begin_for(const std::string& user) {
    if (user == served_) return;
    served_ = user;
    if (runner_) runner_->renew();
    if (models_) models_->renew();
  }

  void answer_files(std::uint32_t id, const Result<std::string>& have) {
    if (have.ok())
      link_.send(SessionType::have, id, *have);
    else
      complaint_ = have.error().message;
  }

  void run_models(const SessionMessage& message) {
    cancelled_ = false;
    SlotTurn turn;
    if (!wait_for(turn, message.id)) return finish(message.id);
    const Status done = models_->carry_out(
        message.payload, [&](std::string answer) { link_.send(SessionType::answer, message.id, std::move(answer)); },
        [this] { return is_disturbed(); });
    if (done.ok()) return finish(message.id);
    complaint_ = done.error().message;
  }

  /// Reads what came; whether the job at hand is wanted no more.
  bool is_disturbed() {
    while (!gone()) {
      auto message = link_.receive(0);
      if (!message) break;
      take(std::move(*message));
    }
    return cancelled_ || gone();
  }

  void run_job(const SessionMessage& message) {
    const auto job = decode_session_job(message.payload, board_.limits.kernels);
    if (!job || !(job->kernel_seconds > 0) || job->kernel_seconds > board_.limits.kernel_seconds) {
      complaint_ = "job " + std::to_string(message.id) + " makes no sense";
      return;
    }
    cancelled_ = false;
    SlotTurn turn;
    if (!wait_for(turn, message.id)) return finish(message.id);
    RunnerClient& runner = runner_for(job->kernel_seconds);
    const std::uint32_t items = static_cast<std::uint32_t>(job->items());
    double incumbent = 0;
    for (std::uint32_t number = 0; number < items && !is_disturbed(); ++number) {
      link_.send(SessionType::starting, message.id, encode(std::uint64_t{number}));
      SessionItem item{number, job->champion ? answer(runner, with_incumbent(*job, number, incumbent), message.id)
                                             : answer(runner, job->request(number), message.id)};
      if (job->champion && number == 0) incumbent = incumbent_after(std::get<MeasureReply>(item.reply));
      if (gone() || !link_.send(SessionType::item, message.id, encode(item))) return;
    }
    finish(message.id);
  }
  /// A request of a job with a champion, which itself has no incumbent.
  static SessionRequest with_incumbent(const SessionJob& job, std::size_t number, double incumbent) {
    SessionRequest request = job.request(number);
    if (auto* measure = std::get_if<MeasureRequest>(&request))
      measure->policy.incumbent_seconds = number < job.requests.size() ? incumbent : 0;
    return request;
  }
  void finish(std::uint32_t id) { link_.send(SessionType::done, id, ""); }

  /// Jobs of several sessions take turns. False where the session ends, or the job is wanted no more.
  bool wait_for(SlotTurn& turn, std::uint32_t id) {
    const auto start = std::chrono::steady_clock::now();
    double noted = 0;
    while (!turn.take(board_.unit, served_)) {
      const double waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (waited - noted >= clocks_.note) {
        noted = waited;
        link_.send(SessionType::waiting, id, encode(SessionWaiting{waited, turn.holder()}));
      }
      if (is_disturbed()) return false;
      usleep(static_cast<useconds_t>(clocks_.slot_tick * 1e6));
    }
    return !is_disturbed();
  }

  RunnerClient& runner_for(double kernel_seconds) {
    if (!runner_ || runner_seconds_ != kernel_seconds) {
      runner_ = std::make_unique<RunnerClient>(
          zygote_, kernel_seconds, kBoardRecycle, [this] { return is_disturbed(); }, life_);
      runner_seconds_ = kernel_seconds;
    }
    return *runner_;
  }

  /// Times a kernel; once more where the processor was hot, after it has cooled down.
  MeasureReply measure_cool(RunnerClient& runner, const MeasureRequest& request, std::uint32_t id) {
    std::vector<std::uint32_t> cores = request.job.cpu.cores;
    if (cores.empty())
      for (const DeviceCore& core : board_.cores)
        if (core.usable) cores.push_back(core.id);
    if (cores != seen_.cores) look_again(cores, runner.process());
    for (bool again = false;; again = true) {
      MeasureReply reply = runner.measure(request);
      const BoardState before = seen_.state;
      look_again(cores, runner.process());
      const std::string why = board_.emulator.empty() ? why_hot(before, seen_.state, usual_ghz(seen_.state)) : "";
      reply.conditions = seen_.conditions;
      reply.conditions.throttled = !why.empty();
      if (why.empty() || again || reply.code != OutcomeCode::ok || is_disturbed()) return reply;
      cool_down(why, cores, id);
    }
  }
  /// What the board is like now; as it was a moment ago, where somebody looked then.
  void look_again(const std::vector<std::uint32_t>& cores, const WorkerProcess& runner) {
    const auto now = std::chrono::steady_clock::now();
    if (cores == seen_.cores && runner.pid == seen_.runner && now - seen_.at < kMoment) return;
    seen_ = {now, runner.pid, cores, look_at(cores), {}};
    seen_.conditions.cores = runner.alive() ? cores_of_process(runner.pid) : cores;
    seen_.conditions.governor = printable(governor_of(cores));
    seen_.conditions.ghz = std::round(seen_.state.ghz * 1e3) / 1e3;
    seen_.conditions.celsius = seen_.state.celsius;
  }
  /// The highest clock seen in this session on a board, whose clock under load is fixed; else 0.
  double usual_ghz([[maybe_unused]] const BoardState& now) {
#if defined(__aarch64__)
    best_ghz_ = std::max(best_ghz_, now.ghz);
#endif
    return best_ghz_;
  }
  /// Until the processor is no longer hot; not for ever.
  void cool_down(std::string why, const std::vector<std::uint32_t>& cores, std::uint32_t id) {
    const auto start = std::chrono::steady_clock::now();
    double noted = -clocks_.note;
    for (double waited = 0; !why.empty() && waited < clocks_.cool && !is_disturbed();) {
      if (waited - noted >= clocks_.note) {
        noted = waited;
        link_.send(SessionType::waiting, id, encode(SessionWaiting{waited, "the device cools down: " + why}));
      }
      usleep(static_cast<useconds_t>(clocks_.cool_tick * 1e6));
      const BoardState before = seen_.state;
      seen_.state = look_at(cores);
      why = why_hot(before, seen_.state, best_ghz_);
      waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    if (!why.empty()) best_ghz_ = 0;  // the clock is what it is: not every kernel waits for another one
  }

  std::variant<MeasureReply, CheckReply, SpotsReply> answer(RunnerClient& runner, const SessionRequest& request,
                                                            std::uint32_t id) {
    if (const auto* measure = std::get_if<MeasureRequest>(&request)) {
      std::string why = why_refused(measure->job);
      if (!why.empty()) return MeasureReply{OutcomeCode::rejected, std::move(why)};
      return measure_cool(runner, *measure, id);
    }
    if (const auto* spots = std::get_if<SpotsRequest>(&request))
      return look_at_spots(*spots, [&](const CheckRequest& check) { return checked(runner, check); });
    return checked(runner, std::get<CheckRequest>(request));
  }
  CheckReply checked(RunnerClient& runner, const CheckRequest& check) {
    std::string why = why_refused(check.job);
    if (why.empty() && check.packing) why = why_refused(*check.packing);
    if (why.empty()) why = why_too_large(check);
    if (!why.empty()) return CheckReply{OutcomeCode::rejected, std::move(why), {}};
    return runner.check(check);
  }

  /// The outputs come to this process, which is outside of the sandbox and its limits.
  std::string why_too_large(const CheckRequest& check) const {
    const std::uint64_t bytes = most_answer_bytes(check),
                        most = static_cast<std::uint64_t>(board_.memory_bytes) / kShareOfMemory;
    return bytes <= most
               ? ""
               : "the outputs have " + std::to_string(bytes) + " bytes; the device takes " + std::to_string(most);
  }
  std::string why_refused(const KernelJob& job) const {
    if (job.threads > board_.limits.threads)
      return "the kernel wants " + std::to_string(job.threads) + " threads; the device has " +
             std::to_string(board_.limits.threads) + " usable cores";
    for (const std::uint32_t core : job.cpu.cores) {
      const auto found = std::ranges::find(board_.cores, core, &DeviceCore::id);
      if (found == board_.cores.end() || !found->usable)
        return "the kernel is to run on core " + std::to_string(core) + ", which the device may not use";
    }
    return "";
  }

  SessionLink& link_;
  Zygote& zygote_;
  const DeviceDescription& board_;
  SupervisorClocks clocks_;
  const Life& life_;
  std::unique_ptr<RunnerClient> runner_;
  std::optional<ModelClient> models_;  ///< nothing: no models run here
  double runner_seconds_ = 0, dead_seconds_ = 10, best_ghz_ = 0;
  struct Queued {
    SessionMessage message;
    std::string user;  ///< who asked for it
  };
  std::deque<Queued> jobs_;
  std::string user_, served_;  ///< who asks now, and whose job was run last
  /// The last look at the board.
  struct Seen {
    std::chrono::steady_clock::time_point at{};
    pid_t runner = -1;
    std::vector<std::uint32_t> cores;
    BoardState state;
    RunConditions conditions;
  } seen_;
  bool cancelled_ = false, left_ = false;
  std::string complaint_;
};

}  // namespace

int serve_session(SessionLink& link, Zygote& zygote, const DeviceDescription& board, const SupervisorClocks& clocks,
                  const Life& runner, const Life* models) {
  return Supervisor(link, zygote, board, clocks, runner, models).run();
}

}  // namespace whet
