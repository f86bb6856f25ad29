// What devices elsewhere cost: the measuring side of bench/devices. Prints one JSON object.
//
//   whet_devices overhead COMMAND|fleet:KEY [--candidates 1600] [--rounds 9] [--fleet FOLDER]
//       a candidate's wall time on the device of the session that COMMAND carries, or on units of a fleet, in jobs of
//       16, less that on this machine, alternately; the bytes of a candidate and of its answer in a session
//   whet_devices scaling COMMAND --units N --seconds S [--jobs 6]
//       N devices, "COMMAND K S" for each number K, that take S for each kernel: the part of their time that N x JOBS jobs
//       of 8 candidates fill, asked for by two threads a device
//   whet_devices timing COMMAND COMMAND [--rounds 41]
//       the ratio of a kernel's time on the second device to that on the first, alternately
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "bursts.h"
#include "compute/dag.h"
#include "device/local/zygote.h"
#include "device/make_device.h"
#include "device/protocol/messages.h"
#include "device/remote/remote_device.h"
#include "fleet/fleet_device.h"
#include "machine/detect.h"
#include "measure/build.h"
#include "measure/jobs.h"

namespace whet {
namespace {

constexpr std::size_t kOfJob = 16, kOfSimulatedJob = 8;

using bench::median;

Target one_thread() { return std::move(resolve_target("cpu -threads=1")).value(); }

int fail(const std::string& sentence) {
  std::fprintf(stderr, "whet_devices: %s\n", sentence.c_str());
  return 1;
}

/// A dense layer for this machine by its naive schedule, on one thread.
MeasureRequest dense_layer(int rows) {
  const std::string dag = fmt::format(
      "a = PLACEHOLDER [{0}, 64]\nw = PLACEHOLDER [64, 64]\n"
      "c(i, j) += (a[i, k]*w[k, j]) for i in {0}, j in 64, k in 64\nreturn c\n",
      rows);
  const BuildResult built = build_candidate({dag, "", to_string(one_thread())});
  if (built.code != OutcomeCode::ok) std::exit(fail("the kernel cannot be built: " + built.message));
  MeasureRequest request;
  request.job.kernel = built.kernel;
  for (const BuiltArgument& argument : built.arguments) request.job.arguments.push_back(argument.spec);
  request.job.cpu.no_pin = true;
  return request;
}

std::unique_ptr<RemoteDevice> connect(const std::string& command) {
  RemoteOptions options;
  options.address = command;
  options.argv = {"sh", "-c", command};
  options.back_off = {};
  auto device = RemoteDevice::connect(std::move(options));
  if (!device.ok()) std::exit(fail(device.error().message));
  (*device)->set_target(one_thread());
  return std::move(*device);
}

/// The first unit's description stands for all.
std::unique_ptr<Device> join(const std::string& key, const std::string& folder) {
  const Result<FleetAccess> access = read_fleet_access(folder);
  if (!access.ok()) std::exit(fail(access.error().message));
  Result<std::unique_ptr<FleetQueue>> queue = join_fleet(*access);
  if (!queue.ok()) std::exit(fail(queue.error().message));
  const Result<std::vector<FleetUnit>> units = (*queue)->units(key);
  if (!units.ok() || units->empty()) std::exit(fail("the fleet has no unit of the key " + key));
  FleetDeviceOptions options{std::shared_ptr<FleetQueue>(std::move(*queue)), key};
  return std::make_unique<FleetDevice>(std::move(options), units->front().presence.device, one_thread());
}

void require(const MeasureReply& reply) {
  if (reply.code != OutcomeCode::ok) std::exit(fail("a kernel failed: " + reply.message));
}

int overhead(Zygote& zygote, const std::string& where, const std::string& folder, int candidates, int rounds) {
  MeasureRequest request = dense_layer(8);
  request.policy.min_seconds = 0;
  request.policy.cache = CacheMode::warm;
  const auto here = std::move(make_device(one_thread(), {.zygote = &zygote})).value();
  constexpr std::string_view kFleet = "fleet:";
  const std::unique_ptr<Device> there =
      where.starts_with(kFleet) ? join(where.substr(kFleet.size()), folder) : std::unique_ptr<Device>(connect(where));
  const MeasureJob job{std::vector<MeasureRequest>(kOfJob, request), false};
  const int jobs = candidates / static_cast<int>(kOfJob);
  std::vector<double> local, remote;
  for (int round = 0; round < rounds; ++round) {
    auto start = bench::now();
    for (int i = 0; i < jobs * static_cast<int>(kOfJob); ++i) require(here->measure(request));
    local.push_back((bench::now() - start) / jobs / kOfJob);
    start = bench::now();
    for (int i = 0; i < jobs; ++i)
      for (const MeasureReply& reply : there->run(job).replies) require(reply);
    remote.push_back((bench::now() - start) / jobs / kOfJob);
  }
  std::vector<double> more;
  for (std::size_t i = 0; i < local.size(); ++i) more.push_back(remote[i] - local[i]);
  SessionJob sent{10, {}};
  sent.requests.assign(job.requests.begin(), job.requests.end());
  const std::string answer = encode(SessionItem{0, there->measure(request)});
  fmt::print(
      "{{\"local_ms\": {:.4f}, \"remote_ms\": {:.4f}, \"overhead_ms\": {:.4f}, \"least_ms\": {:.4f}, \"most_ms\": "
      "{:.4f}, "
      "\"bytes_up\": {}, \"bytes_down\": {}}}\n",
      median(local) * 1e3, median(remote) * 1e3, median(more) * 1e3, *std::ranges::min_element(more) * 1e3,
      *std::ranges::max_element(more) * 1e3, encode(sent).size() / kOfJob, answer.size() + 3 * kSessionHeaderBytes);
  return 0;
}

int scaling(const std::string& command, int units, double seconds, int jobs) {
  std::vector<std::unique_ptr<RemoteDevice>> devices;
  std::vector<Device*> all;
  for (int k = 0; k < units; ++k) devices.push_back(connect(fmt::format("exec {} {} {}", command, k, seconds)));
  for (const auto& device : devices) all.push_back(device.get());
  Units working(all, 10, {});
  JobsOfTask task;
  MeasureRequest request = dense_layer(8);
  request.job.kernel.code.resize(5000, '\0');  // the mean of a network's kernels
  task.candidates.assign(kOfSimulatedJob, request);
  task.champion = request;
  task.champion_seconds = 1e-3;
  std::mutex mutex;
  int left = units * jobs;
  const auto asker = [&] {
    for (;;) {
      {
        const std::lock_guard<std::mutex> lock(mutex);
        if (left == 0) return;
        --left;
      }
      for (const Outcome& outcome : measure_in_jobs(working, task))
        if (!outcome.ok()) std::exit(fail("a simulated kernel failed: " + outcome.message));
    }
  };
  const auto start = bench::now();
  std::vector<std::thread> askers;
  for (int i = 0; i < 2 * units; ++i) askers.emplace_back(asker);
  for (std::thread& each : askers) each.join();
  const double wall = (bench::now() - start), ideal = seconds * (kOfSimulatedJob + 2) * jobs;
  fmt::print(
      "{{\"units\": {}, \"jobs\": {}, \"job_seconds\": {:.3f}, \"wall_seconds\": {:.3f}, \"efficiency\": {:.3f}}}\n",
      units, units * jobs, seconds * (kOfSimulatedJob + 2), wall, ideal / wall);
  return 0;
}

int timing(const std::string& first, const std::string& second, int rounds) {
  MeasureRequest request = dense_layer(512);
  request.policy.cache = CacheMode::warm;
  request.policy.min_seconds = 0.02;
  const std::unique_ptr<RemoteDevice> devices[] = {connect(first), connect(second)};
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    double seconds[2];
    for (int k = 0; k < 2; ++k) {
      const int which = round % 2 == 0 ? k : 1 - k;
      const MeasureReply reply = devices[which]->measure(request);
      require(reply);
      seconds[which] = *std::ranges::min_element(reply.seconds);
    }
    ratios.push_back(seconds[1] / seconds[0]);
  }
  fmt::print("{{\"ratio\": {:.5f}, \"least\": {:.5f}, \"most\": {:.5f}}}\n", median(ratios),
             *std::ranges::min_element(ratios), *std::ranges::max_element(ratios));
  return 0;
}

int usage() {
  std::fprintf(stderr,
               "usage: whet_devices overhead COMMAND|fleet:KEY [--candidates N] [--rounds N] [--fleet FOLDER]\n"
               "       whet_devices scaling COMMAND --units N --seconds S [--jobs N]\n"
               "       whet_devices timing COMMAND COMMAND [--rounds N]\n");
  return 2;
}

int run(int argc, char** argv) {
  Result<Zygote> zygote = Zygote::start();
  if (!zygote.ok()) return fail(zygote.error().message);
  std::vector<std::string> words;
  std::string folder;
  int candidates = 1600, rounds = 0, units = 0, jobs = 6;
  double seconds = 0.04;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (!word.starts_with("--")) {
      words.push_back(word);
      continue;
    }
    ++i;
    if (word == "--candidates")
      candidates = std::max(16, std::atoi(value));
    else if (word == "--rounds")
      rounds = std::atoi(value);
    else if (word == "--units")
      units = std::atoi(value);
    else if (word == "--jobs")
      jobs = std::max(1, std::atoi(value));
    else if (word == "--fleet")
      folder = value;
    else if (word == "--seconds")
      seconds = std::atof(value);
    else
      return usage();
  }
  if (words.size() == 2 && words[0] == "overhead")
    return overhead(*zygote, words[1], folder, candidates, rounds > 0 ? rounds : 9);
  if (words.size() == 2 && words[0] == "scaling" && units > 0) return scaling(words[1], units, seconds, jobs);
  if (words.size() == 3 && words[0] == "timing") return timing(words[1], words[2], rounds > 0 ? rounds : 41);
  return usage();
}

}  // namespace
}  // namespace whet

int main(int argc, char** argv) { return whet::run(argc, argv); }
