#include "cli/add_options.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "import/zoo/zoo.h"

namespace whet {
namespace {

std::string usual_fleet_folder() {
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config && *config)
    return std::string(config) + "/whet/fleet";
  const char* home = std::getenv("HOME");
  return std::string(home ? home : "") + "/.config/whet/fleet";
}

}  // namespace

void tell_user(const std::string& note) { fmt::print(stderr, "{}\n", note); }

void add_options(Arguments& arguments, ModelOptions& options, bool compiled) {
  arguments.require(
      "MODEL", options.model,
      compiled ? "A model file, zoo:NAME, or a model.so that `whet compile` wrote" : "A model file, or zoo:NAME");
  arguments.offers("MODEL", built_in_networks());
  arguments.reads(options.model);
  add_shapes(arguments, options);
}

std::vector<std::string> built_in_networks() {
  std::vector<std::string> networks;
  for (const std::string& name : zoo_names()) networks.push_back("zoo:" + name);
  return networks;
}

void add_shapes(Arguments& arguments, ModelOptions& options) {
  const auto group = arguments.group("The model");
  arguments.add("--shape", options.shapes, "Bind the dimensions of an input, like data=1x3x224x224; may be repeated");
  arguments.add("--until", options.until, "End the model at this value instead of its outputs; may be repeated");
  arguments.add("--define", options.define,
                "What an operator computes, like com.acme.Gelu3=gelu3.dag (docs/operators/own.md); may be repeated");
  arguments.add("--entry", options.entry, "Which of several functions or programs of the file");
  arguments.flag("--native-types", options.native_types,
                 "Keep tensors of bfloat16 and int16 in these types, inputs and outputs too (default: as f32 and i32)");
  arguments.add("--seed", options.seed, "Seed of random inputs, of the search, and of the weights of zoo: models");
  add_zoo(arguments, options);
  arguments.reads(options.inputs);
  arguments.reads(options.define);
}

void add_sizes(Arguments& arguments, ModelOptions& options) {
  const auto group = arguments.group("The model");
  arguments.add("--sizes", options.sizes,
                "Range or values of an open dimension, like n=1..512, x.2=64..960:32 or x.0={1,2,4}; may be repeated");
}

void add_tuning_sizes(Arguments& arguments, TuningSizeOptions& options) {
  const auto group = arguments.group("The model");
  arguments.add("--tuning-sizes", options.listed,
                "Sizes at which kernels of ranges are tuned, or weighed, like 16,64,256 or 1x16,8x128 of two sizes "
                "(default: up to four for each range)");
  arguments.add("--lengths", options.lengths,
                "The sizes of your requests, a line each, with their count or without: what is tuned, and how much it "
                "counts, follows them (docs/formats/lengths.md)");
  arguments.reads(options.lengths);
}

void add_hot_sizes(Arguments& arguments, TuningSizeOptions& options) {
  const auto group = arguments.group("The model");
  arguments.choice(
      "--hot-sizes", options.hot, {"on", "off"},
      "Kernels of their own for sizes of ranges that have a tenth of the requests' time and are 3% faster so");
}

const std::vector<std::string>& shape_options() {
  static const std::vector<std::string> names = {"--shape", "--until", "--define", "--entry", "--native-types",
                                                 "--seed",  "--batch", "--image",  "--layout"};
  return names;
}

void add_zoo(Arguments& arguments, ModelOptions& options) {
  const auto group = arguments.group(kZooGroup);
  arguments.add("--batch", options.batch, 1, 65536, "Inputs in a batch (default: 1)", 0);
  arguments.add("--image", options.image, 1, 65536, "Height and width of the input [pixels] (default: 224)", 0);
  arguments.choice("--layout", options.layout, {"nchw", "nhwc"},
                   "Order of the input's dimensions: nchw (default), nhwc");
}

void add_inputs(Arguments& arguments, ModelOptions& options) {
  const auto group = arguments.group("The model");
  arguments.add("--input", options.inputs,
                "x.npy, name=x.npy, in.npz or x.pb; may be repeated, in the order of the inputs");
  arguments.choice("--fill", options.fill, {"random", "ones", "zeros"}, "Contents of the inputs that no file gives");
}

void add_options(Arguments& arguments, TargetOptions& options, std::string* thread_counts) {
  if (const char* text = std::getenv("WHET_NUM_THREADS")) options.environment_threads = text;
  const auto group = arguments.group("Where it runs");
  arguments.add(
      "--target", options.target,
      "Target of the generated code, like \"cpu -mcpu=znver5 -threads=4 -cores=big\" (default: this machine)");
  if (thread_counts)
    arguments.add(
        "--threads", *thread_counts,
        "Threads that run a kernel (default: WHET_NUM_THREADS, or else the usable cores); several numbers, as in "
        "1,2,4: tunes for each, and times the best for each on all");
  else
    arguments.add("--threads", options.threads, 1, kMaxThreads,
                  "Threads that run a kernel (default: WHET_NUM_THREADS, or else the usable cores)", options.threads);
  arguments.add("--cores", options.cores,
                "Cores that run it: big, little, prime, or processors like 0-3 (default: big)");
}

void add_options(Arguments& arguments, FleetOptions& options) {
  options.usual_folder = usual_fleet_folder();
  const auto group = arguments.group("Where it runs");
  arguments.add("--fleet", options.folder,
                "Folder that lets you into a fleet, as whet-agent --setup wrote it for you (default: whet/fleet in "
                "$XDG_CONFIG_HOME or ~/.config)");
}

