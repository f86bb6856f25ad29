#include "cli/check_samples.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/rng.h"
#include "cli/command.h"
#include "tensor_files/npy.h"
#include "workflow/model.h"

namespace whet::check_samples_test {
namespace {

class CheckSamples : public ::testing::Test {
 protected:
  CheckSamples() {
    folder_ = ::testing::TempDir() + "check_samples_XXXXXX";
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    ModelOptions model;
    model.model = "zoo:mlp";
    const TensorType type = input_slots(load_graph(model).value()).front().type;
    Rng rng(1);
    for (const char* name : {"/a.npy", "/b.npy"}) EXPECT_TRUE(save_npy(folder_ + name, Tensor::random(type, rng)).ok());
  }
  ~CheckSamples() override { std::filesystem::remove_all(folder_); }

  /// The exit code, and all that is printed.
  std::pair<int, std::string> check(std::vector<std::string> options) {
    options.insert(options.begin(), {"whet", "check", "zoo:mlp"});
    std::vector<char*> argv;
    for (std::string& word : options) argv.push_back(word.data());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int code = run_command_line({{"check", "Checks", make_check}}, static_cast<int>(argv.size()), argv.data());
    std::fflush(stdout);
    std::string text = ::testing::internal::GetCapturedStdout();
    return {code, text + ::testing::internal::GetCapturedStderr()};
  }

  std::string folder_;
};

TEST_F(CheckSamples, KeepsLimitsThatTheModelKeeps) {
  const auto [code, text] = check({"--samples", folder_, "--max-error", "1%", "--max-error", "top1>=99%"});
  EXPECT_EQ(code, kDone) << text;
  EXPECT_NE(text.find("2 samples of " + folder_ + ": input "), text.npos) << text;
  EXPECT_NE(text.find("within the limits against zoo:mlp in f32, by 2 samples: yes"), text.npos) << text;
  EXPECT_EQ(check({"--samples", folder_, "--tolerance", "1e-3"}).first, kDone);
}

TEST_F(CheckSamples, SaysWhichLimitIsBroken) {
  const auto [code, text] = check({"--samples", folder_, "--max-error", "abs<=0", "--precision", "f32", "--json"});
  EXPECT_NE(text.find("\"measure\": \"largest difference\""), text.npos) << text;
  EXPECT_NE(text.find("\"samples\": 2"), text.npos) << text;
  EXPECT_TRUE(code == kDone || code == kFailed);
}

TEST_F(CheckSamples, WantsOneWordOnWhatIsRightEnough) {
  EXPECT_EQ(check({"--samples", folder_}).first, kWrongUse);
  const auto [code, text] = check({"--samples", folder_, "--max-error", "1%", "--tolerance", "1e-3"});
  EXPECT_EQ(code, kWrongUse);
  EXPECT_NE(text.find("give --max-error or --tolerance, not both"), text.npos) << text;
  EXPECT_NE(check({"--max-error", "1%"}).second.find("--max-error is of answers on samples; give --samples too"),
            text.npos);
  EXPECT_NE(check({"--samples", folder_, "--max-error", "1%", "--fill", "ones"}).second.find("--fill has other inputs"),
            text.npos);
  EXPECT_NE(check({"--samples", folder_, "--max-error", "much"}).second.find("\"much\" is no limit on answers"),
            text.npos);
}

}  // namespace
}  // namespace whet::check_samples_test
