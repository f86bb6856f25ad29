#include "device/remote/remote_device.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "device/testing/device_contract.h"
#include "device/testing/processes.h"
#include "device/testing/test_models.h"
#include "runner/testing/kernels.h"

namespace whet::remote_device_test {
namespace {

KernelJob kernel(const std::string& name) { return testing_kernels::job(WHET_TEST_KERNELS, name); }
bool is_built() { return std::filesystem::exists(WHET_DEVICE); }

/// Short clocks: the tests wait for dead links.
RemoteOptions options_for(const std::string& command) {
  RemoteOptions options;
  options.address = "exec:" + command;
  options.argv = {"sh", "-c", command};
  options.run_timeout = 2;
  options.clocks = {.connect = 3, .ping = 0.1, .dead = 1, .margin = 2};
  options.back_off = {0.05, 0.1};
  return options;
}
const std::string kServe = std::string("exec ") + WHET_DEVICE + " --stdio";

std::unique_ptr<Device> remote() {
  auto device = RemoteDevice::connect(options_for(kServe));
  return device.ok() ? std::move(*device) : nullptr;
}
std::string why_not(const std::string& command) {
  const auto device = RemoteDevice::connect(options_for(command));
  return device.ok() ? "" : device.error().message.substr(("exec:" + command + ": ").size());
}
std::string outcome(Device& device, const std::string& name) {
  const MeasureReply reply = device.measure({kernel(name), {}});
  return std::string(name_of(reply.code)) + (reply.message.empty() ? "" : ": " + reply.message);
}

testing::DeviceUnderTest under_test() {
  KernelJob broken = kernel("add_one");
  broken.kernel.code = "no object";
  static const testing::TestModels models;
  constexpr std::uint32_t kMachine = 62;
  return {"over_exec",
          remote,
          kernel("add_one"),
          {broken, kernel("write_null"), kernel("hang")},
          {{models.file(WHET_TEST_MODEL, kMachine, 1)}, {models.file(WHET_TEST_MODEL, kMachine, 2)}},
          {testing::order_for('a')}};
}

#if defined(WHET_AARCH64_DEVICE)
/// The board's program for AArch64 by an emulator, where there is one.
std::string emulate(const std::string& options = "") {
  return "exec qemu-aarch64-static -cpu cortex-a72 " + options + WHET_AARCH64_DEVICE +
         " --stdio --model-runner 'qemu-aarch64-static -L /usr/aarch64-linux-gnu'";
}
std::unique_ptr<RemoteDevice> emulated(const std::string& options_of_emulator = "") {
  RemoteOptions options = options_for(emulate(options_of_emulator));
  options.clocks.connect = 20;
  options.clocks.dead = 10;
  return RemoteDevice::connect(options).value();
}
KernelJob arm_kernel(const std::string& name) { return testing_kernels::job(WHET_AARCH64_TEST_KERNELS, name); }
bool has_emulator() { return std::system("command -v qemu-aarch64-static > /dev/null") == 0; }

testing::DeviceUnderTest emulated_board() {
  static const testing::TestModels models;
  constexpr std::uint32_t kMachine = 183;
  KernelJob broken = arm_kernel("add_one");
  broken.kernel.code = "no object";
  return {"emulated_aarch64",
          [] { return emulated(); },
          arm_kernel("add_one"),
          {broken, arm_kernel("write_null"), arm_kernel("hang")},
          {{models.file(WHET_AARCH64_TEST_MODEL, kMachine, 1)}, {models.file(WHET_AARCH64_TEST_MODEL, kMachine, 2)}},
          {testing::order_for('a')}};
}

TEST(EmulatedBoards, SayThatTheyAreEmulated) {
  if (!has_emulator()) GTEST_SKIP() << "qemu-aarch64-static is missing";
  const auto device = emulated();
  const DeviceDescription& board = device->description();
  EXPECT_EQ(board.emulator, "qemu-aarch64-static");
  EXPECT_EQ(board.machine, "aarch64");
  for (const DeviceCore& core : board.cores) {
    EXPECT_EQ(core.midr & 0xff00fff0, 0x4100d080u) << "of a Cortex-A72";
  }
}
TEST(EmulatedBoards, RunKernelsWithPagesOfAnySize) {
  if (!has_emulator()) GTEST_SKIP() << "qemu-aarch64-static is missing";
  for (const char* pages : {"-p 4096 ", "-p 16384 ", "-p 65536 "}) {
    const auto device = emulated(pages);
    for (const CacheMode cache : {CacheMode::network, CacheMode::cold}) {
      MeasureRequest request{arm_kernel("add_one"), {}};
      request.policy.cache = cache;
      const MeasureReply reply = device->measure(request);
      EXPECT_EQ(reply.code, OutcomeCode::ok) << pages << name_of(cache) << ": " << reply.message;
    }
  }
}
TEST(EmulatedBoards, MakeTheSameInputsFromTheirSeeds) {
  if (!has_emulator() || !is_built()) GTEST_SKIP() << "qemu-aarch64-static or whet-device is missing";
  const std::unique_ptr<Device> here = remote(), there = emulated();
  const CheckReply a = here->check({kernel("add_one"), {}, {}, {}}),
                   b = there->check({arm_kernel("add_one"), {}, {}, {}});
  ASSERT_EQ(b.code, OutcomeCode::ok) << b.message;
  EXPECT_EQ(a.outputs, b.outputs);
}
#endif

class RemoteDevices : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_built()) GTEST_SKIP() << WHET_DEVICE << " is not built: clang++-19 is missing";
  }
};

