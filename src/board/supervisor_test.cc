#include "board/supervisor.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>

#include "base/rng.h"
#include "base/testing/random_cases.h"
#include "board/blob_store.h"
#include "board/describe.h"
#include "board/model_client.h"
#include "board/slot_turn.h"
#include "device/testing/processes.h"
#include "runner/testing/kernels.h"

namespace whet::supervisor_test {
namespace {

KernelJob kernel(const std::string& name) { return testing_kernels::job(WHET_TEST_KERNELS, name); }

/// This machine as a unit of its own: sessions of tests beside this one take no turns with it.
DeviceDescription own_unit() {
  DeviceDescription board = describe_board();
  const std::string number = std::to_string(getpid());
  board.unit = std::string(16 - number.size(), '0') + number;
  return board;
}

/// A supervisor in a process of its own, and our end of its session.
class ServedBoard {
 public:
  explicit ServedBoard(DeviceDescription board = own_unit()) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0);
    setenv("XDG_CACHE_HOME", ::testing::TempDir().c_str(), 1);
    pid_ = fork();
    if (pid_ == 0) {
      close(ends_[0]);
      signal(SIGPIPE, SIG_IGN);
      Zygote zygote = std::move(Zygote::start()).value();
      SessionLink link(ends_[1], ends_[1], board.limits.message_bytes, 5);
      SupervisorClocks clocks;
      clocks.note = 0.05;
      _exit(serve_session(link, zygote, board, clocks, kRunner, &kBestModels));
    }
    close(ends_[1]);
    link_.emplace(ends_[0], ends_[0], std::size_t{64} << 20, 5);
  }
  ~ServedBoard() {
    close(ends_[0]);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }

  SessionLink& link() { return *link_; }
  /// MB of memory of its own that the supervisor has.
  double megabytes() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("RssAnon:")) return std::stod(line.substr(8)) / 1024;
    return 0;
  }
  int socket() const { return ends_[0]; }
  /// The process that runs kernels.
  pid_t runner() const { return testing::descendants(pid_).back(); }
  SessionMessage next() {
    auto message = link_->receive(20);
    EXPECT_TRUE(message.has_value()) << "nothing came: " << link_->error();
    return message.value_or(SessionMessage{});
  }
  /// Past the greetings.
  void greet(double dead_seconds = 10) {
    EXPECT_EQ(next().type, SessionType::hello);
    link().send(SessionType::hello, 0, encode(SessionHello{.program = "test"}));
    link().send(SessionType::open, 0, encode(SessionOpen{"me", dead_seconds}));
    EXPECT_EQ(next().type, SessionType::opened);
  }
  /// The exit status, once the session has ended.
  int status() {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  /// "starting 0, item 0: 0, done": what comes of a job.
  std::string answers(const SessionJob& job, std::uint32_t id = 7) {
    link().send(SessionType::job, id, encode(job));
    std::string text;
    for (;;) {
      const SessionMessage message = next();
      EXPECT_EQ(message.id, id);
      if (message.type == SessionType::starting)
        text += "starting " + std::to_string(decode<std::uint64_t>(message.payload).value()) + ", ";
      if (message.type == SessionType::item) {
        const SessionItem item = decode<SessionItem>(message.payload).value();
        const auto code = std::visit([](const auto& reply) { return reply.code; }, item.reply);
        text += "item " + std::to_string(item.number) + ": " + std::string(name_of(code)) + ", ";
      }
      if (message.type == SessionType::bye) return text + "bye: " + message.payload;
      if (message.type == SessionType::done) return text + "done";
      if (message.type == SessionType{}) return text + "nothing";
    }
  }

 private:
  int ends_[2] = {-1, -1};
  pid_t pid_ = -1;
  std::optional<SessionLink> link_;
};

