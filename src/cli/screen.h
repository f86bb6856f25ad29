#pragma once

#include <string>
#include <vector>

#include "cli/table.h"
#include "cost/limit.h"
#include "tuner/ladder.h"
#include "tuner/network.h"
#include "tuner/tuner.h"

namespace whet {

/// The tuner's screen: on a terminal one table, redrawn in place; on a pipe one line a round. With one task after the
/// other, a line a task, on a terminal redrawn in place.
class TuneScreen {
 public:
  /// `peak_gflops`: of the threads that run kernels; 0: unknown.
  TuneScreen(bool terminal, double peak_gflops, bool per_task)
      : terminal_(terminal), per_task_(per_task), peak_gflops_(peak_gflops) {}

  void show(const TuneProgress&);
  /// On a terminal, how far the compilation of the network is; the line is gone when all kernels are made.
  ///   left  seconds of the whole command; infinity: not known
  void show_compiling(int done, int all, double left) const;
  /// On a terminal, at how many sizes the model has been read; the line is gone when that is at all.
  void show_reading(std::int64_t read, std::int64_t all, double left) const;
  /// On a terminal, how far kernels for ranges are timed; the line is gone when all tasks are done.
  void show_ladder(const LadderProgress&, double left) const;

 private:
  bool terminal_, per_task_;
  double peak_gflops_;
  int lines_ = 0;  ///< drawn last time, to be drawn over
};

/// The table of tasks, at most `rows` of them (those that cost most; 0: all); the last row counts the others.
Table progress_table(const TuneProgress&, double peak_gflops, int rows);
/// The line that a round prints on a pipe.
std::string round_line(const TuneProgress&);
/// `[Task  3/12]  Current/Best:  215.34/2271.11 GFLOPS | Progress: (400/400) | 128.74 s Done.`: the classic line of
/// tuning one task after the other.
std::string task_line(const TuneProgress&);
/// `Estimated total latency: ...   Trials: ...   Used time: ...   ETA: ...   Next ID: ...   Remaining gain: ...`, in lines of at most `columns` characters (0: one line), each with a newline.
std::string progress_lines(const TuneProgress&, std::size_t columns);
/// The summary at the end: each task before and after with its nearest limit; the time of each phase; the failures.
///   limits    one list a task, or empty
///   builders  processes that built
///   columns   of the terminal; 0: it is none
std::string closing_report(const TuneProgress&, double peak_gflops, const std::vector<std::vector<Limit>>& limits,
                           int builders, std::size_t columns = 0);
/// The whole network: untuned and tuned as measured alternately, predicted and measured; "" where it was not timed.
std::string network_report(const NetworkTruth&);

}  // namespace whet