using testing::SupervisorKiller;

/// Of a device whose supervisors are killed. `before`: what its shell does first.
RemoteOptions options_with(const SupervisorKiller& killer, const std::string& before = "") {
  RemoteOptions options = options_for(before + killer.note() + kServe);
  options.run_timeout = 20;  // no end of the kernel's own on a busy machine
  return options;
}

TEST_F(RemoteDevices, SayWhatTheyAre) {
  const auto device = RemoteDevice::connect(options_for(kServe)).value();
  EXPECT_FALSE(device->description().cores.empty());
  EXPECT_EQ(device->description().emulator, "");
  EXPECT_EQ(device->info().name, device->description().name);
}
TEST_F(RemoteDevices, FailAsLocalOnesDo) {
  const auto device = remote();
  EXPECT_EQ(outcome(*device, "add_one"), "ok");
  EXPECT_EQ(outcome(*device, "write_null"), "crash: the kernel crashed: SIGSEGV at an address that is null");
  EXPECT_EQ(outcome(*device, "hang"), "run_timeout: the kernel did not finish within 2 s");
  EXPECT_EQ(outcome(*device, "add_one"), "ok");
}
TEST_F(RemoteDevices, KeepTheirFilesProcessesAndNetworkFromKernels) {
  const auto device = RemoteDevice::connect(options_for(kServe + " --sandbox best")).value();
  const std::vector<std::string>& layers = device->description().sandbox;
  if (std::ranges::find(layers, "seccomp") == layers.end()) GTEST_SKIP() << "this system filters no calls";
  for (const char* refused :
       {"open_a_file", "take_much_memory", "map_shared_memory", "map_a_stack", "stretch_the_stack", "move_the_parent"})
    EXPECT_EQ(outcome(*device, refused), "ok") << refused << " is refused, which the kernel reports as success";
  for (const char* forbidden : {"make_a_process", "make_a_socket", "signal_the_parent"}) {
    EXPECT_EQ(outcome(*device, forbidden), "crash: the kernel crashed: SIGSYS") << forbidden;
    EXPECT_EQ(outcome(*device, "add_one"), "ok") << "after " << forbidden;
  }
}
TEST_F(RemoteDevices, LetKernelsDoWhatTheUserMayWithoutASandbox) {
  const auto device = RemoteDevice::connect(options_for(kServe + " --sandbox off")).value();
  EXPECT_TRUE(device->description().sandbox.empty());
  EXPECT_EQ(outcome(*device, "open_a_file"), "runtime: the kernel reported error 7");
}
TEST_F(RemoteDevices, PrintNothingThatAKernelWrites) {
  const std::string file = ::testing::TempDir() + "/printed." + std::to_string(getpid());
  for (const char* sandbox : {"strict", "off"}) {
    const auto device = RemoteDevice::connect(options_for(kServe + " --sandbox " + sandbox + " 2> " + file)).value();
    EXPECT_EQ(outcome(*device, "print_escapes"), "ok");
    EXPECT_EQ(std::filesystem::file_size(file), 0u) << sandbox;
  }
  std::filesystem::remove(file);
}
TEST_F(RemoteDevices, KeepWhatAKernelLeavesBehindFromTheNext) {
  const auto device = remote();
  EXPECT_EQ(outcome(*device, "leave_a_thread").substr(0, 17), "crash: the kernel");
  EXPECT_EQ(outcome(*device, "answer_itself"), "crash: the kernel broke its runner: its answer makes no sense");
  EXPECT_EQ(outcome(*device, "add_one"), "ok");
}
TEST_F(RemoteDevices, RunKernelsOfOneUserInNoProcessOfAnother) {
  auto session = RemoteSession::open({"sh", "-c", kServe}, {}, {}).value();
  const SessionJob job{2, {MeasureRequest{kernel("add_one"), {}}}};
  const auto runner_after = [&](const std::string& user) {
    session.begin_for(user);
    EXPECT_TRUE(session.run(job, {}).items[0].has_value());
    return testing::descendants(getpid()).back();
  };
  const pid_t of_ann = runner_after("ann");
  EXPECT_EQ(runner_after("ann"), of_ann);
  EXPECT_NE(runner_after("ben"), of_ann);
  EXPECT_TRUE(testing::gone(of_ann));
}
TEST_F(RemoteDevices, SayWhomTheyWaitFor) {
  RemoteOptions slow = options_for(kServe), waits = slow;
  slow.run_timeout = 5;
  std::string told;
  waits.tell = [&](const std::string& note) { told += note + "\n"; };
  const auto first = RemoteDevice::connect(slow).value(), second = RemoteDevice::connect(waits).value();
  std::thread hog([&] { outcome(*first, "hang"); });
  testing::computing(getpid());
  EXPECT_EQ(outcome(*second, "add_one"), "ok");
  hog.join();
  EXPECT_TRUE(told.starts_with(waits.address + " waits: process ")) << told;
  EXPECT_NE(told.find(" has had the device for "), told.npos) << told;
}
TEST_F(RemoteDevices, LimitHowLongAKernelMayTake) {
  RemoteOptions options = options_for(kServe);
  options.run_timeout = 1000;
  const auto device = RemoteDevice::connect(options);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().message, options.address + ": a kernel may take 1000 s; the device allows 60 s");
}
TEST_F(RemoteDevices, StayWhileNothingIsAsked) {
  const auto device = remote();
  usleep(2500000);
  EXPECT_EQ(outcome(*device, "add_one"), "ok") << "longer than without a byte it lives";
}
TEST_F(RemoteDevices, ComeBackAfterTheirSupervisorIsKilled) {
  const std::string file = ::testing::TempDir() + "/supervisor." + std::to_string(getpid());
  const auto device = RemoteDevice::connect(options_for("echo $$ > " + file + "; " + kServe)).value();
  EXPECT_EQ(outcome(*device, "add_one"), "ok");
  pid_t supervisor = 0;
  std::ifstream(file) >> supervisor;
  ASSERT_GT(supervisor, 1);
  kill(supervisor, SIGKILL);
  EXPECT_EQ(outcome(*device, "add_one"), "ok");
  std::filesystem::remove(file);
}
TEST_F(RemoteDevices, SayAsLocalOnesDoThatTheirRunnerWasKilled) {
  const auto device = remote();
  EXPECT_EQ(outcome(*device, "add_one"), "ok");
  for (int i = 0; i < 3; ++i) {
    std::thread killer([] {
      if (const pid_t runner = testing::computing(getpid()); runner > 0) kill(runner, SIGKILL);
    });
    EXPECT_EQ(outcome(*device, "hang"),
              "out_of_memory: the runner was killed from outside (SIGKILL), as the system does when memory ends");
    killer.join();
    EXPECT_EQ(outcome(*device, "add_one"), "ok");
  }
}
TEST_F(RemoteDevices, BlameAKernelThatCutsTwoLinks) {
  const SupervisorKiller killer(30);
  const auto device = RemoteDevice::connect(options_with(killer)).value();
  EXPECT_EQ(outcome(*device, "hang"), "crash: two links to the device were lost while it ran: the link is lost");
}
TEST_F(RemoteDevices, AreLostWhereNothingAnswersAnyMore) {
  const std::string file = ::testing::TempDir() + "/gone." + std::to_string(getpid());
  std::ofstream(file).close();
  const SupervisorKiller killer(30, 1);
  const auto device = RemoteDevice::connect(options_with(killer, "rm " + file + " || exit 7; ")).value();
  const std::string lost = outcome(*device, "hang");
  EXPECT_EQ(lost.substr(0, 12), "device_lost:") << lost;
  EXPECT_NE(lost.find("with status 7"), std::string::npos) << lost;
}
TEST_F(RemoteDevices, EndWhenTheUserInterrupts) {
  RemoteOptions options = options_for(kServe);
  std::atomic<bool> interrupted = false;
  options.run_timeout = 30;
  options.interrupted = [&] { return interrupted.load(); };
  const auto device = RemoteDevice::connect(options).value();
  EXPECT_EQ(outcome(*device, "add_one"), "ok");
  std::thread user([&] {
    testing::computing(getpid());
    interrupted = true;
  });
  EXPECT_EQ(outcome(*device, "hang"), "device_lost: interrupted while it ran");
  user.join();
}
TEST_F(RemoteDevices, TakeAJobOfManyRequestsWhole) {
  auto session = RemoteSession::open({"sh", "-c", kServe}, {}, {}).value();
  SessionJob job{2, {}};
  for (int i = 0; i < 15; ++i) job.requests.emplace_back(MeasureRequest{kernel(i == 7 ? "write_null" : "add_one"), {}});
  job.requests.emplace_back(CheckRequest{kernel("add_one"), {}, {}, {}});
  const auto end = session.run(job, {});
  ASSERT_EQ(end.kind, RemoteSession::JobEnd::Kind::done);
  std::string codes;
  for (const auto& item : end.items)
    codes += std::to_string(static_cast<int>(std::visit([](const auto& r) { return r.code; }, item->reply))) + " ";
  EXPECT_EQ(codes, "0 0 0 0 0 0 0 9 0 0 0 0 0 0 0 0 ");
}
TEST_F(RemoteDevices, TimeTheChampionOfAJobBeforeAndAfterTheOthers) {
  const auto device = remote();
  const MeasureRequest quick{kernel("add_one"), {}}, slow{kernel("add_one_slowly"), {}};
  const JobReply reply = device->run({{quick, slow, quick}, true});
  ASSERT_EQ(reply.replies.size(), 4u);
  for (const MeasureReply& each : reply.replies) EXPECT_EQ(each.code, OutcomeCode::ok) << each.message;
  EXPECT_TRUE(reply.replies[1].truncated) << "the champion is the incumbent";
  EXPECT_FALSE(reply.replies[3].truncated);
  EXPECT_EQ(reply.on_the_table, -1);
}
TEST_F(RemoteDevices, SayWhatTheMachineWasLikeAtEachKernel) {
  const auto device = RemoteDevice::connect(options_for(kServe)).value();
  MeasureRequest request{kernel("add_one"), {}};
  const std::uint32_t core = std::ranges::find(device->description().cores, true, &DeviceCore::usable)->id;
  request.job.cpu = {.cores = {core}, .no_pin = false};
  const RunConditions conditions = device->measure(request).conditions;
  EXPECT_EQ(conditions.unit, device->description().unit);
  EXPECT_EQ(conditions.cores, std::vector<std::uint32_t>{core}) << "which it was pinned to";
}
TEST_F(RemoteDevices, PinWorkersInTheSandbox) {
  const auto device = RemoteDevice::connect(options_for(kServe)).value();
  MeasureRequest request{testing_kernels::job(WHET_TEST_KERNELS, "two_phases", 2), {}};
  request.job.cpu.no_pin = false;
  for (const DeviceCore& core : device->description().cores)
    if (core.usable && request.job.cpu.cores.size() < 2) request.job.cpu.cores.push_back(core.id);
  if (request.job.cpu.cores.size() < 2) GTEST_SKIP() << "one core is usable";
  const MeasureReply reply = device->measure(request);
  ASSERT_EQ(reply.code, OutcomeCode::ok) << reply.message;
  int threads = 0;
  const std::string tasks = "/proc/" + std::to_string(testing::descendants(getpid()).back()) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    cpu_set_t mask;
    ASSERT_EQ(sched_getaffinity(std::stoi(task.path().filename()), sizeof mask, &mask), 0);
    EXPECT_EQ(CPU_COUNT(&mask), 1);
    ++threads;
  }
  EXPECT_EQ(threads, 2);
}
TEST_F(RemoteDevices, BlameThatKernelOfAJobThatCutsTwoLinks) {
  const SupervisorKiller killer(30);
  const auto device = RemoteDevice::connect(options_with(killer)).value();
  const JobReply reply = device->run({{{kernel("add_one"), {}}, {kernel("hang"), {}}, {kernel("add_one"), {}}}});
  EXPECT_EQ(reply.replies[0].code, OutcomeCode::ok);
  EXPECT_EQ(reply.replies[1].code, OutcomeCode::crash);
  EXPECT_EQ(reply.replies[2].code, OutcomeCode::ok) << reply.replies[2].message;
}
TEST_F(RemoteDevices, GetTheNextJobWhileOneRuns) {
  const auto device = RemoteDevice::connect(options_for(kServe)).value();
  ASSERT_EQ(device->info().jobs_at_once, 2);
  std::atomic<int> answered = 0;
  std::vector<std::thread> lanes;
  for (int lane = 0; lane < 2; ++lane)
    lanes.emplace_back([&, lane] {
      for (int i = 0; i < 20; ++i) {
        const bool fails = (i + lane) % 5 == 0;
        const JobReply reply = device->run({{{kernel("add_one"), {}}, {kernel(fails ? "write_null" : "add_one"), {}}}});
        EXPECT_EQ(reply.replies[0].code, OutcomeCode::ok) << reply.replies[0].message;
        EXPECT_EQ(reply.replies[1].code, fails ? OutcomeCode::crash : OutcomeCode::ok) << reply.replies[1].message;
        const CheckReply check = device->check({kernel("add_one"), {}, {}, {}});
        EXPECT_EQ(check.outputs.size(), 1u) << check.message;
        ++answered;
      }
    });
  for (std::thread& lane : lanes) lane.join();
  EXPECT_EQ(answered, 40);
}
TEST_F(RemoteDevices, DoNotBlameAJobThatWasStillWaiting) {
  const SupervisorKiller killer(100);
  const auto device = RemoteDevice::connect(options_with(killer)).value();
  std::string hanging;
  std::thread lane([&] { hanging = outcome(*device, "hang"); });
  testing::computing(getpid());
  const JobReply waited = device->run({{{kernel("add_one"), {}}, {kernel("add_one"), {}}}});
  lane.join();
  EXPECT_EQ(hanging, "crash: two links to the device were lost while it ran: the link is lost");
  for (const MeasureReply& reply : waited.replies) EXPECT_EQ(reply.code, OutcomeCode::ok) << reply.message;
}
TEST_F(RemoteDevices, KnowAfterTheirLossThatAJobWasBehindAnother) {
  pid_t supervisor = 0;
  const std::string file = ::testing::TempDir() + "/behind." + std::to_string(getpid());
  auto session =
      RemoteSession::open({"sh", "-c", "echo $$ > " + file + "; " + kServe}, options_for("").clocks, {}).value();
  std::ifstream(file) >> supervisor;
  ASSERT_GT(supervisor, 1);
  const SessionJob hangs{2, {MeasureRequest{kernel("hang"), {}}}};
  auto older = std::make_unique<RemoteSession::Talk>(session);
  ASSERT_TRUE(session.tell(SessionType::job, older->id(), encode(hangs)));
  // The job's thread looks away while the link is lost and the older conversation ends.
  const auto lose_it = [&] {
    if (older) kill(supervisor, SIGKILL);
    while (older && session.keep_alive()) usleep(1000);
    older.reset();
    return false;
  };
  const auto end = session.run(hangs, lose_it);
  EXPECT_EQ(end.kind, RemoteSession::JobEnd::Kind::lost);
  EXPECT_TRUE(end.was_behind);
}
TEST_F(RemoteDevices, GiveAllJobsBackWhenTheUserInterrupts) {
  RemoteOptions options = options_for(kServe);
  std::atomic<bool> interrupted = false;
  options.run_timeout = 30;
  options.interrupted = [&] { return interrupted.load(); };
  const auto device = RemoteDevice::connect(options).value();
  std::string outcomes[2];
  std::vector<std::thread> lanes;
  for (std::string& each : outcomes) lanes.emplace_back([&] { each = outcome(*device, "hang"); });
  testing::computing(getpid());
  interrupted = true;
  for (std::thread& lane : lanes) lane.join();
  // The other one had begun, or waited for it.
  EXPECT_TRUE(std::ranges::count(outcomes, "device_lost: interrupted while it ran")) << outcomes[0] << "\n"
                                                                                     << outcomes[1];
  for (const std::string& each : outcomes) EXPECT_TRUE(each.starts_with("device_lost: interrupted")) << each;
  interrupted = false;
  EXPECT_EQ(outcome(*device, "add_one"), "ok") << "the session lives on";
}
TEST_F(RemoteDevices, WithPeersAreLostAtOnceAndComeBack) {
  const std::string file = ::testing::TempDir() + "/peer." + std::to_string(getpid());
  RemoteOptions options = options_for("echo $$ > " + file + "; " + kServe);
  options.has_peers = true;
  const auto device = RemoteDevice::connect(options).value();
  pid_t supervisor = 0;
  std::ifstream(file) >> supervisor;
  ASSERT_GT(supervisor, 1);
  kill(supervisor, SIGKILL);
  const JobReply reply = device->run({{{kernel("add_one"), {}}}});
  EXPECT_EQ(reply.replies[0].code, OutcomeCode::device_lost);
  std::string now;
  for (int i = 0; i < 100 && now != "ok"; ++i) {
    usleep(50000);
    now = outcome(*device, "add_one");
  }
  EXPECT_EQ(now, "ok");
  std::filesystem::remove(file);
}
TEST(RemoteSessions, SayWhyThereIsNone) {
  EXPECT_EQ(RemoteSession::open({"no-such-program-here"}, {}, {}).error().message,
            "cannot start no-such-program-here: No such file or directory");
  EXPECT_EQ(why_not("no-such-program-here 2>&1 | grep -q not && exit 127"),
            "the command ended before a whet-device answered, with status 127");
  EXPECT_EQ(why_not("echo 'no route to host' >&2; exit 255"),
            "the command ended before a whet-device answered, with status 255: no route to host");
  EXPECT_EQ(why_not("echo 'Welcome to pi5'; sleep 9"), "something prints text before whet-device: \"Welcome to pi5\"");
  EXPECT_EQ(why_not("cat"), "what answers is no whet-device: it sends back what it gets");
  EXPECT_EQ(why_not("sleep 20"), "no whet-device answers within 3 s");
}

