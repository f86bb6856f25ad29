// How long the import of a large .pt2 takes: a program of torch.export as the tests write it, of MEGABYTES of weights.
//
//   import_seconds [MEGABYTES] [FILE]    FILE is written and kept
//
// Prints one line of JSON: the bytes of the file, its nodes, and the least seconds of five imports (reading the file included).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/rng.h"
#include "formats/import_model.h"
#include "import_torch/testing/pt2.h"

namespace {

/// Blocks of a transformer's second half: normalization, a product of 512 by 512, an activation, a sum.
whet::torch::Pt2 network(int megabytes) {
  using whet::DType;
  using whet::Tensor;
  whet::Rng rng(1);
  whet::torch::Pt2 program;
  program.input("x", {64, 512});
  std::string x = "x";
  for (int i = 0; i < megabytes; ++i) {
    const std::string n = std::to_string(i);
    program.weight("w" + n, Tensor::random({DType::f32, {512, 512}}, rng)).weight("b" + n, Tensor(DType::f32, {512}));
    program.weight("s" + n, Tensor(DType::f32, {512}));
    program.node("aten.layer_norm.default", "input=%" + x + " normalized_shape=[512] weight=%s" + n, {"n" + n},
                 "norm" + n);
    program.node("aten.linear.default", "input=%n" + n + " weight=%w" + n + " bias=%b" + n, {"l" + n}, "linear" + n);
    program.node("aten.gelu.default", "self=%l" + n, {"g" + n}, "act" + n);
    program.node("aten.add.Tensor", "self=%" + x + " other=%g" + n, {"y" + n}, "block" + n);
    x = "y" + n;
  }
  return program.output(x);
}

}  // namespace

int main(int argc, char** argv) {
  const int megabytes = argc > 1 ? std::max(1, std::atoi(argv[1])) : 100;
  const std::filesystem::path file =
      argc > 2 ? argv[2] : std::filesystem::temp_directory_path() / "whet_import_seconds.pt2";
  std::ofstream(file, std::ios::binary) << network(megabytes).bytes();
  double least = 1e9;
  std::size_t nodes = 0;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto graph = whet::import_model(file.string());
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (!graph.ok()) {
      std::fprintf(stderr, "%s\n", graph.error().message.c_str());
      return 1;
    }
    nodes = graph->nodes.size();
  }
  std::printf("{\"bytes\": %ju, \"nodes\": %zu, \"seconds\": %.3f}\n",
              static_cast<std::uintmax_t>(std::filesystem::file_size(file)), nodes, least);
  if (argc <= 2) std::filesystem::remove(file);
}
