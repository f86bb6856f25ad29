#pragma once

namespace whet {

/// Towards a deadline two models have this many bursts each at least, and none is shorter [s].
constexpr int kFewBursts = 3;
constexpr double kShortestBurst = 0.03;
/// How many rounds time all tasks alternately with the network, and about the seconds of a task in one.
constexpr int kRoundsOfTasks = 4;
constexpr double kTaskSeconds = 0.03;

/// The seconds that a phase takes.
struct PhaseNeed {
  double least = 0;  ///< shortened as far as it can be; 0: the phase is not wanted
  double usual = 0;  ///< with all that it does where there is time
};

/// What the end of a run costs depends on: compiles and comparisons of the whole network.
struct NetworkSize {
  int kernels = 0;
  double weight_bytes = 0;
  double inference_seconds = 0;  ///< about
  double kernel_seconds = 0.03;  ///< of building one kernel, in one process or thread
  int builders = 1;              ///< threads that compile at once
  double compile = 0;            ///< as measured [s]; 0: it is estimated by the members before
};

/// The wall time of compiling the network once: measured, or estimated.
double compile_seconds(const NetworkSize&);

/// How two models are timed alternately in one process.
struct Bursts {
  int count = 0;       ///< of each model; 0: none
  double seconds = 0;  ///< of each burst; one inference at least
};
/// The wall time of one such comparison, with the opening of the models.
double comparison_seconds(const NetworkSize&, const Bursts&);
/// As many bursts of `usual` as fit into `seconds`. Where fewer than `least` do, as many shorter ones, down to `shortest`; none where
/// these do not fit either.
///   times  comparisons that are to fit
Bursts bursts_within(double seconds, const NetworkSize&, const Bursts& usual, int least, double shortest,
                     int times = 1);

/// What settle_in_network needs.
PhaseNeed network_need(const NetworkSize&);
/// What search_plans needs beside the time in which it measures tasks.
///   find_seconds  of finding the alternatives
PhaseNeed layouts_need(const NetworkSize&, double find_seconds);

}  // namespace whet
