#include "formats/load_tensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tensor_files/file.h"

namespace whet {
namespace {

std::string same(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type()) return to_string(a.type()) + " against " + to_string(b.type());
  return std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0 ? "same" : "other bytes";
}

TEST(LoadTensors, GoesByTheEndingOfThePath) {
  const std::string folder = ::testing::TempDir();
  const Tensor tensor = Tensor::of<double>(DType::f32, {2}, {1, 2});
  ASSERT_TRUE(save_npy(folder + "t.npy", tensor).ok());
  ASSERT_TRUE(save_npz(folder + "t.npz", {{"x", tensor}}).ok());
  // A TensorProto: dims 2, FLOAT, name "p", raw data.
  std::string proto = "\x08\x02\x10\x01\x42\x01p\x4a\x08";
  proto.append(static_cast<const char*>(tensor.data()), 8);
  ASSERT_TRUE(write_file(folder + "t.pb", proto).ok());
  for (const char* name : {"t.npy", "t.npz", "t.pb"})
    EXPECT_EQ(same(load_tensor(folder + name).value(), tensor), "same");
  EXPECT_EQ(load_tensors(folder + "t.pb").value()[0].name, "p");
  EXPECT_EQ(load_tensor(folder + "missing.npy").error().message,
            "cannot read \"" + folder + "missing.npy\": No such file or directory");
}

}  // namespace
}  // namespace whet