/// A device whose whole conversation is a command of the shell. `more` follows its greetings.
RemoteSession liar(const std::string& more) {
  DeviceDescription board;
  board.name = "liar", board.machine = "x86_64", board.cores = {{}};
  const std::string file = ::testing::TempDir() + "/greetings." + std::to_string(getpid());
  std::ofstream(file, std::ios::binary) << frames_of({SessionType::hello, 0,
                                                      encode(SessionHello{.program = "1", .details = encode(board)})})
                                        << frames_of({SessionType::opened, 0, ""});
  return RemoteSession::open({"sh", "-c", "cat " + file + "; " + more},
                             {.connect = 3, .ping = 0.1, .dead = 1, .margin = 1}, {})
      .value();
}
RemoteSession::JobEnd two_kernels(RemoteSession session) {
  return session.run({0.1, {MeasureRequest{kernel("add_one"), {}}, MeasureRequest{kernel("add_two"), {}}}}, {});
}
TEST(RemoteSessions, TakeNoAnswersToWhatTheyDidNotAsk) {
  const SessionItem one{0, MeasureReply{OutcomeCode::ok, "", {1e-3}, false, 0.1}};
  const auto said = [&](std::uint32_t id, const std::vector<SessionItem>& items) {
    std::string bytes;
    for (const SessionItem& item : items) bytes += frames_of({SessionType::item, id, encode(item)});
    const std::string file = ::testing::TempDir() + "/items." + std::to_string(getpid());
    std::ofstream(file, std::ios::binary) << bytes;
    return two_kernels(liar("cat " + file + "; sleep 5"));
  };
  SessionItem third = one, other = one;
  third.number = 2, other.reply = CheckReply{};
  for (const std::vector<SessionItem>& lies : {std::vector{one, one}, {third}, {other}})
    EXPECT_EQ(said(1, lies).message, "the device answers what it was not asked");
  const RemoteSession::JobEnd elsewhere = said(77, {one});
  EXPECT_EQ(elsewhere.kind, RemoteSession::JobEnd::Kind::lost) << "an answer to another job is none";
  EXPECT_FALSE(elsewhere.items[0].has_value());
}
TEST(RemoteSessions, DoNotWaitForADeviceThatSaysAByteNowAndThen) {
  // An item that never becomes whole: the link is not silent, but the job has a limit.
  const std::string file = ::testing::TempDir() + "/drip." + std::to_string(getpid());
  std::ofstream(file, std::ios::binary) << frames_of({SessionType::item, 1, std::string(1000, 'x')});
  const auto end = two_kernels(
      liar("i=0; while [ $i -lt 900 ]; do dd if=" + file + " bs=1 skip=$i count=1 2>&-; sleep 0.1; i=$((i+1)); done"));
  EXPECT_EQ(end.kind, RemoteSession::JobEnd::Kind::lost);
  EXPECT_EQ(end.message.substr(0, 38), "the device did not finish a job within");
}
TEST(RemoteSessions, NameTheVersionsThatDoNotFit) {
  const std::string file = ::testing::TempDir() + "/hello." + std::to_string(getpid());
  const auto answer = [&](const SessionHello& hello) {
    std::ofstream(file, std::ios::binary) << frames_of({SessionType::hello, 0, encode(hello)});
    return why_not("cat " + file + "; sleep 5");
  };
  EXPECT_EQ(answer({5, 6, "9.9"}),
            "the whet-device there is 9.9 and speaks versions 5 to 6 of device sessions; this whet speaks 3");
  EXPECT_EQ(
      answer({3, 3, "9.9", 77, "x"}),
      "the whet-device there is 9.9 and calls kernels by version 77 of their arguments; this whet makes version 2");
  EXPECT_EQ(answer({3, 3, "9.9", 2, "x"}), "what the device says of itself makes no sense");
  std::filesystem::remove(file);
}

}  // namespace

std::vector<testing::DeviceUnderTest> devices_under_test() {
  std::vector<testing::DeviceUnderTest> devices;
  if (is_built()) devices.push_back(under_test());
#if defined(WHET_AARCH64_DEVICE)
  if (has_emulator()) devices.push_back(emulated_board());
#endif
  return devices;
}

}  // namespace whet::remote_device_test

namespace whet::testing {

INSTANTIATE_TEST_SUITE_P(Remote, DeviceContract, ::testing::ValuesIn(remote_device_test::devices_under_test()),
                         name_of_device);

}  // namespace whet::testing
