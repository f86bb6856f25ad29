#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "machine/topology.h"

namespace whet {

/// A folder of this test that looks like /sys and /proc.
class FakeSystem : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::filesystem::path(::testing::TempDir()) / (std::string("whet_machine_") + info->name());
    std::filesystem::remove_all(root_);
    paths_ = {root_ / "cpu", root_ / "own_cgroup", root_ / "cgroup", root_ / "proc", root_ / "huge_pages"};
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  void add_cpu(int id, int core, int capacity) {
    const std::string folder = "cpu/cpu" + std::to_string(id);
    write(folder + "/topology/core_id", std::to_string(core));
    write(folder + "/topology/physical_package_id", "0");
    write(folder + "/cpu_capacity", std::to_string(capacity));
  }
  std::filesystem::path root_;
  SystemPaths paths_;
};

}  // namespace whet
