#include "tensor_files/npy.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>

#include "tensor_files/file.h"

namespace whet {
namespace {

std::string same(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type()) return to_string(a.type()) + " against " + to_string(b.type());
  return std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0 ? "same" : "other bytes";
}

std::string with_header(const std::string& header, const std::string& data) {
  std::string bytes = "\x93NUMPY";
  bytes += {'\x01', '\x00', static_cast<char>(header.size()), '\x00'};
  return bytes + header + data;
}

std::string parsed(const std::string& bytes) {
  const auto tensor = parse_npy(bytes, "x.npy");
  return tensor.ok() ? to_string(tensor->type()) : tensor.error().message;
}

TEST(Npy, ReadsWhatItWrites) {
  Rng rng(1);
  for (DType dtype : kDTypes) {
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3, 4}, Shape{0, 7}}) {
      const Tensor tensor = Tensor::random({dtype, shape}, rng, 0, 100);
      EXPECT_EQ(same(parse_npy(format_npy(tensor), "x").value(), tensor), "same");
    }
  }
}
TEST(Npy, WritesAHeaderThatNumpyReads) {
  const std::string bytes = format_npy(Tensor(DType::f32, {3}));
  EXPECT_EQ(bytes.substr(10, 58), "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } ");
  EXPECT_EQ((bytes.size() - 12) % 64, 0u);
  EXPECT_EQ(bytes[bytes.size() - 13], '\n');
}
TEST(Npy, SaysWhatItCannotRead) {
  EXPECT_EQ(parsed("hello"), "x.npy: not a .npy file");
  EXPECT_EQ(parsed(with_header("{'descr': '<f4', 'fortran_order': True, 'shape': (1,)}", "1234")),
            "x.npy: the array is in Fortran order; save it in C order");
  EXPECT_EQ(parsed(with_header("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "1234")),
            "x.npy: the array is big endian (\">f4\"); expected little endian");
  EXPECT_EQ(parsed(with_header("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "12345678")),
            "x.npy: the element type is \"<c8\"; expected f4, f8, f2, i1, u1, i2, u2, i4, u4, i8, u8, b1 or V2 (bf16)");
  EXPECT_EQ(parsed(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "1234")),
            "x.npy: f32[2] needs 8 bytes; the file holds 4");
  EXPECT_EQ(parsed(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "1234")),
            "x.npy has shape -1: an extent is negative");
  EXPECT_EQ(parsed(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 9)}", "1234")),
            "x.npy has shape 99999999999x9; at most 2147483647 elements are supported");
  EXPECT_EQ(parsed(with_header("{'descr': '<f4'", "1234")), "x.npy: the .npy header is damaged");
}

TEST(Npy, HoldsBf16AsTheBytesThatNumpyHasForIt) {
  const Tensor tensor = Tensor::of<double>(DType::bf16, {2}, {1.5, -2});
  const std::string bytes = format_npy(tensor);
  EXPECT_EQ(bytes.substr(10, 17), "{'descr': '<V2', ");
  EXPECT_EQ(bytes.substr(bytes.size() - 4), "\xc0\x3f" + std::string("\x00\xc0", 2));
  const auto voids = parse_npy(
      with_header("{'descr': '|V2', 'fortran_order': False, 'shape': (2,)}", bytes.substr(bytes.size() - 4)), "x");
  EXPECT_EQ(same(voids.value(), tensor), "same");
}

TEST(Npy, WidensIntegersThatTensorsDoNotHave) {
  const auto read = [](const std::string& code, const std::string& data) {
    const auto tensor =
        parse_npy(with_header("{'descr': '<" + code + "', 'fortran_order': False, 'shape': (2,)}", data), "x");
    if (!tensor.ok()) return tensor.error().message;
    return to_string(tensor->type()) + " " + std::to_string(tensor->integer(0)) + " " +
           std::to_string(tensor->integer(1));
  };
  const auto bytes = [](const char* text, std::size_t count) { return std::string(text, count); };
  EXPECT_EQ(read("u2", bytes("\x01\x00\xff\xff", 4)), "i32[2] 1 65535");
  EXPECT_EQ(read("u4", bytes("\x01\x00\x00\x00\xff\xff\xff\xff", 8)), "i64[2] 1 4294967295");
  EXPECT_EQ(read("u8", bytes("\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\x7f", 16)),
            "i64[2] 1 9223372036854775807");
  EXPECT_EQ(read("u8", std::string(8, '\0') + std::string(8, '\xff')),
            "x: element 1 is 18446744073709551615; u8 is read as i64, which ends at 9223372036854775807");
  EXPECT_EQ(read("u2", "\x01"), "x: i32[2] needs 4 bytes; the file holds 1");
}

std::vector<NamedTensor> three_tensors() {
  Rng rng(2);
  return {{"a", Tensor::random({DType::f32, {2, 3}}, rng)},
          {"layer/b", Tensor::random({DType::i64, {4}}, rng, 0, 9)},
          {"c", Tensor(DType::boolean, {})}};
}

TEST(Npz, ReadsWhatItWrites) {
  const auto tensors = three_tensors();
  const auto read = parse_npz(format_npz(tensors).value(), "x").value();
  ASSERT_EQ(read.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read[i].name, tensors[i].name);
    EXPECT_EQ(same(read[i].tensor, tensors[i].tensor), "same");
  }
}

