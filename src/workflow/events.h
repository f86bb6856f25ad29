#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "workflow/tuning.h"

namespace whet {

/// The version of each line of events (docs/formats/events.md).
inline constexpr int kEventsVersion = 1;

/// A stream of events: a JSON object a line, written at once. A reader that is slow is waited for.
class EventStream {
 public:
  ///   where  the number of an open file descriptor, or the path of a file, which is made anew
  static Result<EventStream> open(const std::string& where);
  /// One that gives each line, without its newline, to a function.
  explicit EventStream(std::function<void(const std::string&)> take);

  EventStream(EventStream&&) noexcept;
  EventStream& operator=(EventStream&&) = delete;
  ~EventStream();

  /// Writes `{"v": 1, "event": name, "t": seconds since the stream was opened, ...members}`. After an error nothing more is
  /// written, and `status` has the error.
  void write(const std::string& name, const Json& members);
  const Status& status() const { return status_; }

 private:
  EventStream(int fd, bool owned, std::string where);
  int fd_ = -1;
  bool owned_ = false;                            ///< closed at the end
  std::function<void(const std::string&)> take_;  ///< instead of a descriptor
  std::string where_;
  Status status_ = ok_status();
  std::mutex writing_;  ///< notes come from other threads, too
  std::chrono::steady_clock::time_point start_;
};

// The members of the events of a run.

/// What a run begins with.
Json started_event(const TuneSettings&, const Prepared&, const RecordFile&, const MachineRates&);
/// A round; of the tasks those that `known` does not have as they are now, which it has afterwards.
Json round_event(const TuneProgress&, std::map<int, Json>& known);
///   left  seconds of the whole command; infinity: not known
Json compiling_event(int done, int all, double left);
Json reading_event(std::int64_t read, std::int64_t all, double left);
Json planning_event(const PlanProgress&, double left);

/// Writes what happens in runs of the tuner.
class TuneEvents : public TuneListener {
 public:
  TuneEvents(EventStream& stream, const TuneSettings& settings) : stream_(stream), settings_(settings) {}

  void started(const Prepared&, const RecordFile&, const MachineRates&) override;
  void round(const TuneProgress&) override;
  void compiling(int done, int all) override;
  void network(const NetworkTruth&) override;
  void reading(std::int64_t read, std::int64_t all) override;
  void ladder(const LadderProgress&) override;
  void at_sizes(const NetworkAtSizes&) override;
  void planning(const PlanProgress&) override;
  void plans(const PlanSearch&) override;
  void lowering(const PrecisionProgress&) override;
  void precision(const PrecisionSearch&) override;
  void finished(const Tuned&) override;

 private:
  EventStream& stream_;
  const TuneSettings& settings_;
  std::map<int, Json> known_;
  std::vector<std::string> size_names_;
};

}  // namespace whet
