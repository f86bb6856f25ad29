#pragma once

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tensor/tensor.h"
#include "whet/model_file.h"

namespace whet::testing {

/// Files of compiled models made of test_model.c, in a folder that is removed at the end.
class TestModels {
 public:
  TestModels() {
    folder_ = (std::filesystem::temp_directory_path() / "whet-models-XXXXXX").string();
    if (mkdtemp(folder_.data()) == nullptr) std::abort();
  }
  ~TestModels() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TestModels(const TestModels&) = delete;

  const std::string& folder() const { return folder_; }
  /// Of the library at `library`; the number makes the contents differ. `padding`: bytes more.
  std::string file(const std::string& library, std::uint32_t machine, std::uint64_t number,
                   std::size_t padding = 0) const {
    return sealed(content_of(library) + std::string(padding, static_cast<char>(number)), machine, number);
  }
  static std::string content_of(const std::string& library) {
    std::ostringstream text;
    text << std::ifstream(library, std::ios::binary).rdbuf();
    return text.str();
  }
  /// Of a library's bytes, and what is to follow them.
  std::string sealed(std::string bytes, std::uint32_t machine, std::uint64_t number) const {
    bytes.append((8 - bytes.size() % 8) % 8, '\0');
    whet_file_trailer trailer{};
    std::memcpy(trailer.magic, "whet.so\n", sizeof trailer.magic);
    trailer.version = WHET_MODEL_FORMAT_VERSION;
    trailer.machine = machine;
    trailer.file_bytes = bytes.size() + sizeof trailer;
    trailer.checksum = whet_checksum(bytes.data(), bytes.size());
    trailer.reserved[0] = number;
    bytes.append(reinterpret_cast<const char*>(&trailer), sizeof trailer);
    const std::string path = folder_ + "/" + std::to_string(number) + "-" + std::to_string(machine) + ".so";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

 private:
  std::string folder_;
};

/// The input that has the model do this.
inline Tensor order_for(char what) {
  Tensor tensor(DType::u8, {4});
  const char bytes[] = {what, 0, 'x', 'y'};
  std::memcpy(tensor.data(), bytes, sizeof bytes);
  return tensor;
}

}  // namespace whet::testing
