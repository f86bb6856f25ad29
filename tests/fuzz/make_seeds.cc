// Seeds for import_fuzz from the standard's node tests: each model with the values of its inputs as initializers, so
// that those which decide shapes are known.
//
//   make_seeds NODE_TESTS SEEDS
//
// Messages of protobuf that stand one behind the other are one message: the initializers are appended as a second
// graph (fields: graph 7, initializer 5).

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::string field(int number, const std::string& message) {
  std::string bytes(1, static_cast<char>(number << 3 | 2));
  std::size_t size = message.size();
  for (; size >= 128; size >>= 7) bytes += static_cast<char>(size | 128);
  return bytes + static_cast<char>(size) + message;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: make_seeds NODE_TESTS SEEDS\n", 2;
  const fs::path seeds = argv[2];
  fs::create_directories(seeds);
  int count = 0;
  for (const auto& entry : fs::directory_iterator(argv[1])) {
    const std::string model = read(entry.path() / "model.onnx");
    std::string values;
    for (int k = 0;; ++k) {
      const fs::path path = entry.path() / "test_data_set_0" / ("input_" + std::to_string(k) + ".pb");
      if (!fs::exists(path)) break;
      values += field(5, read(path));
    }
    if (model.empty() || model.size() + values.size() > 16384) continue;
    std::ofstream(seeds / entry.path().filename(), std::ios::binary)
        << model << (values.empty() ? "" : field(7, values));
    ++count;
  }
  std::cout << count << " seeds\n";
  return count > 0 ? 0 : 1;
}