/// The file with its one member deflated, as numpy.savez_compressed writes it.
std::string deflated(const std::string& name, const std::string& content) {
  std::string packed(compressBound(content.size()) + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  const auto put = [](std::string& out, std::uint64_t v, int n) {
    for (int i = 0; i < n; ++i) out += static_cast<char>(v >> (8 * i));
  };
  std::string fields;
  put(fields, 20, 2), put(fields, 0, 2), put(fields, 8, 2), put(fields, 0, 4);
  put(fields, crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size())), 4);
  put(fields, packed.size(), 4), put(fields, content.size(), 4), put(fields, name.size(), 2), put(fields, 0, 2);
  std::string bytes = "PK\3\4" + fields + name + packed;
  const std::size_t offset = bytes.size();
  std::string directory = "PK\1\2";
  put(directory, 20, 2);
  directory += fields;
  put(directory, 0, 6), put(directory, 0, 8);
  directory += name;
  bytes += directory + "PK\5\6";
  put(bytes, 0, 4), put(bytes, 1, 2), put(bytes, 1, 2), put(bytes, directory.size(), 4), put(bytes, offset, 4);
  put(bytes, 0, 2);
  return bytes;
}

TEST(Npz, ReadsDeflatedMembers) {
  const Tensor tensor(DType::f32, {1000});
  const auto read = parse_npz(deflated("x.npy", format_npy(tensor)), "x").value();
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].name, "x");
  EXPECT_EQ(same(read[0].tensor, tensor), "same");
}

/// Every truncation and seeded byte flips: a tensor or a sentence, never a crash.
template <typename Parse>
void expect_survives(const std::string& bytes, Parse parse) {
  for (std::size_t length = 0; length < bytes.size(); length += 1 + length / 300) parse(bytes.substr(0, length));
  Rng rng(3);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = bytes;
    for (std::int64_t flips = rng.between(1, 4); flips > 0; --flips) {
      // Half of the flips hit the first and last bytes, where the structure is.
      const std::int64_t size = static_cast<std::int64_t>(bytes.size()), near = std::min<std::int64_t>(size, 150);
      const std::int64_t at = rng.chance(0.5)   ? rng.below(size)
                              : rng.chance(0.5) ? rng.below(near)
                                                : size - 1 - rng.below(near);
      damaged[static_cast<std::size_t>(at)] = static_cast<char>(rng.below(256));
    }
    parse(damaged);
  }
}

TEST(NpyGarbage, NeverCrashes) {
  expect_survives(format_npy(Tensor(DType::f32, {2, 3})), [](const std::string& b) { (void)parse_npy(b, "x"); });
}
TEST(NpzGarbage, NeverCrashes) {
  expect_survives(format_npz(three_tensors()).value(), [](const std::string& b) { (void)parse_npz(b, "x"); });
  expect_survives(deflated("x.npy", format_npy(Tensor(DType::f32, {1000}))),
                  [](const std::string& b) { (void)parse_npz(b, "x"); });
}

TEST(SaveNpy, WritesWhatParseReads) {
  const std::string folder = ::testing::TempDir();
  const Tensor tensor = Tensor::of<double>(DType::f32, {2}, {1, 2});
  ASSERT_TRUE(save_npy(folder + "t.npy", tensor).ok());
  ASSERT_TRUE(save_npz(folder + "t.npz", {{"x", tensor}}).ok());
  EXPECT_EQ(same(parse_npy(read_file(folder + "t.npy").value(), "t.npy").value(), tensor), "same");
  EXPECT_EQ(same(parse_npz(read_file(folder + "t.npz").value(), "t.npz").value().at(0).tensor, tensor), "same");
  EXPECT_EQ(read_file(folder + "missing.npy").error().message,
            "cannot read \"" + folder + "missing.npy\": No such file or directory");
}

}  // namespace
}  // namespace whet
