// Devices behind a real network: cables that are pulled, packets that are lost, programs that stop. One test a process, as each
// makes networks of its own.

#include "faults/cable.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "device/remote/remote_device.h"
#include "device/testing/test_models.h"
#include "faults/trials.h"
#include "runner/testing/kernels.h"

#if defined(WHET_AGENT)
#include "faults/fleet.h"
#endif

namespace whet::cables_test {
namespace {

using namespace faults;  // NOLINT(google-build-using-namespace): what the tests are made of

constexpr const char* kPort = "7000";
/// A link without a byte for 10 s is dead, at both ends; a busy machine may be a little late.
constexpr double kNoticed = 12;

KernelJob kernel(const std::string& name) { return testing_kernels::job(WHET_TEST_KERNELS, name); }

class SecondsSince {
 public:
  double passed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class Cables : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cable_.why_not().empty()) GTEST_SKIP() << cable_.why_not();
    if (!std::filesystem::exists(WHET_DEVICE)) GTEST_SKIP() << WHET_DEVICE << " is not built: clang++-19 is missing";
  }
  /// A whet-device at the far end, which answers at a port.
  void start_device() {
    const std::string device =
        "echo $$ > " + folder_ / "pid; exec env XDG_CACHE_HOME=" + folder_.path() + " " WHET_DEVICE " --stdio";
    device_ = std::make_unique<Program>(
        WHET_TCP_CARRIER, std::vector<std::string>{"--listen", kPort, "/bin/sh", "-c", device}, folder_, cable_.far());
  }
  std::string command() const { return std::string(WHET_TCP_CARRIER) + " " + Cable::kFar + " " + kPort; }
  std::unique_ptr<RemoteDevice> connect() {
    RemoteOptions options;
    options.address = "far";
    options.argv = {"sh", "-c", "exec " + command()};
    options.run_timeout = 60;
    options.has_peers = true;  // what is lost is lost at once
    start_device();
    for (int i = 0; i < 100; ++i, usleep(50000))
      if (auto device = RemoteDevice::connect(options); device.ok()) return std::move(*device);
    ADD_FAILURE() << "no device answers at the far end";
    return nullptr;
  }
  /// Of the session that was opened last.
  pid_t supervisor() const { return std::stoi(content(folder_ / "pid")); }
  /// The supervisor and all that it started.
  std::vector<pid_t> far_processes() const {
    std::vector<pid_t> all = descendants(supervisor());
    all.push_back(supervisor());
    return all;
  }
  static MeasureReply measured(Device& device, const std::string& name) { return device.measure({kernel(name), {}}); }
  static bool comes_back(Device& device) {
    for (int i = 0; i < 300; ++i, usleep(100000))
      if (measured(device, "add_one").code == OutcomeCode::ok) return true;
    return false;
  }
  /// While a kernel runs there that never ends, `happen` happens: the device is lost in time, its work is given back, nothing stays there.
  void expect_noticed(const std::function<void()>& happen) {
    const auto device = connect();
    ASSERT_EQ(measured(*device, "add_one").code, OutcomeCode::ok);
    MeasureReply reply;
    std::thread asker([&] { reply = measured(*device, "hang"); });
    sleep(1);
    const std::vector<pid_t> there = far_processes();
    EXPECT_GE(there.size(), 3u) << "a supervisor, what forks, and a runner";
    happen();
    const SecondsSince happened;
    asker.join();
    EXPECT_EQ(reply.code, OutcomeCode::device_lost);
    EXPECT_NE(reply.message.find("no byte came for 10 s"), std::string::npos) << reply.message;
    EXPECT_LT(happened.passed(), kNoticed);
    EXPECT_TRUE(all_gone(there));
    EXPECT_LT(happened.passed(), kNoticed + 2);
    cable_.plug();
    EXPECT_TRUE(comes_back(*device));
  }

  const Cable cable_;
  Folder folder_;
  std::unique_ptr<Program> device_;
};

