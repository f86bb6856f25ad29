#include "report/testing/made_up.h"

#include <cmath>

#include "base/rng.h"

namespace whet::testing_report {
namespace {

/// What is made up of a kernel, and how people call it.
struct Called {
  const char* name;
  TaskLabel label;
};
const Called kConv = {"conv2d+bias+relu 1x56x56x64 k3 s1 p1", {OperatorKind::convolution, "conv2d", "56x56x64", "k3"}};
const Called kPool = {"maxpool 1x28x28x64", {OperatorKind::pool_or_reduction, "maxpool", "28x28x64"}};
const Called kDense = {"dense+add 1x1000", {OperatorKind::matrix_product, "dense", "1000"}};
const TaskLabel kDepthwise = {OperatorKind::depthwise, "depthwise", "28x28x64", "k3"};

TaskLabel pointwise(const char* shape) { return {OperatorKind::convolution, "conv2d", shape, "k1"}; }

ReportTask task(int id, const Called& called, int weight, double default_us, double best_us, int trials) {
  ReportTask task;
  task.id = id, task.name = called.name, task.label = called.label, task.weight = weight;
  task.flops = 2e6 * (id + 1), task.bytes = 1e5;
  task.default_seconds = default_us * 1e-6, task.best_seconds = best_us * 1e-6;
  task.limit = "compute", task.limit_seconds = 0.8e-6 * best_us, task.limit_why = "2.0 MFLOP at 250 GFLOPS";
  task.schedule = "for l1 in 0..56 parallel {\n  o3\n}\n", task.choices = R"({"sketch":"tile","oc":[2,16]})";
  for (int i = 0; i < trials; ++i) {
    const double part = trials > 1 ? static_cast<double>(i) / (trials - 1) : 0;
    const double us = default_us + (best_us - default_us) * part;
    task.trials.push_back({10.0 * id + i, (i % 3 == 1 ? 2 : 1) * us * 1e-6, OutcomeCode::ok, 0.02});
  }
  return task;
}

ReportKernel kernel(const char* node, const Called& called, const char* from, const char* to, double us,
                    bool copy = false, double usual_us = 0) {
  ReportKernel kernel;
  kernel.node = node, kernel.op = called.name, kernel.label = called.label, kernel.from = from, kernel.to = to;
  kernel.copy = copy, kernel.seconds = us * 1e-6, kernel.measured = true;
  kernel.usual_seconds = usual_us * 1e-6;
  return kernel;
}

double sum_of(const ReportPlan& plan) {
  double sum = 0;
  for (const ReportKernel& each : plan.kernels) sum += each.seconds;
  return sum;
}

ReportLayouts layouts() {
  ReportLayouts layouts;
  layouts.chosen.kernels = {kernel("c1", kConv, "nhwc", "nchw16c", 90, false, 100),
                            kernel("c2", kConv, "nchw16c", "nchw16c", 80, false, 100),
                            kernel("c2", {"", {}}, "nchw16c", "nhwc", 6, true), kernel("p", kPool, "nhwc", "nhwc", 20)};
  layouts.runner_up.kernels = {kernel("c1", kConv, "nhwc", "nhwc", 100), kernel("c2", kConv, "nhwc", "nhwc", 100),
                               kernel("p", kPool, "nhwc", "nhwc", 20)};
  layouts.usual = layouts.runner_up;
  layouts.chosen.kernels.push_back(
      kernel("d2", {"depthwise+conv2d 1x28x28x64 k1", kDepthwise}, "nhwc", "nhwc", 15, false, 18));
  layouts.chosen.kernels.back().cover = "chain", layouts.chosen.kernels.back().instead = 2;
  layouts.covers = {{"chain", {kDepthwise, pointwise("28x28x64")}, 2, 15e-6, 18e-6, true},
                    {"merged", {pointwise("28x28x32"), pointwise("28x28x64")}, 1, 31e-6, 30e-6, false}};
  for (ReportPlan* plan : {&layouts.chosen, &layouts.runner_up, &layouts.usual}) plan->seconds = sum_of(*plan);
  layouts.bound_seconds = 190e-6, layouts.network_seconds = 199e-6, layouts.usual_network_seconds = 223e-6;
  layouts.differs = true, layouts.recorded_at = "2026-11-21T10:05:00Z";
  return layouts;
}

/// A layer that a plan lowers, one that is too dear, and one that cannot be lowered.
ReportPrecision precision() {
  ReportPrecision precision;
  LayerPrecision lowered, dear, odd;
  lowered.node = "c1", lowered.is = "nhwc -> bf16", lowered.lowered = true;
  lowered.seconds = 52e-6, lowered.usual_seconds = 100e-6, lowered.saves = 48e-6, lowered.error = 4e-3,
  lowered.share = 0.25;
  lowered.ways = {{"nhwc -> bf16", 52e-6, 4e-3}, {"bf16", 50e-6, 5e-3}};
  dear.node = "c2", dear.seconds = dear.usual_seconds = 100e-6, dear.saves = 45e-6, dear.error = 2e-2;
  dear.why = "bf16 alone breaks the limit", dear.ways = {{"bf16", 55e-6, 2e-2}};
  odd.node = "d", odd.seconds = odd.usual_seconds = 5e-6, odd.why = "its 3 terms are no pairs";
  precision.layers = {lowered, dear, odd}, precision.adopted = true;
  precision.plan.allowed = {"1%"}, precision.plan.calibration = precision.plan.held_out = 16;
  precision.plan.error = 6.6e-3, precision.plan.share = 0.66;
  precision.plan.held_out_error = 8.1e-3, precision.plan.held_out_share = 0.81;
  precision.network_seconds = 160e-6, precision.usual_network_seconds = 199e-6;
  precision.recorded_at = "2026-11-21T10:05:30Z";
  return precision;
}

}  // namespace

ReportData made_up() {
  ReportData data;
  data.model = "model.onnx", data.target = "cpu -mcpu=znver5 -threads=2", data.machine = "Anvil 9000";
  data.records = "model.jsonl", data.whet = "whet 0.1.0", data.written_at = "2026-11-21T10:06:00Z";
  data.notes = {"model.jsonl: the last line was cut short and is left out."};
  data.tasks = {task(0, kConv, 2, 200, 100, 9),
                task(1, {"maxpool 1x28x28x64 k2 s2 p0", {OperatorKind::pool_or_reduction, "maxpool", "28x28x64", "k2"}},
                     1, 21, 20, 4),
                task(2, kDense, 1, 5, 5, 0)};
  data.tasks[2].flops = 4e6;
  data.tasks[0].trials[4].seconds = INFINITY;
  data.tasks[0].trials[4].code = OutcomeCode::crash;
  data.tasks[1].note = "rests: no more gain expected";
  data.network = {430e-6, 231e-6, 225e-6, false};
  data.rates = {.gflops = 250, .l1_gbs = 900, .l2_gbs = 400, .l3_gbs = 120, .memory_gbs = 20};
  data.profile = {{{"c1", kConv.name, kConv.label, 101e-6, 100e-6, true},
                   {"p", kPool.name, kPool.label, 25e-6, 20e-6, true},
                   {"d", kDense.name, kDense.label, 6e-6, 0, false}},
                  140e-6,
                  {"core 0", "core 1"},
                  {{0, 0, 0, 101e-6},
                   {1, 0, 102e-6, 125e-6},
                   {2, 0, 128e-6, 134e-6},
                   {0, 1, 1e-6, 95e-6},
                   {1, 1, 103e-6, 111e-6},
                   {1, 1, 115e-6, 127e-6}},
                  {102e-6, 128e-6, 134e-6}};
  data.layouts = layouts();
  data.precision = precision();
  data.failures = {{OutcomeCode::crash, "killed by signal 11 at 0x10", 1}};
  data.devices = {
      {.name = "anvil",
       .candidates = 13,
       .failed = 1,
       .governor = "performance",
       .ghz_low = 3.1,
       .ghz_high = 4.2,
       .celsius_high = 71,
       .throttled = 2},
      {.name = "hammer", .candidates = 9, .jobs = 3, .losses = 1, .busy_seconds = 4, .factor = 1.12, .drained = true}};
  data.paces = {{0, 1}, {5, 1.2}, {11, 0.9}};
  data.phases = {{"propose", 1}, {"measure", 6}, {"check", 0}, {"learn", 3}};
  data.trials = 15, data.other_trials = 2, data.build_seconds = 4, data.run_seconds = 2, data.tuned_for_seconds = 13;
  data.commands = {"whet tune model.onnx -o model.jsonl"};
  return data;
}

ReportData large(int tasks, int trials) {
  ReportData data = made_up();
  data.tasks.clear();
  Rng rng(7);
  for (int t = 0; t < tasks; ++t) {
    data.tasks.push_back(
        task(t, {"conv2d+bias+add+relu 1x56x56x64 k3 s1 p1", kConv.label}, 1 + t % 3, 300, 100 + t, trials));
    data.tasks.back().schedule = std::string(4000, 'x');
    for (ReportTrial& trial : data.tasks.back().trials) trial.seconds *= 1 + rng.uniform();
  }
  return data;
}

}  // namespace whet::testing_report
