// Compiled models on devices elsewhere. The models are made of testing/test_model.c; those that whet compiles are in
// tuner/models_on_devices_test.cc.

#include "device/remote/cpu/remote_model.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "device/remote/remote_device.h"
#include "device/testing/processes.h"
#include "device/testing/test_models.h"

namespace whet::remote_model_test {
namespace {

using testing::order_for;

constexpr std::uint32_t kX86 = 62, kArm = 183;

class RemoteModels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(WHET_DEVICE)) GTEST_SKIP() << WHET_DEVICE << " is not built: clang++-19 is missing";
  }

  /// Short clocks, and files in the test's own folder.
  RemoteOptions options(const std::string& more = "") const {
    const std::string command = "XDG_CACHE_HOME=" + models_.folder() + "/cache exec " + WHET_DEVICE + " --stdio" + more;
    RemoteOptions options;
    options.address = "board";
    options.argv = {"sh", "-c", command};
    options.model_timeout = 1;
    options.clocks = {.connect = 5, .ping = 0.1, .dead = 2, .margin = 2};
    options.back_off = {0.05, 0.1};
    return options;
  }
  std::shared_ptr<RemoteDevice> device(const std::string& more = "") const {
    return RemoteDevice::connect(options(more)).value();
  }
  std::string model(std::uint64_t number = 1) const { return models_.file(WHET_TEST_MODEL, kX86, number); }
  /// "ok b?xy": what an inference gives; or the error, without the path of the model.
  std::string run(const std::shared_ptr<RemoteDevice>& device, const std::string& path, char what) const {
    Result<OpenedModel> opened = open_elsewhere(device, path, {});
    if (!opened.ok()) return shortened(opened.error().message);
    const auto outputs = opened->run({order_for(what)});
    if (!outputs.ok()) return shortened(outputs.error().message);
    std::string text(static_cast<const char*>(outputs->front().data()), 4);
    if (text[1] <= 1) text[1] = static_cast<char>('0' + text[1]);
    return "ok " + text;
  }
  std::string shortened(std::string text) const {
    for (std::size_t at; (at = text.find(models_.folder() + "/")) != std::string::npos;)
      text.erase(at, models_.folder().size() + 1);
    return text;
  }

  testing::TestModels models_;
};

