// whet-device on a system whose kernel is AArch64's own: scripts/aarch64_system boots one. Its filter of system calls is another list than
// that of x86-64.
#include <gtest/gtest.h>

#include <cstdlib>

#include "device/remote/cpu/remote_model.h"
#include "device/remote/remote_device.h"
#include "device/testing/test_models.h"
#include "runner/testing/kernels.h"

#if defined(WHET_AARCH64_DEVICE)
namespace whet::aarch64_system_test {
namespace {

class AArch64Systems : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* command = std::getenv("WHET_AARCH64_SYSTEM");
    if (command == nullptr) GTEST_SKIP() << "no system is given: scripts/aarch64_system";
    RemoteOptions options;
    options.address = "system";
    options.argv = {"sh", "-c", command};
    options.run_timeout = 2;
    options.clocks.connect = 120;
    options.back_off = {};
    auto device = RemoteDevice::connect(options);
    ASSERT_TRUE(device.ok()) << device.error().message;
    device_ = std::move(*device);
  }
  std::string measured(const std::string& name) const {
    const MeasureReply reply = device_->measure({testing_kernels::job(WHET_AARCH64_TEST_KERNELS, name), {}});
    return std::string(name_of(reply.code)) + (reply.message.empty() ? "" : ": " + reply.message);
  }
  /// What the model answers to a letter, or why it does not.
  std::string answered(char what) const {
    ModelOrder order;
    order.work = ModelWork::run;
    const auto answers = device_->run_models({{path_}}, {testing::order_for(what)}, order);
    if (answers.ok()) return answers->front().outputs.front().substr(0, 2);
    const std::string& why = answers.error().message;
    return why.substr(why.find(": ") + 2);
  }

  std::shared_ptr<RemoteDevice> device_;
  testing::TestModels models_;
  const std::string path_ = models_.file(WHET_AARCH64_TEST_MODEL, 183, 1);
};

TEST_F(AArch64Systems, KeepTheirFilesProcessesAndNetworkFromKernels) {
  EXPECT_EQ(device_->description().sandbox,
            (std::vector<std::string>{"no_new_privs", "uid", "nproc", "rlimits", "namespaces", "seccomp"}));
  EXPECT_EQ(measured("add_one"), "ok");
  for (const char* refused : {"open_a_file", "take_much_memory"})
    EXPECT_EQ(measured(refused), "ok") << refused << " is refused, which the kernel reports as success";
  for (const char* forbidden : {"make_a_process", "make_a_socket", "signal_the_parent"}) {
    EXPECT_EQ(measured(forbidden), "crash: the kernel crashed: SIGSYS") << forbidden;
    EXPECT_EQ(measured("add_one"), "ok") << "after " << forbidden;
  }
  EXPECT_EQ(measured("write_null"), "crash: the kernel crashed: SIGSEGV at an address that is null");
  EXPECT_EQ(measured("hang"), "run_timeout: the kernel did not finish within 2 s");
  EXPECT_EQ(measured("add_one"), "ok");
}
TEST_F(AArch64Systems, RunKernelsOnSeveralThreads) {
  const MeasureReply reply = device_->measure({testing_kernels::job(WHET_AARCH64_TEST_KERNELS, "two_phases", 2), {}});
  EXPECT_EQ(reply.code, OutcomeCode::ok) << reply.message;
}
TEST_F(AArch64Systems, LetModelsReadFilesAndNothingElse) {
  using namespace std::string_literals;
  EXPECT_EQ(answered('a'), "b\0"s);
  EXPECT_EQ(answered('r'), "s\0"s) << "what this user may read";
  EXPECT_EQ(answered('w'), "x\1"s) << "a file was opened to write";
  for (const char forbidden : {'s', 'f', 'k'})
    EXPECT_EQ(answered(forbidden), "the compiled model crashed: SIGSYS") << forbidden;
  EXPECT_EQ(answered('a'), "b\0"s);
}

}  // namespace
}  // namespace whet::aarch64_system_test
#endif
