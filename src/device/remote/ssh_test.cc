#include "device/remote/ssh.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "device/remote/remote_device.h"

namespace whet::ssh_test {
namespace {

namespace fs = std::filesystem;

std::string machine_here() {
  utsname system{};
  uname(&system);
  return system.machine;
}

/// A `ssh` first on PATH that runs the last argument here, with a home of its own, and writes its other arguments down.
class FakeSsh : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(WHET_DEVICE)) GTEST_SKIP() << WHET_DEVICE << " is not built: clang++-19 is missing";
    folder_ = fs::path(::testing::TempDir()) / ("ssh." + std::to_string(getpid()));
    fs::create_directories(folder_ / "bin");
    fs::create_directories(folder_ / "home");
    write_ssh("for last; do :; done; exec sh -c \"$last\"");
    path_ = std::getenv("PATH");
    setenv("PATH", ((folder_ / "bin").string() + ":" + path_).c_str(), 1);
    std::ifstream file(WHET_DEVICE, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    program_ = {machine_here(), std::string(64, 'a'), bytes_};
  }
  void TearDown() override {
    if (!path_.empty()) setenv("PATH", path_.c_str(), 1);
    fs::remove_all(folder_);
  }
  void write_ssh(const std::string& what) {
    const fs::path file = folder_ / "bin" / "ssh";
    std::ofstream(file) << "#!/bin/sh\necho \"$@\" >> " << (folder_ / "calls").string()
                        << "\nunset XDG_CACHE_HOME\nexport HOME=" << (folder_ / "home").string() << "\n"
                        << what << "\n";
    fs::permissions(file, fs::perms::owner_all);
  }
  RemoteOptions options() {
    RemoteOptions options;
    options.address = to_string(name_);
    options.argv = ssh_command(name_, {program_});
    options.push = [this](const Error& error) -> Status {
      if (missing_machine(error) != program_.machine) return error;
      ++pushes_;
      return push_over_ssh(name_, program_, {});
    };
    options.back_off = {};
    return options;
  }
  std::string why_not() {
    const auto device = RemoteDevice::connect(options());
    return device.ok() ? "" : device.error().message;
  }
  std::string calls() {
    std::ifstream file(folder_ / "calls");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
  std::string path_, bytes_;
  PushedProgram program_;
  DeviceName name_ = parse_device_name("ssh://pi@board:2222").value();
  int pushes_ = 0;
};

TEST_F(FakeSsh, IsGivenTheProgramOnce) {
  for (int again = 0; again < 2; ++again) {
    const auto device = RemoteDevice::connect(options());
    ASSERT_TRUE(device.ok()) << device.error().message;
    EXPECT_FALSE((*device)->description().cores.empty());
  }
  EXPECT_EQ(pushes_, 1);
  const fs::path cached = folder_ / "home/.cache/whet" / ("device-" + std::string(12, 'a'));
  EXPECT_EQ(fs::file_size(cached), bytes_.size());
  EXPECT_EQ(fs::status(cached).permissions(), fs::perms::owner_all) << "for the user alone";
  EXPECT_EQ(calls().find("-T -oBatchMode=yes -oServerAliveInterval=5 -oServerAliveCountMax=2 -p 2222 -l pi board"), 0u)
      << calls();
}
TEST_F(FakeSsh, StartsTheProgramThatIsThere) {
  const auto missing = RemoteSession::open(ssh_command_of_installed(name_), {}, {});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing_machine(missing.error()), machine_here());
  EXPECT_EQ(why_not(), "");
  const auto cached = RemoteSession::open(ssh_command_of_installed(name_), {}, {});
  EXPECT_TRUE(cached.ok()) << cached.error().message;
  // One that was installed by hand goes before it.
  fs::copy_file(WHET_DEVICE, folder_ / "bin/whet-device");
  fs::remove_all(folder_ / "home/.cache");
  const auto installed = RemoteSession::open(ssh_command_of_installed(name_), {}, {});
  EXPECT_TRUE(installed.ok()) << installed.error().message;
}
TEST_F(FakeSsh, LeavesNoHalfFile) {
  write_ssh(
      "for last; do :; done\ncase $last in *wc*) head -c 1000 | sh -c \"$last\";; *) exec sh -c \"$last\";; esac");
  EXPECT_EQ(why_not(), "ssh://pi@board:2222: whet-device cannot be copied there");
  EXPECT_TRUE(fs::is_empty(folder_ / "home/.cache/whet"));
}
TEST_F(FakeSsh, TellsWhatSshSays) {
  write_ssh("echo 'ssh: connect to host board port 2222: Connection refused' >&2; exit 255");
  EXPECT_EQ(
      why_not(),
      "ssh://pi@board:2222: the command ended before a whet-device answered, with status 255: ssh: connect to host "
      "board port 2222: Connection refused");
}
TEST_F(FakeSsh, SaysForWhichMachinesThereIsNone) {
  program_.machine = "riscv64";
  EXPECT_EQ(
      why_not(),
      "ssh://pi@board:2222: the command ended before a whet-device answered, with status 94: whet-device is not made "
      "for Linux " +
          machine_here());
}

}  // namespace
}  // namespace whet::ssh_test