TEST_F(RemoteModels, RunThereAndAnswerHere) {
  const auto board = device();
  Result<OpenedModel> opened = open_elsewhere(board, model(), {});
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_TRUE(opened->is_elsewhere());
  EXPECT_STREQ(opened->info().name, "test");
  EXPECT_EQ(opened->inputs().front().name, "in");
  EXPECT_EQ(opened->outputs().front().type, (TensorType{DType::u8, {4}}));
  EXPECT_EQ(opened->pool().threads, 1u);
  EXPECT_EQ(run(board, model(), 'a'), "ok b0xy");
  EXPECT_EQ(run(board, model(2), 'a'), "ok b0xy");
}
TEST_F(RemoteModels, AreTimedThere) {
  const auto board = device();
  Result<OpenedModel> opened = open_elsewhere(board, model(), {});
  ASSERT_TRUE(opened->set_inputs({order_for('l')}).ok());
  ASSERT_TRUE(opened->warm_up(0.01).ok());
  const auto by_number = opened->time_runs(7, 0);
  ASSERT_TRUE(by_number.ok()) << by_number.error().message;
  EXPECT_EQ(by_number->size(), 7u);
  EXPECT_GE(opened->time_runs(0, 0)->size(), 3u);
  // Longer than whet waits for an answer: the device says in between that it is at work.
  const auto by_time = opened->time_runs(0, 3.5);
  ASSERT_TRUE(by_time.ok()) << by_time.error().message;
  EXPECT_GT(by_time->size(), 100u);
  ASSERT_TRUE(opened->profile_runs(2, 5).ok());
  EXPECT_EQ(opened->profile().runs, 5u);
  ASSERT_EQ(opened->profile().steps, 1u);
  EXPECT_STREQ(opened->profile().step[0].node, "node");
}
TEST_F(RemoteModels, TellTheirTimesInParts) {
  ModelOrder order;
  order.work = ModelWork::time;
  order.runs = 200000;  // far less than the time after which a part is told whatever its size
  const auto parts = device()->run_models({{model()}}, {order_for('a')}, order);
  ASSERT_TRUE(parts.ok()) << parts.error().message;
  std::size_t times = 0;
  for (const ModelAnswer& part : *parts) {
    EXPECT_LE(part.seconds.size(), 65536u) << "512 KiB";
    times += part.seconds.size();
  }
  EXPECT_EQ(times, 200000u);
}
TEST_F(RemoteModels, TravelOnce) {
  const std::string path = model(), kept = models_.folder() + "/cache/whet/blobs/" + name_blob(path)->hash;
  struct stat first{}, second{};
  EXPECT_EQ(run(device(), path, 'a'), "ok b0xy");
  ASSERT_EQ(stat(kept.c_str(), &first), 0) << kept;
  EXPECT_EQ(run(device(), path, 'b'), "ok c0xy");
  ASSERT_EQ(stat(kept.c_str(), &second), 0);
  EXPECT_EQ(first.st_ino, second.st_ino) << "it was written anew";
}
TEST_F(RemoteModels, FailWithASentenceAndHarmNothing) {
  const auto board = device();
  EXPECT_EQ(run(board, model(), 'c'), "1-62.so: the compiled model crashed: SIGSEGV");
  EXPECT_EQ(run(board, model(), 'h'), "1-62.so: the compiled model did not finish within 1 s");
  EXPECT_EQ(run(board, model(), 'e'), "1-62.so: it does not want to");
  EXPECT_EQ(run(board, model(), 'a'), "ok b0xy");
}
TEST_F(RemoteModels, ThatAreNoneAreRefused) {
  const auto board = device();
  EXPECT_EQ(run(board, models_.folder() + "/nowhere.so", 'a'),
            "nowhere.so: No such file or directory; expected the path of a compiled model");
  std::ofstream(models_.folder() + "/garbage.so") << std::string(1000, 'x');
  EXPECT_EQ(run(board, models_.folder() + "/garbage.so", 'a'),
            "garbage.so: its end is not whet's trailer; expected a compiled model of whet");
  const std::string name = board->description().name;
  EXPECT_EQ(run(board, models_.file(WHET_TEST_MODEL, kArm, 1), 'a'),
            "1-183.so: is compiled for AArch64; " + name + " has an x86-64 processor");
  std::string path = model(3);
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out).seekp(500).put('!');
  EXPECT_EQ(run(board, path, 'a').substr(0, 74),
            "3-62.so: the contents do not have the checksum that was written with them;");
  // What is no library, under a trailer that is right.
  std::ofstream(models_.folder() + "/text") << std::string(4096, 'x');
  EXPECT_EQ(run(board, models_.file(models_.folder() + "/text", kX86, 4), 'a'), "4-62.so: invalid ELF header");
  EXPECT_EQ(run(board, model(), 'a'), "ok b0xy");
}
TEST_F(RemoteModels, GetOnlyWhatTheyTake) {
  const auto board = device();
  ModelOrder order;
  order.work = ModelWork::run;
  const auto without = board->run_models({{model()}}, {}, order);
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(shortened(without.error().message), "1-62.so: the model has 1 inputs; 0 tensors are given");
  const auto other = board->run_models({{model()}}, {Tensor(DType::f32, {7})}, order);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(shortened(other.error().message), "1-62.so: input \"in\" has 4 bytes; the tensor given has 28");
  order.threads = 1000;
  EXPECT_EQ(shortened(board->run_models({{model()}}, {order_for('a')}, order).error().message).substr(0, 45),
            "1-62.so: the model is to have 1000 threads; t");
  order.threads = 1;
  order.cores = {999};
  EXPECT_EQ(shortened(board->run_models({{model()}}, {order_for('a')}, order).error().message),
            "1-62.so: the model is to run on core 999, which the device may not use");
}
TEST_F(RemoteModels, StandInASandbox) {
  const auto board = device(" --sandbox best");
  ModelOrder order;
  const auto opened = board->run_models({{model()}}, {}, order);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const std::vector<std::string>& layers = opened->front().sandbox;
  EXPECT_EQ(layers, board->description().sandbox) << "those of kernels";
  if (std::ranges::find(layers, "seccomp") == layers.end()) GTEST_SKIP() << "this system filters no calls";
  EXPECT_EQ(run(board, model(), 'r'), "ok s0xy") << "what this user may read";
  EXPECT_EQ(run(board, model(), 'w'), "ok x1xy") << "a file was opened to write";
  for (const char forbidden : {'s', 'f', 'k'})
    EXPECT_EQ(run(board, model(), forbidden), "1-62.so: the compiled model crashed: SIGSYS") << forbidden;
  EXPECT_EQ(run(board, model(), 'a'), "ok b0xy");
}
TEST_F(RemoteModels, DoNotRunWhereTheDeviceTakesNone) {
  EXPECT_EQ(run(device(" --no-models"), model(), 'a'),
            "board: compiled models do not run there: whet-device was started with --no-models");
}
TEST_F(RemoteModels, NeedAProgramThatCanBeStarted) {
  EXPECT_EQ(run(device(" --model-runner /no/such/emulator"), model(), 'a'),
            "1-62.so: compiled models cannot run there: No such file or directory");
}
TEST_F(RemoteModels, EndWhenTheUserInterrupts) {
  RemoteOptions with = options();
  with.model_timeout = 30;
  std::atomic<bool> interrupted = false;
  with.interrupted = [&] { return interrupted.load(); };
  const std::shared_ptr<RemoteDevice> board = RemoteDevice::connect(with).value();
  EXPECT_EQ(run(board, model(), 'a'), "ok b0xy");
  std::thread user([&] {
    testing::computing(getpid());
    interrupted = true;
  });
  EXPECT_EQ(run(board, model(), 'h'), "interrupted while a compiled model ran");
  user.join();
  interrupted = false;
  EXPECT_EQ(run(board, model(), 'a'), "ok b0xy");
}
TEST_F(RemoteModels, AreBlamedForTwoLinksThatAreLostOverThem) {
  RemoteOptions with = options();
  with.model_timeout = 30;
  const testing::SupervisorKiller killer(30);
  with.argv[2] = killer.note() + with.argv[2];
  EXPECT_EQ(run(RemoteDevice::connect(with).value(), model(), 'h'),
            "board: two links to the device were lost over a compiled model: the link is lost");
}