TEST(Supervisor, SaysWhatTheBoardIs) {
  ServedBoard board;
  const SessionMessage message = board.next();
  ASSERT_EQ(message.type, SessionType::hello);
  const auto hello = decode<SessionHello>(message.payload);
  ASSERT_TRUE(hello.has_value());
  const auto device = decode<DeviceDescription>(hello->details);
  ASSERT_TRUE(device.has_value());
  EXPECT_EQ(device->unit.size(), 16u);
  EXPECT_EQ(device->page_bytes, sysconf(_SC_PAGESIZE));
  EXPECT_GT(device->limits.threads, 0u);
  EXPECT_FALSE(device->features.empty());
}
TEST(Supervisor, AnswersEachRequestOfAJob) {
  ServedBoard board;
  board.greet();
  const SessionJob job{5,
                       {MeasureRequest{kernel("add_one"), {}}, MeasureRequest{kernel("write_null"), {}},
                        CheckRequest{kernel("add_one"), {}, {}, {}}}};
  EXPECT_EQ(board.answers(job), "starting 0, item 0: ok, starting 1, item 1: crash, starting 2, item 2: ok, done");
}
TEST(Supervisor, TimesAChampionBeforeAndAfterTheOthers) {
  ServedBoard board;
  board.greet();
  EXPECT_EQ(board.answers({5, {MeasureRequest{kernel("add_one"), {}}, MeasureRequest{kernel("write_null"), {}}}, true}),
            "starting 0, item 0: ok, starting 1, item 1: crash, starting 2, item 2: ok, done");
  EXPECT_EQ(
      board.answers({5, {MeasureRequest{kernel("write_null"), {}}, CheckRequest{kernel("add_one"), {}, {}, {}}}, true}),
      "starting 0, item 0: crash, starting 1, item 1: ok, starting 2, item 2: crash, done");
}
TEST(Supervisor, StopsAKernelThatHangs) {
  ServedBoard board;
  board.greet();
  EXPECT_EQ(board.answers({0.3, {MeasureRequest{kernel("hang"), {}}}}), "starting 0, item 0: run_timeout, done");
  EXPECT_EQ(board.answers({5, {MeasureRequest{kernel("add_one"), {}}}}), "starting 0, item 0: ok, done");
}
TEST(Supervisor, EndsItsRunnerWhenTheUserChanges) {
  ServedBoard board;
  board.greet();
  const SessionJob job{5, {MeasureRequest{kernel("add_one"), {}}}};
  board.answers(job);
  const pid_t first = board.runner();
  board.answers(job);
  EXPECT_EQ(board.runner(), first);
  board.link().send(SessionType::open, 0, encode(SessionOpen{"ann", 10}));
  EXPECT_EQ(board.next().type, SessionType::opened);
  EXPECT_EQ(board.answers(job), "starting 0, item 0: ok, done");
  EXPECT_NE(board.runner(), first);
  EXPECT_TRUE(testing::gone(first));
}
TEST(Supervisor, GrowsByNoAnswerOfAKernel) {
  ServedBoard board;
  board.greet();
  EXPECT_EQ(board.answers({5, {CheckRequest{kernel("answer_without_end"), {}, {}, {}}}}),
            "starting 0, item 0: crash, done");
  if (!testing::kSanitized) {
    EXPECT_LT(board.megabytes(), 64);
  }
  KernelJob large = kernel("add_one");
  large.arguments[1].bytes = describe_board().memory_bytes / 4;
  EXPECT_EQ(board.answers({5, {CheckRequest{large, {}, {}, {}}}}), "starting 0, item 0: rejected, done");
}
TEST(Supervisor, AnswersPingsWhileAKernelRuns) {
  ServedBoard board;
  board.greet();
  board.link().send(SessionType::job, 1, encode(SessionJob{3, {MeasureRequest{kernel("hang"), {}}}}));
  EXPECT_EQ(board.next().type, SessionType::starting);
  board.link().send(SessionType::ping, 0, encode(std::uint64_t{42}));
  const SessionMessage pong = board.next();
  EXPECT_EQ(pong.type, SessionType::pong) << "before the kernel's limit";
  EXPECT_EQ(decode<std::uint64_t>(pong.payload), 42u);
}
TEST(Supervisor, GivesAJobUpThatIsCancelled) {
  ServedBoard board;
  board.greet();
  board.link().send(SessionType::job, 1,
                    encode(SessionJob{30, {MeasureRequest{kernel("hang"), {}}, MeasureRequest{kernel("hang"), {}}}}));
  EXPECT_EQ(board.next().type, SessionType::starting);
  board.link().send(SessionType::cancel, 1, "");
  const SessionMessage item = board.next();
  EXPECT_EQ(item.type, SessionType::item);
  EXPECT_EQ(board.next().type, SessionType::done);
  EXPECT_EQ(board.answers({5, {MeasureRequest{kernel("add_one"), {}}}}), "starting 0, item 0: ok, done");
}
TEST(Supervisor, RefusesWhatTheDeviceCannotDo) {
  ServedBoard board;
  board.greet();
  KernelJob many = kernel("add_one"), elsewhere = kernel("add_one"), other = kernel("add_one");
  many.threads = 1000;
  elsewhere.cpu.cores = {1000};
  other.kernel.format = CodeFormat::ptx;
  const SessionJob job{5, {MeasureRequest{many, {}}, CheckRequest{elsewhere, {}, {}, {}}}};
  EXPECT_EQ(board.answers(job), "starting 0, item 0: rejected, starting 1, item 1: rejected, done");
}
TEST(Supervisor, EndsASessionThatMakesNoSense) {
  const auto ended = [](SessionType type, const std::string& payload) {
    ServedBoard board;
    board.greet();
    board.link().send(type, 3, payload);
    const SessionMessage bye = board.next();
    EXPECT_EQ(bye.type, SessionType::bye);
    EXPECT_EQ(board.status(), 3);
    return bye.payload;
  };
  EXPECT_EQ(ended(SessionType::job, "x"), "job 3 makes no sense");
  EXPECT_EQ(ended(SessionType::pong, ""), "a message of type 14 makes no sense here");
  EXPECT_EQ(ended(SessionType::job, encode(SessionJob{1e5, {MeasureRequest{kernel("add_one"), {}}}})),
            "job 3 makes no sense");
  EXPECT_EQ(ended(SessionType::need, "x"), "what is said of files makes no sense");
  EXPECT_EQ(ended(SessionType::blob, "x"), "a piece of a file makes no sense");
  EXPECT_EQ(ended(SessionType::blob, encode(SessionBlob{std::string(64, 'a'), 0, "x"})),
            "a piece of a file came that was not asked for");
  EXPECT_EQ(ended(SessionType::order, "x"), "an order for models makes no sense");
  const SessionJob long_job{5, std::vector<SessionRequest>(18, MeasureRequest{kernel("add_one"), {}})};
  EXPECT_EQ(ended(SessionType::job, encode(long_job)), "job 3 makes no sense");
}
TEST(Supervisor, AnswersOrdersThatItCannotCarryOut) {
  const auto failure = [](const ModelOrder& order) {
    ServedBoard board;
    board.greet();
    board.link().send(SessionType::order, 9, encode(order));
    const SessionMessage message = board.next();
    EXPECT_EQ(message.type, SessionType::answer);
    EXPECT_EQ(board.next().type, SessionType::done);
    const auto answer = decode<ModelAnswer>(message.payload);
    return answer && answer->kind == ModelAnswerKind::failed ? answer->sentence : "no failure";
  };
  ModelOrder order;
  EXPECT_EQ(failure(order), "no failure") << "an order without models gives up what is open";
  order.models = {{std::string(64, 'a'), 1}};
  EXPECT_EQ(failure(order), "the file aaaaaaaaaaaa is not on the device");
  order.models.resize(17, order.models.front());
  EXPECT_EQ(failure(order), "the device opens 16 models with 64 inputs at most");
}
TEST(Supervisor, RefusesOtherVersions) {
  const auto refused = [](const SessionHello& hello) {
    ServedBoard board;
    board.next();
    board.link().send(SessionType::hello, 0, encode(hello));
    const SessionMessage bye = board.next();
    EXPECT_EQ(bye.type, SessionType::bye);
    return bye.payload;
  };
  EXPECT_EQ(refused({.lowest = 7, .highest = 9}),
            "this whet-device speaks version 3 of device sessions; whet speaks 7 to 9");
  EXPECT_EQ(refused({.kernel_args = 99}).substr(0, 44), "this whet-device calls kernels by version 2 ");
}
TEST(Supervisor, EndsWhenTheOtherEndIsSilent) {
  ServedBoard board;
  board.greet(0.3);
  EXPECT_NE(board.status(), -1);
}
TEST(Supervisor, EndsWhenTheOtherEndIsGone) {
  ServedBoard board;
  board.greet();
  board.link().send(SessionType::job, 1, encode(SessionJob{30, {MeasureRequest{kernel("hang"), {}}}}));
  EXPECT_EQ(board.next().type, SessionType::starting);
  shutdown(board.socket(), SHUT_RDWR);
  EXPECT_EQ(board.status(), 0) << "within less than the kernel's limit";
}
TEST(Supervisor, LetsSessionsTakeTurns) {
  DeviceDescription one = describe_board();
  one.unit = "turns-" + std::to_string(getpid());
  ServedBoard board(one);
  board.greet();
  SlotTurn taken;
  ASSERT_TRUE(taken.take(one.unit, "ann"));
  board.link().send(SessionType::job, 1, encode(SessionJob{5, {MeasureRequest{kernel("add_one"), {}}}}));
  const SessionMessage note = board.next();
  ASSERT_EQ(note.type, SessionType::waiting);
  EXPECT_GT(decode<SessionWaiting>(note.payload)->seconds, 0);
  const std::string why = decode<SessionWaiting>(note.payload)->why;
  EXPECT_TRUE(why.starts_with("process " + std::to_string(getpid()) + " has had the device for ")) << why;
  EXPECT_TRUE(why.ends_with(" s, for ann")) << why;
  taken.give_back();
  SessionMessage message = note;
  while (message.type == SessionType::waiting) message = board.next();
  EXPECT_EQ(message.type, SessionType::starting);
}
TEST(Supervisor, SurvivesGarbage) {
  Rng rng(11);
  KernelJob broken = kernel("add_one");
  broken.kernel.code = "no object";
  for (int round = 0; round < 12; ++round) {
    ServedBoard board;
    board.greet();
    ModelOrder order;
    order.models = {{std::string(64, 'a'), 1}};
    std::string bytes = frames_of({SessionType::job, 1, encode(SessionJob{1, {MeasureRequest{broken, {}}}})}) +
                        frames_of({SessionType::need, 2, encode(SessionNeed{order.models})}) +
                        frames_of({SessionType::blob, 2, encode(SessionBlob{order.models[0].hash, 0, "x"})}) +
                        frames_of({SessionType::order, 3, encode(order)});
    for (int i = 0; i < 4; ++i)
      bytes[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size())))] ^=
          static_cast<char>(rng.between(1, 255));
    ASSERT_EQ(send(board.socket(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    shutdown(board.socket(), SHUT_WR);
    EXPECT_GE(board.status(), 0) << "round " << round << ": a signal ended the supervisor";
  }
}
/// The beginning of a message as long as a stranger may claim.
std::string claim_of(SessionType type, std::uint32_t bytes) {
  std::string frame = frames_of({type, 1, "x"}).substr(0, kSessionHeaderBytes);
  std::memcpy(frame.data() + kSessionHeaderBytes - sizeof bytes, &bytes, sizeof bytes);
  return frame;
}
TEST(Supervisor, HasLittleMemoryWhateverAStrangerSends) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizer's own memory is counted";
  constexpr double kMostMegabytes = 64, kMostOfLongest = 128;
  const auto memory_after = [](const std::string& bytes, int times) {
    ServedBoard board;
    board.greet();
    double most = 0;
    for (int i = 0; i < times; ++i) {
      // The stranger never reads: an answer that the supervisor cannot send ends its session, and sending ends then.
      for (std::string_view rest = bytes; !rest.empty();) {
        pollfd wait{board.socket(), POLLOUT, 0};
        if (poll(&wait, 1, 100) <= 0) break;
        const ssize_t n = send(board.socket(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0) break;
        rest.remove_prefix(static_cast<std::size_t>(n));
      }
      most = std::max(most, board.megabytes());
    }
    return most;
  };
  EXPECT_LT(memory_after(claim_of(SessionType::job, 0xffffffff) + std::string(1000000, 'x'), 20), kMostMegabytes);
  EXPECT_LT(memory_after(claim_of(SessionType::job, 3000000) + std::string(2900000, 'x'), 1), kMostMegabytes);
  EXPECT_LT(memory_after(frames_of({SessionType::ping, 0, std::string(100000, 'x')}), 1000), kMostMegabytes);
  KernelJob many = kernel("add_one");
  many.arguments.resize(300000, many.arguments.front());
  EXPECT_LT(memory_after(frames_of({SessionType::job, 1, encode(SessionJob{1, {MeasureRequest{many, {}}}})}), 2),
            kMostOfLongest)
      << "a message as long as it takes, in parts and whole";
  std::string jobs;
  for (std::uint32_t id = 1; id <= 2000; ++id)
    jobs += frames_of({SessionType::job, id, encode(SessionJob{1, {MeasureRequest{kernel("add_one"), {}}}})});
  EXPECT_LT(memory_after(jobs, 10), kMostMegabytes);
  EXPECT_GT(memory_after(frames_of({SessionType::ping, 0, ""}), 1), 0) << "it is measured";
}
TEST(Supervisor, ServesManySessionsInTurn) {
  DeviceDescription one = describe_board();
  one.unit = "many-" + std::to_string(getpid());
  constexpr int kSessions = 30;
  std::vector<std::unique_ptr<ServedBoard>> boards;
  for (int i = 0; i < kSessions; ++i) boards.push_back(std::make_unique<ServedBoard>(one));
  for (const auto& board : boards) board->greet(60);
  const SessionJob job{5, {MeasureRequest{kernel("add_one"), {}}}};
  for (const auto& board : boards) board->link().send(SessionType::job, 7, encode(job));
  for (const auto& board : boards) {
    SessionMessage message = board->next();
    while (message.type == SessionType::waiting || message.type == SessionType::starting) message = board->next();
    ASSERT_EQ(message.type, SessionType::item);
    EXPECT_EQ(std::get<MeasureReply>(decode<SessionItem>(message.payload)->reply).code, OutcomeCode::ok);
  }
  // A board has copies of the sockets of those before it, and so ends before them.
  while (!boards.empty()) boards.pop_back();
}
TEST(SlotTurns, AreOfNobodyElse) {
  const std::string folder = own_folder("slots");
  SlotTurn turn;
  EXPECT_TRUE(turn.take("own", ""));
  struct stat found{};
  ASSERT_EQ(lstat((folder + "/own").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  ASSERT_EQ(lstat(folder.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
  EXPECT_EQ(found.st_uid, geteuid());
}
TEST(SlotTurns, AreOneAtATime) {
  const std::string slot = "slot-" + std::to_string(getpid());
  SlotTurn first, second;
  EXPECT_TRUE(first.take(slot, ""));
  EXPECT_TRUE(first.take(slot, "")) << "it has it already";
  EXPECT_FALSE(second.take(slot, ""));
  first.give_back();
  EXPECT_TRUE(second.take(slot, ""));
}
TEST(Emulators, AreSeenByAnotherProcess) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    close(ends[1]);
    (void)!read(ends[0], &byte, 1);
    _exit(0);
  }
  EXPECT_EQ(emulator_of_this_program(child), "") << "this program runs on the processor";
  close(ends[1]);
  waitpid(child, nullptr, 0);
  close(ends[0]);
}

}  // namespace
}  // namespace whet::supervisor_test
