#pragma once

// A broker, agents and scripted devices as real processes, and tuners in front of them.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "faults/session.h"
#include "fleet/fleet_device.h"
#include "fleet/queue.h"

namespace whet::faults {

inline constexpr const char* kKey = "k";

inline bool has_broker() {
  return std::system("command -v nats-server > /dev/null && command -v openssl > /dev/null") == 0;
}
inline void wait(double seconds) { usleep(static_cast<useconds_t>(seconds * 1e6)); }

/// A broker on a free port of the loopback, or of another address, with a setup of its own: users ann and bob, agents lab and far.
class Broker {
 public:
  ///   disk  size of a disk of its own, as mount takes it; "": the test's. See `has_small_disk`.
  explicit Broker(const std::string& address = "127.0.0.1", const std::string& disk = "") {
    const Ending setup = run(WHET_AGENT,
                             {"--setup", dir(), "--address", address + ":4222", "--user", "ann", "--user", "bob",
                              "--agent", "lab", "--agent", "far"},
                             folder_);
    EXPECT_EQ(setup.number, 0) << setup.out;
    if (!disk.empty()) mount_disk(disk);
    start("-1");
    // What everyone dials.
    for (const char* user : {"ann", "bob", "lab", "far", "admin"})
      write(dir(user) + "/fleet", std::regex_replace(content(dir(user) + "/fleet"), std::regex("4222"), port_));
    prepare(kKey);
  }
  ~Broker() {
    server_.reset();
    if (has_disk_) umount((dir() + "/js").c_str());
  }
  Broker(const Broker&) = delete;
  bool has_small_disk() const { return has_disk_; }
  /// Takes all the room that its disk has, or gives it back.
  void fill_disk() const {
    std::ofstream filler(dir() + "/js/filler", std::ios::binary);
    while (filler.write(std::string(4096, 'x').data(), 4096).flush()) {
    }
  }
  void empty_disk() const { std::filesystem::remove(dir() + "/js/filler"); }

  std::string dir(const std::string& user = "") const { return folder_ / (user.empty() ? "setup" : "setup/" + user); }
  const Folder& folder() const { return folder_; }
  const std::string& port() const { return port_; }

  void prepare(const std::string& key) {
    const Ending made = run(WHET_AGENT, {"--join", dir(), "--key", key}, folder_);
    EXPECT_EQ(made.number, 0) << made.out;
  }
  void kill() {
    server_->send(SIGKILL);
    server_->end();
  }
  void start() { start(port_); }
  void reload() { server_->send(SIGHUP); }
  FleetAccess access(const std::string& user) const { return read_fleet_access(dir(user)).value(); }
  std::unique_ptr<FleetQueue> join(const std::string& user, std::function<void(const std::string&)> waits = {}) const {
    auto queue = join_fleet(access(user), std::move(waits));
    EXPECT_TRUE(queue.ok()) << queue.error().message;
    return queue.ok() ? std::move(*queue) : nullptr;
  }

 private:
  void start(const std::string& port) {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      if (entry.path().extension() == ".ports") std::filesystem::remove(entry.path());
    server_ = std::make_unique<Program>(
        "/bin/sh",
        std::vector<std::string>{"-c", "exec nats-server -c setup/server.conf -p " + port + " --ports_file_dir ."},
        folder_);
    const bool ready = server_->wait_until([&] {
      for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
        if (entry.path().extension() != ".ports") continue;
        std::smatch found;
        const std::string text = content(entry.path().string());
        if (std::regex_search(text, found, std::regex("://[0-9.]*:([0-9]+)"))) port_ = found[1];
        return !found.empty();
      }
      return false;
    });
    EXPECT_TRUE(ready) << server_->end().out;
  }

