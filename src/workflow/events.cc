#include "workflow/events.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/parallel.h"
#include "base/version.h"
#include "base/write_place.h"
#include "workflow/lowering.h"
#include "workflow/tune_json.h"

namespace whet {
namespace {

/// The number that is all of `text`; -1 else.
int descriptor_in(const std::string& text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0 ? number : -1;
}

bool write_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += static_cast<std::size_t>(n);
  }
  return true;
}

double to_ms(double seconds) { return seconds * 1e3; }

}  // namespace

EventStream::EventStream(int fd, bool owned, std::string where)
    : fd_(fd), owned_(owned), where_(std::move(where)), start_(std::chrono::steady_clock::now()) {}
EventStream::EventStream(std::function<void(const std::string&)> take)
    : take_(std::move(take)), start_(std::chrono::steady_clock::now()) {}
EventStream::EventStream(EventStream&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      owned_(other.owned_),
      take_(std::move(other.take_)),
      where_(std::move(other.where_)),
      status_(std::move(other.status_)),
      start_(other.start_) {}
EventStream::~EventStream() {
  if (owned_ && fd_ >= 0) ::close(fd_);
}

Result<EventStream> EventStream::open(const std::string& where) {
  if (const int fd = descriptor_in(where); fd >= 0) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
      return Error{fmt::format("--events is {}; expected a file descriptor that is open for writing, or a path", fd),
                   ErrorKind::wrong_use};
    return EventStream(fd, false, where);
  }
  const WritePlace place = write_place(where);
  const int fd =
      place.in_place ? open_in_place(place) : ::open(where.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    return Error{fmt::format("--events: {} cannot be written: {}", where, std::strerror(errno)), ErrorKind::io};
  return EventStream(fd, true, where);
}

void EventStream::write(const std::string& name, const Json& members) {
  const std::lock_guard<std::mutex> lock(writing_);
  if (!status_.ok()) return;
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - start_;
  Json line = Json::object().set("v", kEventsVersion).set("event", name).set("t", since.count());
  for (const auto& [key, value] : members.members()) line.set(key, value);
  if (take_) return take_(dump(line));
  if (!write_all(fd_, dump(line) + "\n"))
    status_ = Error{fmt::format("--events: {} cannot be written: {}", where_, std::strerror(errno)), ErrorKind::io};
}

Json started_event(const TuneSettings& settings, const Prepared& prepared, const RecordFile& file,
                   const MachineRates& rates) {
  const Target& target = prepared.place.target;
  Json tasks = Json::array();
  for (std::size_t i = 0; i < prepared.chosen.size(); ++i) {
    const Task& task = prepared.chosen[i];
    tasks.add(Json::object()
                  .set("id", prepared.ids[i])
                  .set("name", task.name)
                  .set("key", task.key)
                  .set("weight", task.weight)
                  .set("flops", flops(task.dag)));
  }
  Json out = Json::object();
  if (!prepared.at.empty()) {
    std::vector<std::string> names;
    for (const WantedSize& size : prepared.sizes) names.push_back(size.name);
    Json sizes = Json::array();
    for (const PreparedSize& each : prepared.at)
      sizes.add(Json::object().set("sizes", values_json(names, each.size.at)).set("requests", each.size.requests));
    out.set("sizes", std::move(sizes));
  }
  return out.set("whet", version())
      .set("model", prepared.networks.empty() ? settings.model.text() : prepared.name)
      .set("target", to_string(target))
      .set("where", place_text(prepared))
      .set("threads", target.threads)
      .set("cores", is_remote(prepared) ? Json::array() : Json::array_of(prepared.place.cores.cpus))
      .set("emulated", prepared.emulated)
      .set("records", settings.records)
      .set("records_there", static_cast<std::int64_t>(file.records().size()))
      .set("peak_gflops", rates.gflops)
      .set("network_tasks", static_cast<std::int64_t>(prepared.tasks.size()))
      .set("tasks", std::move(tasks));
}

Json round_event(const TuneProgress& progress, std::map<int, Json>& known) {
  Json tasks = Json::array();
  for (const TaskProgress& task : progress.tasks) {
    Json now = to_json(task).set("seconds", task.seconds).set("done", task.done);
    Json& before = known[task.id];
    if (now == before) continue;
    before = now;
    tasks.add(std::move(now));
  }
  const auto id_of = [&](int place) {
    return place < 0 ? Json() : Json(progress.tasks[static_cast<std::size_t>(place)].id);
  };
  const auto limit = [](auto allowed) { return allowed > 0 ? Json(allowed) : Json(); };
  return Json::object()
      .set("seconds", progress.seconds)
      .set("allowed_seconds", limit(progress.allowed_seconds))
      .set("left_seconds", seconds_left(progress))
      .set("trials", progress.trials)
      .set("allowed_trials", limit(progress.allowed_trials))
      .set("task", id_of(progress.task))
      .set("next_task", id_of(progress.next_task))
      .set("round_best_ms", progress.task < 0 ? Json() : Json(to_ms(progress.round_best_seconds)))
      .set("default_ms", to_ms(progress.default_network_seconds()))
      .set("best_ms", to_ms(progress.network_seconds()))
      .set("compared", compared_json(progress))
      .set("remaining_gain_ms", to_ms(progress.remaining_gain))
      .set("slowdown", progress.slowdown)
      .set("placements", to_json(progress.placements))
      .set("tasks", std::move(tasks));
}

Json compiling_event(int done, int all, double left) {
  return Json::object().set("done", done).set("all", all).set("left_seconds", left);
}

Json reading_event(std::int64_t read, std::int64_t all, double left) {
  return Json::object().set("read", read).set("all", all).set("left_seconds", left);
}

Json planning_event(const PlanProgress& progress, double left) {
  return Json::object()
      .set("hoped_ms", to_ms(progress.hoped_seconds))
      .set("usual_ms", to_ms(progress.usual_seconds))
      .set("measuring", static_cast<std::int64_t>(progress.measuring))
      .set("trials", progress.trials)
      .set("seconds", progress.seconds)
      .set("left_seconds", left);
}

void TuneEvents::started(const Prepared& prepared, const RecordFile& file, const MachineRates& rates) {
  known_.clear();
  size_names_.clear();
  for (const WantedSize& size : prepared.sizes) size_names_.push_back(size.name);
  stream_.write("started", started_event(settings_, prepared, file, rates));
}
void TuneEvents::round(const TuneProgress& progress) { stream_.write("round", round_event(progress, known_)); }
void TuneEvents::compiling(int done, int all) {
  stream_.write("compiling", compiling_event(done, all, settings_.time.left(seconds_now())));
}
void TuneEvents::network(const NetworkTruth& truth) { stream_.write("network", to_json(truth)); }
void TuneEvents::reading(std::int64_t read, std::int64_t all) {
  stream_.write("reading", reading_event(read, all, settings_.time.left(seconds_now())));
}
void TuneEvents::ladder(const LadderProgress& progress) {
  Json event = to_json(progress);
  stream_.write("ladder", event.set("task", progress.task).set("left_seconds", settings_.time.left(seconds_now())));
}
void TuneEvents::at_sizes(const NetworkAtSizes& network) {
  stream_.write("at_sizes", Json::object().set("at_sizes", to_json(network, size_names_)));
}
void TuneEvents::planning(const PlanProgress& progress) {
  stream_.write("planning", planning_event(progress, settings_.time.left(seconds_now())));
}
void TuneEvents::plans(const PlanSearch& plans) { stream_.write("layouts", to_json(plans)); }
void TuneEvents::lowering(const PrecisionProgress& progress) { stream_.write("lowering", to_json(progress)); }
void TuneEvents::precision(const PrecisionSearch& search) { stream_.write("precision", to_json(search)); }
void TuneEvents::finished(const Tuned& tuned) { stream_.write("finished", to_json(tuned, settings_.records)); }

}  // namespace whet
