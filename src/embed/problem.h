#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/scratch.h"
#include "device/local/zygote.h"
#include "task/task.h"
#include "workflow/serve.h"
#include "workflow/tuning.h"

namespace whet {

/// What the problems of a program share: the program whet, whose processes measure. Any thread.
class Workshop {
 public:
  ///   program  its path; "": it is looked for (embed/program.h)
  explicit Workshop(std::string program) : program_(std::move(program)) {}

  Result<std::string> program() const;
  /// Started when it is first asked for, from whichever thread.
  Result<Zygote*> zygote();

 private:
  const std::string program_;
  std::mutex mutex_;
  std::optional<Zygote> zygote_;
};

/// What there is to tell of a problem. Any thread.
class Notes {
 public:
  void add(const std::string& sentence);
  /// Those since it was last asked.
  std::vector<std::string> take();

 private:
  std::mutex mutex_;
  std::vector<std::string> sentences_;
};

/// Takes an event as a line of JSON; false ends the run.
using TakeEvent = std::function<bool(const std::string& json)>;

/// A model or an operator in a program that uses whet as a library: what the commands do, for one model. All texts that are given back
/// are JSON. One thread at a time.
class Problem {
 public:
  struct Load {
    std::string path;                       ///< "": no model; its tasks are defined by requests
    std::optional<std::string_view> bytes;  ///< of a file instead
    std::string name;                       ///< of these; "": "model"
    std::string records, options;
  };
  struct Tune {
    int trials = 0;
    double seconds = 0;
    std::string records, options;
  };
  struct Compile {
    std::string output, records, options;
  };

  static Result<std::unique_ptr<Problem>> load(std::shared_ptr<Workshop>, std::shared_ptr<Notes>, const Load&);

  Result<std::string> tasks();
  /// Runs the tuner in another thread, and `take`, which may be empty, in this one.
  Result<std::string> tune(const Tune&, const TakeEvent& take);
  Result<std::string> compile(const Compile&);
  /// By the program whet, whose words these are.
  Result<std::string> explain(const std::string& topic, const std::string& options);
  /// Answers as `whet serve` does.
  Result<std::string> ask(std::string_view request);

 private:
  Problem(std::shared_ptr<Workshop> shop, std::shared_ptr<Notes> notes, ScratchDirectory scratch)
      : shop_(std::move(shop)), notes_(std::move(notes)), scratch_(std::move(scratch)) {}
  Status read(const Load&);
  /// Devices, builders and the server of requests, made once.
  Result<ServedTasks*> served();
  bool has_records() const;

  std::shared_ptr<Workshop> shop_;
  std::shared_ptr<Notes> notes_;
  ScratchDirectory scratch_;  ///< a model from memory, and records that nobody named
  TuneSettings settings_;     ///< as it was loaded, with the record file of now
  std::vector<Task> tasks_;   ///< of this machine; where devices were named the server has them
  std::unique_ptr<ServedTasks> served_;
};

/// What `whet records QUERY PATH` prints as JSON.
Result<std::string> read_records_as_text(const Workshop&, const std::string& path, const std::string& query);

}  // namespace whet