  void mount_disk(const std::string& size) {
    const std::string store = dir() + "/js";
    std::filesystem::create_directory(store);
    has_disk_ = mount("none", store.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }

  Folder folder_;
  std::string port_;
  std::unique_ptr<Program> server_;
  bool has_disk_ = false;
};

/// An agent of the broker with some scripted devices, "NAME-1", "NAME-2", ...
class Agent {
 public:
  Agent(const Broker& broker, const std::string& user, int devices, double milliseconds, Surroundings surroundings = {})
      : broker_(broker), surroundings_(std::move(surroundings)), arguments_{"--join", broker.dir(user), "--key", kKey} {
    for (int i = 1; i <= devices; ++i) {
      const std::string name = user + "-" + std::to_string(i);
      names_.push_back(name);
      arguments_.insert(arguments_.end(), {"--device", "exec:exec " WHET_SCRIPTED_DEVICE " " + name + " " +
                                                           std::to_string(milliseconds) + " " + pid_file(name)});
    }
    start();
  }
  void start() { program_ = std::make_unique<Program>(WHET_AGENT, arguments_, broker_.folder(), surroundings_); }
  void send(int signal) { program_->send(signal); }
  Ending end() { return program_->end(); }
  /// As a host whose power fails: the devices see that the link ends.
  void kill() {
    send(SIGKILL);
    program_->end();
  }
  /// Whose jobs a device was told that it runs, a line a job.
  std::string users_of(std::size_t i) const { return content(pid_file(names_[i]) + ".users"); }
  void kill_device(std::size_t i) const {
    const std::string pid = content(pid_file(names_[i]));
    if (!pid.empty()) ::kill(std::stoi(pid), SIGKILL);
  }

 private:
  std::string pid_file(const std::string& name) const { return broker_.folder() / (name + ".pid"); }
  const Broker& broker_;
  Surroundings surroundings_;
  std::vector<std::string> arguments_, names_;
  std::unique_ptr<Program> program_;
};

/// Waits until the key has `units` units that are not lost.
inline bool comes_to(FleetQueue& queue, std::size_t units) {
  for (int i = 0; i < 300; ++i, wait(0.1)) {
    const auto all = queue.units(kKey);
    if (all.ok() &&
        static_cast<std::size_t>(std::ranges::count_if(*all, [](const FleetUnit& u) { return !u.is_lost(); })) >= units)
      return true;
  }
  return false;
}

inline KernelJob kernel(int microseconds) {
  KernelJob job;
  job.kernel = {
      CodeFormat::native_object, std::string(static_cast<std::size_t>(microseconds), 'x'), {{"k", true}}, 0, 0, {}};
  return job;
}
inline std::unique_ptr<FleetDevice> device_of(std::shared_ptr<FleetQueue> queue) {
  FleetDeviceOptions options;
  options.queue = std::move(queue);
  options.key = kKey;
  DeviceDescription unit;
  return std::make_unique<FleetDevice>(std::move(options), unit, parse_target("cpu -mcpu=znver3").value());
}

/// Devices in front of one queue, which measure kernels of 1, 2, 3 ... microseconds.
class Tuner {
 public:
  Tuner(std::shared_ptr<FleetQueue> queue, int devices) : queue_(std::move(queue)) {
    for (int i = 0; i < devices; ++i) devices_.push_back(device_of(queue_));
  }
  /// Measures `kernels` of them, or until `enough`.
  void start(int kernels, std::function<bool()> enough = {}) {
    for (const auto& device : devices_)
      threads_.emplace_back([this, kernels, enough, &device = *device] {
        for (int i; !(enough && enough()) && (i = ++next_) <= kernels;) {
          const MeasureReply reply = device.measure({kernel(i), {}});
          ++answers_;
          const bool right = reply.code == OutcomeCode::ok && reply.seconds.size() == 1 &&
                             std::abs(reply.seconds.front() - i * 1e-6) < 1e-12;
          const std::lock_guard<std::mutex> lock(mutex_);
          if (!right)
            wrong_ += std::to_string(i) + " " + std::string(name_of(reply.code)) + ": " + reply.message + "\n";
        }
      });
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  int answers() const { return answers_; }
  /// The kernels that had no answer of their own.
  std::string wrong() const { return wrong_; }

 private:
  std::shared_ptr<FleetQueue> queue_;
  std::vector<std::unique_ptr<FleetDevice>> devices_;
  std::vector<std::thread> threads_;
  std::atomic<int> next_ = 0, answers_ = 0;
  std::mutex mutex_;  ///< of `wrong_`
  std::string wrong_;
};

}  // namespace whet::faults
