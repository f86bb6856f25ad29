#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <set>
#include <sstream>

#include "base/testing/checkout.h"
#include "import/testing/today.h"
#include "import_torch/import_torch.h"
#include "tensor_files/zip.h"

/// Networks and operators as people export them today: files of torch with its answers, where a folder has them.
namespace whet::torch {
namespace torch_today_test {

namespace fs = std::filesystem;
using namespace whet::today;

/// Networks of the folder, and what docs/operators/torch.md calls their families.
struct Family {
  std::string file, name;
};
const std::vector<Family>& families() {
  static const std::vector<Family> kFamilies = {
      {"deberta", "DeBERTa"},
      {"deepseek_mla", "DeepSeek's attention by latent vectors (MLA)"},
      {"dgcnn", "DGCNN, of points and their neighbours"},
      {"dit", "DiT, a diffusion transformer"},
      {"dlrm_sum", "DLRM with bags of embeddings"},
      {"encodec_rvq", "EnCodec's residual quantizer"},
      {"gat_gcn_meanpool", "GAT and GCN with mean pools"},
      {"gptoss_sink", "GPT-OSS with sinks of attention"},
      {"kan", "KAN, of splines"},
      {"llama_f16", "Llama in f16"},
      {"llama_static_cache", "Llama with a static cache"},
      {"mamba2_ssd", "Mamba 2"},
      {"maskrcnn_head", "Mask R-CNN's head"},
      {"moe_where_small", "a mixture of experts by `where`"},
      {"nafnet_restormer_sr", "NAFNet and Restormer"},
      {"rpn_nms", "a region proposal network with NMS"},
      {"rtdetr", "RT-DETR"},
      {"segformer", "SegFormer"},
      {"silero_vad", "Silero's voice detector"},
      {"swin_v2", "Swin v2"},
      {"vits", "VITS"},
      {"w4_shift", "weights of four bits by shifts"},
      {"whisper_logmel", "Whisper's log-mel spectrogram"},
  };
  return kFamilies;
}

/// The document's rows of networks that were tried.
std::vector<std::string> documented_rows() {
  std::istringstream document(read_file(checkout_path("docs/operators/torch.md")).value());
  std::vector<std::string> rows;
  bool is_inside = false;
  for (std::string line; std::getline(document, line);) {
    if (is_inside && !line.starts_with("|")) break;
    if (is_inside && !line.starts_with("|---")) rows.push_back(line);
    is_inside = is_inside || line.starts_with("| Networks |");
  }
  return rows;
}

struct Tried {
  int right = 0, all = 0;
};
/// What a table has of a file, which is printed too.
std::string shown(const std::string& name, const std::string& fault, Tried& tried) {
  ++tried.all;
  tried.right += fault.empty() ? 1 : 0;
  const std::string result = fault.empty() ? "right" : fault;
  std::cout << "| " << name << " | " << result << " |\n";
  return result;
}

/// What torch's guards refuse is right where it is refused.
bool is_refused_by_torch(const std::string& name, const std::string& fault) {
  return name.starts_with("guard_") && !fault.empty() && fault.find("off by") == std::string::npos;
}

/// What torch computes in bfloat16 has 8 digits.
double tolerance_of(const std::string& name) { return name == "autocast" || name == "int8pack" ? 1.0 / 256 : 1e-3; }

/// A weight of f32 by the end of its member's name.
Tensor weight_of(const fs::path& file, const std::string& member, const Shape& shape) {
  const std::string bytes = read_file(file).value();
  const std::vector<ZipMember> members = parse_zip(bytes, file).value();
  Tensor weight(DType::f32, shape);
  for (const ZipMember& each : members) {
    if (!each.name.ends_with(member)) continue;
    const std::string content = unzip(each, file).value();
    EXPECT_EQ(content.size(), static_cast<std::size_t>(weight.bytes()));
    std::memcpy(weight.data(), content.data(), std::min(content.size(), static_cast<std::size_t>(weight.bytes())));
  }
  return weight;
}

TEST(TorchToday, TheDocumentListsTheNetworks) {
  const std::vector<std::string> rows = documented_rows();
  ASSERT_EQ(rows.size(), families().size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_TRUE(rows[i].starts_with("| " + families()[i].name + " |")) << rows[i];
}

TEST(TorchToday, NetworksAnswerAsTheDocumentSays) {
  if (frontends_folder() == nullptr)
    GTEST_SKIP() << "WHET_FRONTENDS names no folder with model files of other frameworks";
  const fs::path folder = fs::path(frontends_folder()) / "today" / "networks";
  Tried tried;
  std::vector<std::string> rows;
  for (const Family& family : families()) {
    const double tolerance = std::stod(read_file(folder / (family.file + ".tol")).value());
    const fs::path answers = folder / (family.file + ".npz");
    NamedTensors tensors;
    const auto parsed = parse_npz(read_file(answers).value(), answers);
    for (const NamedTensor& each : parsed.value()) tensors[each.name] = each.tensor;
    std::string row = "| " + family.name + " |";
    for (const char* form : {"ir", "core"}) {
      const std::string name = family.file + "." + form;
      const std::string fault = fault_of(read_pt2_model, folder / (name + ".pt2"), tensors, tolerance);
      row += " " + shown(name, fault, tried) + " |";
    }
    rows.push_back(row);
  }
  EXPECT_EQ(tried.right, tried.all);
  EXPECT_EQ(rows, documented_rows()) << "docs/operators/torch.md";
}

TEST(TorchToday, SmallestCasesAnswerAsTorchDoes) {
  if (frontends_folder() == nullptr)
    GTEST_SKIP() << "WHET_FRONTENDS names no folder with model files of other frameworks";
  Tried tried;
  std::set<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(fs::path(frontends_folder()) / "today" / "cases"))
    folders.insert(entry.path());
  for (const fs::path& folder : folders) {
    NamedTensors tensors;
    const fs::path model = read_case(folder, ".pt2", tensors);
    if (model.empty()) continue;  // of another format
    const std::string name = folder.filename();
    // The state that the file begins with.
    if (name == "buffer_cache") tensors["in2"] = weight_of(model, "data/weights/weight_2", {1, 16, 32});
    const std::string fault = fault_of(read_pt2_model, model, tensors, tolerance_of(name));
    (void)shown(name, is_refused_by_torch(name, fault) ? "" : fault, tried);
  }
  EXPECT_EQ(tried.right, tried.all);
}

}  // namespace torch_today_test
}  // namespace whet::torch
