#include "workflow/outputs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tensor_files/npy.h"

namespace whet {
namespace {

class Outputs : public ::testing::Test {
 protected:
  Outputs() {
    folder_ = ::testing::TempDir() + "outputs_XXXXXX";
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  ~Outputs() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  /// The sentence, without the folder's name; "" where there is none.
  std::string check(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs = {}) const {
    const Status status = check_outputs(outputs, inputs);
    std::string text = status.ok() ? "" : status.error().message;
    for (std::size_t at; (at = text.find(folder_ + "/")) != text.npos;) text.erase(at, folder_.size() + 1);
    return text;
  }
  std::string check(const std::string& output, FileKind kind) const { return check({{"-o", output, kind}}); }

  std::string folder_;
};

const std::string kReads = "-o is \"m\", which this command reads; give it another name";

TEST_F(Outputs, AreNoInputs) {
  const std::string model = write("m", "a model");
  EXPECT_EQ(check({{"-o", model, FileKind::model}}, {model}), kReads);
  EXPECT_EQ(check({{"-o", model, FileKind::model}}, {"zoo:mlp", "x=" + model}), kReads);
  EXPECT_EQ(check({{"-o", model, FileKind::model}}, {"a=b=" + model}), kReads);
}
TEST_F(Outputs, AreNoInputsByAnotherName) {
  const std::string model = write("m", "a model");
  std::filesystem::create_symlink("m", path("link"));
  std::filesystem::create_hard_link(model, path("hard"));
  std::filesystem::create_directory(path("sub"));
  for (const std::string name : {"link", "hard", "./m", "sub/../m"})
    EXPECT_EQ(check({{"-o", path(name), FileKind::records}}, {model}),
              "-o is \"" + name + "\", which this command reads; give it another name");
}
TEST_F(Outputs, OfDescriptorsAreNoInputs) {
  const std::string records = write("r", "{}");
  const int file = open(records.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  EXPECT_EQ(check({{"--events", std::to_string(file), FileKind::events}}, {records}),
            "--events is \"" + std::to_string(file) + "\", which this command reads; give it another name");
  EXPECT_EQ(check({{"--events", std::to_string(file), FileKind::events}}), "");
  EXPECT_EQ(check({{"-o", "/dev/fd/" + std::to_string(file), FileKind::page}}, {records}),
            "-o is \"/dev/fd/" + std::to_string(file) + "\", which this command reads; give it another name");
  close(file);
}
TEST_F(Outputs, AreFilesOfTheirOwn) {
  EXPECT_EQ(check({{"-o", path("a"), FileKind::records}, {"--report", path("./a"), FileKind::page}}),
            "-o and --report are both \"./a\"; give each a file of its own");
  write("r", "");
  std::filesystem::create_hard_link(path("r"), path("hard"));
  EXPECT_EQ(check({{"-o", path("r"), FileKind::records}, {"--events", path("hard"), FileKind::events}}),
            "-o and --events are both \"hard\"; give each a file of its own");
  EXPECT_EQ(check({{"-o", path("a"), FileKind::records},
                   {"--report", path("b"), FileKind::page},
                   {"--events", "", FileKind::events}}),
            "");
}
TEST_F(Outputs, ReplaceNothingOfAnotherKind) {
  const std::string other = write("m", "a model of some other tool, as long as a trailer of whet: 64 bytes, or more");
  const auto refused = [](const std::string& kind) {
    return "-o is \"m\", which is there and is no " + kind + "; give it another name, or remove the file";
  };
  EXPECT_EQ(check(other, FileKind::model), refused("compiled model"));
  EXPECT_EQ(check(other, FileKind::page), refused("report of whet"));
  EXPECT_EQ(check(other, FileKind::events), refused("file of whet's events"));
  EXPECT_EQ(check(other, FileKind::trace), refused("trace of whet"));
  EXPECT_EQ(check(other, FileKind::tensors), refused(".npy or .npz file"));
  EXPECT_EQ(check(other, FileKind::onnx), refused("ONNX file of whet"));
  EXPECT_EQ(check(other, FileKind::ptx), refused("PTX file"));
}
TEST_F(Outputs, ReplaceNothingThatOnlyLooksAlike) {
  EXPECT_NE(check(write("other.html", "<!DOCTYPE html>\n<title>My page</title>"), FileKind::page), "");
  EXPECT_NE(check(write("r.jsonl", "{\"v\":1,\"task\":{}}\n"), FileKind::events), "");
  EXPECT_NE(check(write("model.json", "{\"format\":\"layers-model\"}"), FileKind::trace), "");
  EXPECT_NE(
      check(write("w.npz", std::string("PK\x03\x04") + std::string(22, '\0') + '\x05' + std::string(3, '\0') + "m.pkl"),
            FileKind::tensors),
      "");
  EXPECT_NE(check(write("m.onnx", "\x08\x08\x12\x07pytorch"), FileKind::onnx), "");
}
TEST_F(Outputs, ReplaceTheirOwnKind) {
  EXPECT_EQ(check(write("m.so",
                        "\x7f"
                        "ELF and more: whet.so\n" +
                            std::string(56, 'x')),
                  FileKind::model),
            "");
  EXPECT_EQ(check(write("p.html", "<!DOCTYPE html>\n<html>\n<title>whet: m</title>"), FileKind::page), "");
  EXPECT_EQ(check(write("e.jsonl", "{\"v\":1,\"event\":\"started\"}\n"), FileKind::events), "");
  EXPECT_EQ(check(write("t.json", "{\"traceEvents\":[]}"), FileKind::trace), "");
  EXPECT_EQ(check(write("m.ptx", ".version 7.8\n"), FileKind::ptx), "");
  EXPECT_EQ(check(write("m.onnx", "\x08\x08\x12\x04whet"), FileKind::onnx), "");
  ASSERT_TRUE(save_npy(path("t.npy"), Tensor(DType::f32, {2})).ok());
  ASSERT_TRUE(save_npz(path("t.npz"), {{"x", Tensor(DType::f32, {2})}}).ok());
  EXPECT_EQ(check(path("t.npy"), FileKind::tensors), "");
  EXPECT_EQ(check(path("t.npz"), FileKind::tensors), "");
}
TEST_F(Outputs, MayBeEmptyOrDevicesOrPipes) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& there : {write("empty", ""), path("new"), path("pipe"), std::string("/dev/null")})
    EXPECT_EQ(check(there, FileKind::page), "") << there;
  EXPECT_EQ(check({{"-o", "/dev/null", FileKind::records}, {"--report", "/dev/null", FileKind::page}}, {"/dev/null"}),
            "");
}
TEST_F(Outputs, CanBeWritten) {
  EXPECT_EQ(check(path("no/m.so"), FileKind::model), "-o: cannot write \"no/m.so\": No such file or directory");
  EXPECT_EQ(check(folder_ + "/", FileKind::page), "-o: cannot write \"\": Is a directory");
  if (geteuid() == 0) return;  // who may write anywhere
  ASSERT_EQ(chmod(folder_.c_str(), 0500), 0);
  EXPECT_EQ(check(path("m.so"), FileKind::model), "-o: cannot write \"m.so\": Permission denied");
  ASSERT_EQ(chmod(folder_.c_str(), 0700), 0);
}

}  // namespace
}  // namespace whet
