#include <gtest/gtest.h>

#include <set>

#include "import/testing/today.h"
#include "import_onnx/import_onnx.h"

/// The smallest pieces of what torch exports as ONNX today, with torch's answers, where a folder has them.
namespace whet {
namespace onnx_today_test {

namespace fs = std::filesystem;

TEST(OnnxToday, SmallestCasesAnswerAsTorchDoes) {
  if (today::frontends_folder() == nullptr)
    GTEST_SKIP() << "WHET_FRONTENDS names no folder with model files of other frameworks";
  std::set<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(fs::path(today::frontends_folder()) / "today" / "cases"))
    folders.insert(entry.path());
  for (const fs::path& folder : folders) {
    today::NamedTensors tensors;
    const fs::path model = today::read_case(folder, ".onnx", tensors);
    if (model.empty()) continue;  // of another format
    const std::string fault = today::fault_of(read_onnx_model, model, tensors, 1e-3);
    // Bags as a loop over slices: where each begins, values decide, and with it how many rows it has.
    if (folder.filename() == "dlrm_onnx") {
      EXPECT_NE(fault.find("its list of starts is computed from the values of input"), std::string::npos) << fault;
    } else {
      EXPECT_EQ(fault, "") << folder;
    }
  }
}

}  // namespace onnx_today_test
}  // namespace whet