/// A device that says this to the first order, whatever it is.
OrderEnd answered(const ModelOrder& order, const std::vector<ModelAnswer>& answers) {
  DeviceDescription board;
  board.name = "liar", board.machine = "x86_64", board.cores = {{}};
  std::string bytes =
      frames_of({SessionType::hello, 0, encode(SessionHello{.program = "1", .details = encode(board)})}) +
      frames_of({SessionType::opened, 0, ""});
  for (const ModelAnswer& answer : answers) bytes += frames_of({SessionType::answer, 1, encode(answer)});
  bytes += frames_of({SessionType::done, 1, ""});
  const std::string file = ::testing::TempDir() + "/answers." + std::to_string(getpid());
  std::ofstream(file, std::ios::binary) << bytes;
  auto session = RemoteSession::open({"sh", "-c", "cat " + file + "; sleep 5"}, {}, {}).value();
  OrderEnd end = carry_out(session, order, {});
  std::filesystem::remove(file);
  return end;
}
TEST(RemoteOrders, HaveTheAnswersThatTheyAskForAndNoOthers) {
  ModelAnswer burst, over, times;
  burst.kind = ModelAnswerKind::burst, burst.model = 0, burst.seconds = {2, 1};
  times.kind = ModelAnswerKind::times, times.seconds = {1};
  ModelOrder order;
  order.models = {{std::string(64, 'a'), 1}};
  order.work = ModelWork::bursts;
  order.runs = 2;
  EXPECT_EQ(answered(order, {burst, burst, over}).answers.size(), 2u);
  const auto lies = [&](const std::vector<ModelAnswer>& answers) { return answered(order, answers).message; };
  const std::string nonsense = "the device answers what it was not asked";
  EXPECT_EQ(lies({burst, burst, burst, over}), nonsense) << "one too many";
  EXPECT_EQ(lies({burst, times, over}), nonsense);
  EXPECT_EQ(lies({over, burst}), nonsense) << "behind the last";
  EXPECT_EQ(lies({burst}), "the device gave an order back without an answer");
  order.work = ModelWork::run;
  EXPECT_EQ(lies({burst, over}), nonsense);
}

#if defined(WHET_AARCH64_DEVICE)
TEST_F(RemoteModels, RunOnEmulatedBoards) {
  if (std::system("command -v qemu-aarch64-static > /dev/null") != 0) GTEST_SKIP() << "qemu-aarch64-static is missing";
  RemoteOptions with = options();
  with.model_timeout = 5;
  with.clocks = {};
  const std::string command =
      "XDG_CACHE_HOME=" + models_.folder() + "/cache exec qemu-aarch64-static " + WHET_AARCH64_DEVICE + " --stdio";
  with.argv[2] = command + " --model-runner 'qemu-aarch64-static -L /usr/aarch64-linux-gnu'";
  const std::shared_ptr<RemoteDevice> board = RemoteDevice::connect(with).value();
  const std::string path = models_.file(WHET_AARCH64_TEST_MODEL, kArm, 1);
  EXPECT_EQ(run(board, path, 'a'), "ok b0xy");
  EXPECT_EQ(run(board, path, 'c'), "1-183.so: the compiled model crashed: SIGSEGV");
  EXPECT_EQ(run(board, path, 'a'), "ok b0xy");
  with.argv[2] = command;
  EXPECT_EQ(
      run(RemoteDevice::connect(with).value(), path, 'a'),
      "1-183.so: compiled models cannot run there: Exec format error (an emulator that runs whet-device has to be "
      "named: --model-runner)");
}
#endif

}  // namespace
}  // namespace whet::remote_model_test
