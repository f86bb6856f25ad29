// What happens where the system gives no memory.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "faults/session.h"

namespace whet::faults {
namespace memory_test {

const std::string kWhet = WHET_PROGRAM;

/// `whet` in an address space of one gibibyte.
Ending run_in_a_gibibyte(const std::vector<std::string>& arguments, const Folder& folder) {
  Surroundings little;
  little.before_exec = [] {
    const rlimit limit{rlim_t{1} << 30, rlim_t{1} << 30};
    setrlimit(RLIMIT_AS, &limit);
  };
  return run(kWhet, arguments, folder, little);
}

TEST(Memory, ThatTheSystemDoesNotGiveIsASentence) {
  const Folder folder;
  write(folder / "m.onnx", "\x08\x08");
  ASSERT_EQ(truncate((folder / "m.onnx").c_str(), off_t{3} << 29), 0);  // a hole of 1.5 GiB
  const Ending ending = run_in_a_gibibyte({"tasks", "m.onnx"}, folder);
  EXPECT_TRUE(ending == 1) << ending.out;
  EXPECT_NE(ending.out.find("whet: the system gives no more memory"), std::string::npos) << ending.out;
}

/// 800 KB that name 4 MiB of weights a hundred thousand times.
TEST(Memory, OfASmallModelIsLittleHoweverOftenItNamesItsWeights) {
  const Folder folder;
  write(folder / "w.bin", std::string(std::size_t{1} << 22, 'w'));
  std::string paths = R"("w.bin")";
  for (int i = 0; i < 100000; ++i) paths += R"(,"w.bin")";
  write(folder / "model.json",
        R"({"format":"graph-model","modelTopology":{"node":[
    {"name":"x","op":"Placeholder","attr":{"shape":{"shape":{"dim":[{"size":"2"}]}},"dtype":{"type":"DT_FLOAT"}}},
    {"name":"y","op":"Relu","input":["x"],"attr":{"T":{"type":"DT_FLOAT"}}}]},
    "weightsManifest":[{"paths":[)" +
            paths + R"(],"weights":[{"name":"w","shape":[1048576],"dtype":"float32"}]}]})");
  const Ending ending = run_in_a_gibibyte({"tasks", "model.json"}, folder);
  EXPECT_TRUE(ending == 0) << ending.out;
}

}  // namespace memory_test
}  // namespace whet::faults