TEST_F(Cables, ThatArePulledAreNoticedAtBothEnds) {
  expect_noticed([this] { cable_.pull(); });
}
TEST_F(Cables, ToDevicesThatStopAreNoticed) {
  // A board that hangs: nothing closes the link. What it had begun ends when it goes on.
  expect_noticed([this] {
    const pid_t stopped = supervisor();
    kill(stopped, SIGSTOP);
    std::thread([stopped] {
      sleep(11);
      kill(stopped, SIGCONT);
    }).detach();
  });
}
TEST_F(Cables, ThatAreOutForAMomentCostNothing) {
  const auto device = connect();
  ASSERT_EQ(measured(*device, "add_one").code, OutcomeCode::ok);
  const pid_t before = supervisor();
  std::thread other([this] {
    usleep(200000);
    cable_.pull();
    sleep(3);
    cable_.plug();
  });
  const SecondsSince start;
  for (int i = 0; start.passed() < 6; ++i) {
    const MeasureReply reply = measured(*device, "add_one");
    EXPECT_EQ(reply.code, OutcomeCode::ok) << "request " << i << ": " << reply.message;
  }
  other.join();
  EXPECT_EQ(supervisor(), before) << "another session was needed";
}
TEST_F(Cables, ThatLosePacketsBringEverything) {
  const auto device = connect();
  cable_.squeeze("16mbit");
  const testing::TestModels models;
  ModelOrder order;
  order.work = ModelWork::run;
  const auto answers =
      device->run_models({{models.file(WHET_TEST_MODEL, 62, 1, 1000000)}}, {testing::order_for('a')}, order);
  ASSERT_TRUE(answers.ok()) << answers.error().message;
  EXPECT_EQ(answers->front().outputs.front(), std::string("b\0xy", 4));
  EXPECT_EQ(measured(*device, "add_one").code, OutcomeCode::ok);
  EXPECT_GT(cable_.dropped(), 0);
}
TEST_F(Cables, ThatArePulledHaveTheirWorkDoneElsewhere) {
  start_device();
  const std::vector<std::string> tune{"tune",      "zoo:mlp",   "--no-base", "--tasks",
                                      kSmallTasks, "--threads", "1",         "--no-network"};
  const auto with = [&](std::vector<std::string> arguments, std::initializer_list<std::string> more) {
    arguments.insert(arguments.end(), more);
    return arguments;
  };
  const std::string near = "exec:exec " WHET_DEVICE " --stdio";
  const Ending alone = run(WHET_PROGRAM, with(tune, {"-o", "alone.jsonl", "--device", near}), folder_);
  ASSERT_EQ(alone, 0) << alone.out;
  Program tuner(WHET_PROGRAM,
                with(tune, {"-o", "pulled.jsonl", "--device", "exec:exec " + command(), "--device", near}), folder_);
  ASSERT_TRUE(tuner.wait_until([&] { return lines(folder_ / "pulled.jsonl") >= 10; })) << tuner.end().out;
  cable_.pull();
  const Ending end = tuner.end();
  EXPECT_EQ(end, 0) << end.out;
  const Trials trials = trials_in(folder_ / "pulled.jsonl");
  EXPECT_TRUE(trials.tried == trials_in(folder_ / "alone.jsonl").tried) << trials.tried.size() << " different ones";
  EXPECT_EQ(trials.twice, 0);
  EXPECT_EQ(trials.failed, 0);
}

#if defined(WHET_AGENT)
TEST_F(Cables, OfAgentsThatArePulledCostNoJob) {
  if (!has_broker()) GTEST_SKIP() << "nats-server or openssl is missing";
  const Broker broker(Cable::kNear);
  const Agent lab(broker, "lab", 1, 20), far(broker, "far", 2, 20, cable_.far());
  const std::shared_ptr<FleetQueue> queue = broker.join("ann");
  ASSERT_TRUE(comes_to(*queue, 3));
  Tuner tuner(queue, 6);
  tuner.start(400);
  wait(1);
  cable_.pull();
  tuner.join();
  EXPECT_EQ(tuner.answers(), 400);
  EXPECT_EQ(tuner.wrong(), "");
  cable_.plug();
  EXPECT_TRUE(comes_to(*queue, 3)) << "the units of the far host are back";
}
#endif

}  // namespace
}  // namespace whet::cables_test
