// Sessions over links with faults: whatever happens to the bytes, a request has an outcome, and the next one works or is told that
// the device is lost.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "artifact/made_weights.h"
#include "base/rng.h"
#include "device/remote/remote_device.h"
#include "device/sane_reply.h"
#include "device/testing/test_models.h"
#include "runner/testing/kernels.h"

namespace whet::links_test {
namespace {

const std::string kDevice = std::string(WHET_DEVICE) + " --stdio";
constexpr double kDead = 1;

RemoteOptions over(const std::string& command) {
  RemoteOptions options;
  options.address = "exec:...";
  options.argv = {"sh", "-c", command};
  options.run_timeout = 2;
  options.clocks = {.connect = 3, .ping = 0.1, .dead = kDead, .margin = 2};
  options.back_off = {0.05, 0.1};
  return options;
}
std::string with_faults(const std::string& faults) { return "exec " WHET_FAULTY_LINK " " + faults + " -- " + kDevice; }
KernelJob kernel(const std::string& name) { return testing_kernels::job(WHET_TEST_KERNELS, name); }
MeasureReply measured(Device& device) {
  const MeasureRequest request{kernel("add_one"), {}};
  return sane_reply(device.measure(request), request, device.info(), 0, 0);
}
/// Bytes of the device's greetings, about: what comes before the first job.
constexpr long kGreetings = 1200;

class Links : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(WHET_DEVICE)) GTEST_SKIP() << WHET_DEVICE << " is not built";
  }
};

TEST_F(Links, ThatAreSlowWork) {
  const auto device = RemoteDevice::connect(over(with_faults("--rate 100000 --delay 80"))).value();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(measured(*device).code, OutcomeCode::ok);
}
TEST_F(Links, ThatAreCutCostOneRequestOnce) {
  // The first link is cut soon, those after it are whole.
  const std::string marker = ::testing::TempDir() + "/cut." + std::to_string(getpid());
  const std::string command =
      "[ -e " + marker + " ] && exec " + kDevice + "; touch " + marker + "; " + with_faults("--cut-after 2000");
  const auto device = RemoteDevice::connect(over(command)).value();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(measured(*device).code, OutcomeCode::ok) << "request " << i;
  std::filesystem::remove(marker);
}
TEST_F(Links, ThatStallAreDeadInTime) {
  // Some answers pass each link, and not twelve; on a slow machine pings take a part of the room.
  const auto device =
      RemoteDevice::connect(over(with_faults("--stall-after " + std::to_string(kGreetings + 1000)))).value();
  const auto start = std::chrono::steady_clock::now();
  OutcomeCode code = OutcomeCode::ok;
  for (int i = 0; i < 12 && code == OutcomeCode::ok; ++i) code = measured(*device).code;
  EXPECT_EQ(code, OutcomeCode::ok) << "a new link is as good as the old one was at first";
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_GT(seconds, kDead) << "no link stalled";
  EXPECT_LT(seconds, 12 * 3 * kDead);
}
TEST_F(Links, ThatStallAtOnceAreNoDevice) {
  for (const char* faults : {"--stall-after 0", "--stall-after 100", "--stall-after 0 --up"}) {
    const auto device = RemoteDevice::connect(over(with_faults(faults)));
    ASSERT_FALSE(device.ok()) << faults;
  }
}
TEST_F(Links, ThatEndOneAfterTheOtherLoseTheDeviceOrBlameTheKernel) {
  const auto device = RemoteDevice::connect(over(with_faults("--cut-after " + std::to_string(kGreetings)))).value();
  for (int i = 0; i < 4; ++i) {
    const OutcomeCode code = measured(*device).code;
    EXPECT_TRUE(code == OutcomeCode::ok || code == OutcomeCode::crash || code == OutcomeCode::device_lost)
        << static_cast<int>(code);
  }
}
/// How many processes have this working directory.
int processes_in(const std::string& folder) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::error_code error;
    const bool is_number = entry.path().filename().string().find_first_not_of("0123456789") == std::string::npos;
    if (is_number && std::filesystem::read_symlink(entry.path() / "cwd", error) == folder) ++found;
  }
  return found;
}
TEST_F(Links, WhoseDeviceIsKilledAtAnyByteCostNothingAndLeaveNothing) {
  // The supervisor is killed after any number of bytes: in the middle of a message or between two. The links after it are whole.
  const testing::TestModels folder;
  Rng rng(3);
  for (int round = 0; round < 24; ++round) {
    const std::string marker = folder.folder() + "/cut." + std::to_string(round);
    const bool up = rng.chance(0.5);
    const std::string faults = "--cut-after " + std::to_string((up ? 200 : kGreetings) + rng.below(3000));
    const auto device =
        RemoteDevice::connect(over("cd " + folder.folder() + "; [ -e " + marker + " ] && exec " + kDevice + "; touch " +
                                   marker + "; " + with_faults(faults + (up ? " --up" : ""))));
    if (!device.ok()) continue;  // it ended while it was greeted
    for (int i = 0; i < 3; ++i) EXPECT_EQ(measured(**device).code, OutcomeCode::ok) << faults << ", request " << i;
  }
  for (int i = 0; i < 1000 && processes_in(folder.folder()) > 0; ++i) usleep(5000);
  EXPECT_EQ(processes_in(folder.folder()), 0) << "whet-device or its runner lives on";
}
TEST_F(Links, ThatTurnBitsGiveNoWrongAnswers) {
  // Times may be anything that a bit makes of them, but never no time, and the process lives.
  Rng rng(5);
  for (int round = 0; round < 12; ++round) {
    const std::string faults = "--flip-bit " + std::to_string(rng.below(2500)) + (rng.chance(0.5) ? " --up" : "");
    const auto device = RemoteDevice::connect(over(with_faults(faults)));
    if (!device.ok()) {
      EXPECT_EQ(device.error().message.find('\n'), std::string::npos) << faults;
      continue;
    }
    for (int i = 0; i < 4; ++i) {
      const MeasureReply reply = measured(**device);
      EXPECT_EQ(reply.code == OutcomeCode::ok, !reply.seconds.empty()) << faults << ": " << reply.message;
    }
  }
}