void add_options(Arguments& arguments, MeasuringOptions& options, std::string* thread_counts) {
  options.tell = tell_user;
  add_options(arguments, options.place, thread_counts);
  const auto group = arguments.group("Where it runs");
  arguments.add(
      "--device", options.devices,
      "Device to measure on (may be repeated): ssh://user@host:port or exec:COMMAND for another machine, "
      "fleet:KEY for the units of a fleet, cuda:0, "
      "cuda:1, ... for a GPU here, or emulated: this machine in place of a GPU, with estimated times (default: this "
      "machine, cuda:0 for a GPU target)");
  arguments.add(
      "--finals", options.deciding,
      "Of several devices, the one that compares the fastest candidates, by its name in the report (default: the "
      "one of middling speed)");
  add_options(arguments, options.fleet);
  arguments.choice("--priority", options.priority, {"high", "low"},
                   "Of the jobs in a fleet, high or low: low ones wait while there are high ones");
  arguments.flag("--allow-emulated", options.allow_emulated,
                 "Take a device elsewhere that an emulator runs; its times mean nothing, and its records are marked");
}

void add_options(Arguments& arguments, RoundingOptions& options, const std::string& what) {
  const auto group = arguments.group("Precision");
  arguments.flag("--exact", options.exact, "Leave out " + what + " that round differently (Winograd, --precision)");
  arguments.choice(
      "--precision", options.precision, {"f32", "tf32", "f16", "bf16", "int8", "auto"},
      "Also allow " + what +
          " whose products round their operands so, on GPUs with tensor cores, bf16 also on CPUs with avx512_bf16; "
          "sums stay f32. With f16, on CPUs with bf16, what products read is stored so; on CPUs f16 stores weights of "
          "products of few rows. int8: every layer that can multiplies bytes, with the ranges that `whet tune` took "
          "from your data. auto: for each layer f32, bf16, i16 or bytes, as `whet tune` chose under a limit on "
          "errors");
}

void add_precision(Arguments& arguments, RoundingOptions& options, const std::string& meaning) {
  arguments.choice("--precision", options.precision, {"f32", "tf32", "f16", "bf16"}, meaning);
}

void add_options(Arguments& arguments, BaseOptions& options) {
  arguments.add(
      "--base", options.files,
      "What was best in other networks, for tasks without records: a record base; may be repeated (default: the one "
      "that whet carries, which is \"shipped\" beside others)");
  arguments.reads(options.files);
  arguments.flag("--no-base", options.none, "Know nothing of other networks");
}

void add_options(Arguments& arguments, RecordOptions& options) {
  options.tell = tell_user;
  arguments.add("--records", options.file, "Compile with the best records of this file of `whet tune`");
  arguments.reads(options.file);
  arguments.flag("--any-inputs", options.any_inputs,
                 "Take records, too, that were measured with other tensors of --input than those of now");
  add_options(arguments, options.base);
  add_options(arguments, options.rounding, "schedules");
}

void add_options(Arguments& arguments, RunnableOptions& options) {
  options.tell = tell_user;
  add_options(arguments, options.model, true);
  add_inputs(arguments, options.model);
  add_options(arguments, options.place);
  add_options(arguments, options.records);
  const auto group = arguments.group("Where it runs");
  arguments.add(
      "--device", options.device,
      "Device that runs the model: ssh://user@host:port or exec:COMMAND for another machine, fleet:KEY for one of a "
      "fleet's units, cuda:0, cuda:1, ... for a GPU here, or emulated: this machine in place of a GPU (default: this "
      "machine, cuda:0 for a GPU's code)");
  add_options(arguments, options.fleet);
  arguments.flag(
      "--allow-emulated", options.allow_emulated,
      "Take a device elsewhere that an emulator runs, whose times mean nothing, and records of emulated devices");
  arguments.add(
      "--launches", options.launches,
      "How a GPU's kernels are started: graph (default); no-early: on sm_90 too, none before those in front have "
      "ended; chain: one after another; single: without a graph");
  arguments.flag("--no-pin", options.no_pin, "Do not pin threads to cores");
  arguments.add("--weights-file", options.weights_file,
                "The weights of a library that whet compile --weights-file made");
  arguments.reads(options.weights_file);
  arguments.flag("--map-weights", options.map_weights, "Use the weights in the mapped file, which processes share");
}

void add_measuring(Arguments& arguments, TuneSettings& settings) {
  const auto group = arguments.group("How candidates are measured");
  arguments.choice(
      "--cache", settings.cache, {"network", "warm", "cold"},
      "Place of the weights before a timed run: where the network leaves them, in the cache, or in memory");
  arguments.add(
      "--repeat", settings.repeat, 1, 1000,
      "Measure the classic way: this number of means over --number runs each (default: the minimum of at least 3 runs "
      "and 5 ms)",
      0);
  arguments.add("--number", settings.number, 1, 1000000, "With --repeat: runs in a mean");
  arguments.add("--min-repeat-ms", settings.min_repeat_ms, 0, 1e6, "With --repeat: least time that a mean covers [ms]");
  arguments.add(
      "--builders", settings.builders, 1, 1024,
      "Processes of this machine that lower and compile candidates (default: one a core that this process may use)", 0);
  arguments.add("--build-timeout", settings.build_timeout, 0.01, 86400,
                "Limit of lowering and compiling a candidate [s]");
  arguments.add("--run-timeout", settings.where.run_timeout, 0.01, 86400, "Limit of running a candidate [s]");
  arguments.flag("--no-pin", settings.no_pin, "Do not pin threads to cores");
}

}  // namespace whet
