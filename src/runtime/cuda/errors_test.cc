#include "runtime/cuda/errors.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace whet {
namespace {

std::vector<CUresult> all_codes() {
#define CODE(number, name, kind, words) number,
  return {WHET_CUDA_ERRORS(CODE)};
#undef CODE
}

std::string message(CUresult code) {
  whet_error error{};
  EXPECT_EQ(cuda_fail(&error, code, "cannot run step %d", 7), -1);
  return error.message;
}

TEST(CudaErrors, HaveOneRowACode) {
  std::set<CUresult> codes;
  std::set<std::string> names;
  for (CUresult code : all_codes()) {
    EXPECT_TRUE(codes.insert(code).second) << code;
    EXPECT_TRUE(names.insert(cuda_error_row(code).name).second) << code;
  }
  EXPECT_GT(codes.size(), 90u);
}

TEST(CudaErrors, LoseTheContextWhereTheDriverSaysSo) {
  std::set<CUresult> sticky;
  for (CUresult code : all_codes()) {
    if (fate_of(code).sticky) sticky.insert(code);
  }
  EXPECT_EQ(sticky, (std::set<CUresult>{214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721}));
}

TEST(CudaErrors, BecomeOutcomes) {
  const auto outcome = [](CUresult code) { return name_of(fate_of(code).outcome); };
  EXPECT_EQ(outcome(2), "out_of_memory");
  EXPECT_EQ(outcome(100), "device_lost");
  EXPECT_EQ(outcome(209), "compile_device");
  EXPECT_EQ(outcome(214), "device_lost");
  EXPECT_EQ(outcome(700), "crash");
  EXPECT_EQ(outcome(701), "rejected");
  EXPECT_EQ(outcome(702), "run_timeout");
  EXPECT_EQ(outcome(999), "unknown");
  EXPECT_EQ(outcome(12345), "unknown");
}

TEST(CudaErrors, AreSentences) {
  EXPECT_EQ(message(2), "cannot run step 7: the device has no memory left (CUDA_ERROR_OUT_OF_MEMORY, 2)");
  EXPECT_EQ(message(700),
            "cannot run step 7: a kernel used memory that is not its own (CUDA_ERROR_ILLEGAL_ADDRESS, "
            "700); the process must end");
  EXPECT_EQ(message(801), "cannot run step 7: CUDA_ERROR_NOT_SUPPORTED, 801");
  EXPECT_EQ(message(12345), "cannot run step 7: an unknown error, 12345");
}

TEST(CudaErrors, TellWhatToDoWhereACodeHasAClass) {
  for (CUresult code : all_codes()) {
    const CudaErrorRow row = cuda_error_row(code);
    const bool has_class = row.kind != CudaErrorClass::other;
    EXPECT_TRUE(!has_class || row.words[0] != '\0') << row.name;
  }
}

}  // namespace
}  // namespace whet