/// A compiled model of a megabyte, and files of the device in a folder of the test's own.
class LinksOfModels : public Links {
 protected:
  static constexpr std::size_t kPadding = 1000000;
  static constexpr std::uint32_t kMachine = 62;
  std::string path() const { return models_.file(WHET_TEST_MODEL, kMachine, 1, kPadding); }
  RemoteOptions over_faults(const std::string& faults) const {
    RemoteOptions options = over(faults.empty() ? "exec " + kDevice : with_faults(faults));
    options.argv[2] = "export XDG_CACHE_HOME=" + models_.folder() + "/cache; " + options.argv[2];
    return options;
  }
  /// The first links have these faults, one after the other, and all after them the last.
  RemoteOptions over_links(const std::vector<std::string>& faults) const {
    RemoteOptions options = over_faults(faults.back());
    const std::string marker = models_.folder() + "/links";
    std::string command = "echo >> " + marker + "; case $(wc -l < " + marker + ") in ";
    for (std::size_t i = 0; i + 1 < faults.size(); ++i)
      command += std::to_string(i + 1) + ") " + over_faults(faults[i]).argv[2] + ";; ";
    options.argv[2] = command + "*) " + options.argv[2] + ";; esac";
    return options;
  }
  /// "" or the error of one inference there.
  std::string run(const RemoteOptions& options) const {
    const auto device = RemoteDevice::connect(options);
    if (!device.ok()) return device.error().message;
    ModelOrder order;
    order.work = ModelWork::run;
    const auto answers = (*device)->run_models({{path()}}, {testing::order_for('a')}, order);
    if (!answers.ok()) return answers.error().message;
    return answers->front().outputs == std::vector<std::string>{std::string("b\0xy", 4)} ? "" : "a wrong answer";
  }

  testing::TestModels models_;
};

TEST_F(LinksOfModels, ThatAreCutGoOnWhereTheFileEnded) {
  // The second link carries less than the file: it has to go on where the first was cut, at 30%.
  EXPECT_EQ(run(over_links({"--up --cut-after 300000", "--up --cut-after 850000"})), "");
}
TEST_F(LinksOfModels, DoNotCarryWhatTheDeviceMakesItself) {
  // A megabyte of made-up weights behind the library, and at odd places of it; a link that carries less, and is not made anew.
  std::string content = testing::TestModels::content_of(WHET_TEST_MODEL);
  const auto page = made_weights();
  for (int part = 0; part < 4; ++part) {
    content.append(100, 'x');
    for (int i = 0; i < 64; ++i) content.append(page.data() + content.size() % kMadePage, kMadePage);
  }
  const std::string padded = models_.sealed(content, kMachine, 2);
  RemoteOptions options = over_faults("--up --cut-after 150000");
  options.back_off = {};
  const auto device = RemoteDevice::connect(options).value();
  ModelOrder order;
  order.work = ModelWork::run;
  const auto answers = device->run_models({{padded}}, {testing::order_for('a')}, order);
  EXPECT_TRUE(answers.ok()) << answers.error().message;
}
TEST_F(LinksOfModels, ThatAreCutAgainAndAgainBringTheFileInTheEnd) {
  EXPECT_EQ(run(over_faults("--up --cut-after 220000")), "");
}
TEST_F(LinksOfModels, ThatBringNothingAreForgivenWhereOneBetweenBringsSomething) {
  // Under load the answer that tells of progress may be lost with a link, now and then.
  EXPECT_EQ(run(over_links({"--up --cut-after 2000", "--up --stall-after 300000", "--up --cut-after 2000", ""})), "");
}
TEST_F(LinksOfModels, ThatAreCutWithoutProgressAreAnError) {
  const std::string why = run(over_faults("--up --cut-after 2000"));
  EXPECT_NE(why.find("two links to the device were lost over a compiled model: "), std::string::npos) << why;
}
TEST_F(LinksOfModels, ThatTurnABitOfTheFileAreSeenAndItComesAgain) {
  EXPECT_EQ(run(over_links({"--up --flip-bit 500000", ""})), "");
}
TEST_F(LinksOfModels, ThatTurnABitOfEveryFileAreAnErrorThatSaysSo) {
  const std::string why = run(over_faults("--up --flip-bit 500000"));
  EXPECT_NE(why.find("what came as the file " + name_blob(path())->hash.substr(0, 12) + " has another hash"),
            std::string::npos)
      << why;
}
TEST_F(LinksOfModels, ThatAreSlowAreWaitedFor) { EXPECT_EQ(run(over_faults("--rate 400000 --delay 80")), ""); }

}  // namespace
}  // namespace whet::links_test
