#include "workflow/compiling.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/counted.h"
#include "machine/detect.h"
#include "tensor_files/file.h"
#include "workflow/sample_answers.h"
#include "workflow/sizes.h"
#include "workflow/tune_json.h"

namespace whet {
namespace {

/// What similar tasks said of a task.
Json to_json(const TransferredSchedule& transfer) {
  if (transfer.from.empty()) return Json::object().set("why_not", transfer.why_not);
  return Json::object()
      .set("from", transfer.from)
      .set("distance", transfer.distance)
      .set("gain", transfer.gain)
      .set("why_not", transfer.why_not);
}

Json sizes_json(const CompileReport& report) {
  Json sizes = Json::array();
  for (const ModelSize& size : report.sizes) {
    Json row = Json::object();
    row.set("name", size.name).set("input", static_cast<std::int64_t>(size.input));
    row.set("dimension", static_cast<std::int64_t>(size.dimension)).set("values", Json::array_of(size.values));
    if (size.is_range()) row.set("min", size.min).set("max", size.max).set("step", size.step);
    sizes.add(std::move(row));
  }
  return sizes;
}

Json variants_json(const CompileReport& report) {
  Json variants = Json::array();
  for (const VariantReport& variant : report.variants) {
    Json row = Json::object();
    row.set("at", Json::array_of(variant.at)).set("kernels", variant.kernels);
    row.set("arena_bytes", variant.arena_bytes).set("predicted_ms", variant.predicted_seconds * 1e3);
    Json boxes = Json::array();
    for (const SizeBox& box : variant.boxes)
      boxes.add(Json::object().set("low", Json::array_of(box.low)).set("high", Json::array_of(box.high)));
    if (!variant.boxes.empty()) row.set("boxes", boxes);
    variants.add(std::move(row));
  }
  return variants;
}

Error wrong_option(Error error) {
  error.kind = ErrorKind::wrong_use;
  return error;
}

/// A name of C; of "a/libresnet.a", "resnet".
std::string name_of_archive(const std::string& output) {
  std::string name = output.substr(output.rfind('/') + 1);
  name.resize(name.size() - 2);
  return name.starts_with("lib") ? name.substr(3) : name;
}

bool is_name_of_c(const std::string& name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && is_letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || is_digit(c); });
}

bool makes_archive(const CompileSettings& settings) { return settings.output.ends_with(".a"); }

/// Names the archive where that is left open.
Status choose_name(CompileSettings& settings) {
  if (settings.weights_only) return ok_status();  // what is given beside it is refused later
  if (!makes_archive(settings)) {
    if (settings.name.empty() && settings.header.empty()) return ok_status();
    return wrong_option(
        {fmt::format("--name and --header are of static archives, libNAME.a; the output is \"{}\"", settings.output)});
  }
  if (settings.name.empty()) settings.name = name_of_archive(settings.output);
  if (is_name_of_c(settings.name)) return ok_status();
  return wrong_option({fmt::format(
      "--name is \"{}\"; expected a name of C, of letters, digits and _, which calls it whet_NAME_v1", settings.name)});
}

/// The data that new weights are judged on.
Status check_samples_options(const CompileSettings& settings) {
  const bool has_samples = !settings.samples.empty(), has_limit = !settings.max_error.empty();
  if (!settings.weights_only && (has_samples || has_limit))
    return wrong_option({"--samples and --max-error judge the weights of --weights-only; whet check judges a library"});
  if (has_samples != has_limit)
    return wrong_option({fmt::format("--{} counts only with --{}", has_samples ? "samples" : "max-error",
                                     has_samples ? "max-error" : "samples")});
  if (const Result<Accuracy> accuracy = parse_accuracy(settings.max_error); !accuracy.ok())
    return wrong_option(accuracy.error().at("--max-error"));
  // Which kernels round was decided by the errors that the weights of then gave.
  if (!settings.weights_only || has_samples || settings.records.rounding.precision == RoundingOptions().precision)
    return ok_status();
  return wrong_option({fmt::format(
      "--weights-only keeps the kernels, and those of --precision {} were chosen with the weights of then: "
      "give --samples and --max-error, by which the answers are judged, or compile the model anew",
      settings.records.rounding.precision)});
}

/// Weights apart from the library.
Status check_weights_options(CompileSettings& settings) {
  WHET_RETURN_IF_ERROR(check_samples_options(settings));
  if (!settings.weights_only)
    return settings.like.empty()
               ? ok_status()
               : wrong_option({"--like is for --weights-only, which writes weights for that library"});
  if (settings.like.empty()) return wrong_option({"--weights-only needs --like LIBRARY, whose weights they are to be"});
  if (!settings.weights_file.empty())
    return wrong_option(
        {"--weights-only writes the weights to --output; --weights-file is for a library and its weights"});
  for (const auto& [option, given] :
       {std::pair("--name", !settings.name.empty()), std::pair("--header", !settings.header.empty()),
        std::pair("--quick", settings.quick > 0)})
    if (given)
      return wrong_option({fmt::format("{} and --weights-only exclude each other: no library is written", option)});
  settings.weights_file = settings.output;
  return ok_status();
}

Status check_gpu_options(const CompileSettings& settings, const Target& target) {
  for (const auto& [option, asked] : {std::pair("--ptx", !settings.ptx.empty()), std::pair("--cubin", settings.cubin)})
    if (asked && !target.is_gpu())
      return Error{fmt::format("{} is for GPU targets; the target is \"{}\"", option, to_string(target)),
                   ErrorKind::wrong_use};
  if (!settings.listing.empty() && !target.is_cpu())
    return wrong_option({fmt::format("--dump-code is for processors, and the code for \"{}\" is PTX: give --ptx FILE",
                                     to_string(target))});
  if (!settings.weights_file.empty() && !target.is_cpu())
    return wrong_option({fmt::format("{} is for processors; the target is \"{}\"",
                                     settings.weights_only ? "--weights-only" : "--weights-file", to_string(target))});
  if (makes_archive(settings) && !target.is_cpu())
    return wrong_option({fmt::format("static archives are for processors; the target is \"{}\": give an output .so",
                                     to_string(target))});
  return ok_status();
}

/// A library is for all sizes that the file bounds, where its target has kernels for them and the user says nothing.
void take_bounds(CompileSettings& settings, const Target& target, const InputFiles& files) {
  const Result<std::vector<OpenSize>> bounded = bounded_sizes(settings.model, files);
  if (!bounded.ok() || bounded->empty()) return;  // what cannot be read has its sentence later
  std::string ranges, one;
  for (const OpenSize& size : *bounded) {
    ranges += (ranges.empty() ? "" : ", ") + example_of(size);
    one += fmt::format(" --sizes {}={}", size.name(), size.usual.value_or(*size.most));
    if (target.is_cpu()) settings.model.sizes.push_back(example_of(size));
  }
  tell(settings.records.tell,
       target.is_cpu() ? fmt::format("The library is for all sizes that the file allows, {}; for one:{}", ranges, one)
                       : fmt::format("The file allows {}; {} has no sized kernels, and the library is for one size",
                                     ranges, target.kind()));
}

/// Sizes that count for nothing here, or are none of the range.
Status check_tuning_sizes(const CompileSettings& settings) {
  const TuningSizeOptions& asked = settings.records.tuning_sizes;
  const Result<std::vector<WantedSize>> sizes = parse_sizes(settings.model.sizes);
  if (!sizes.ok()) return ok_status();  // has its sentence later
  const bool given = !asked.listed.empty() || !asked.lengths.empty();
  if (given && has_ranges(*sizes)) {
    const Result<std::vector<TuningSize>> tuned = tuning_sizes(*sizes, asked);
    return tuned.ok() ? ok_status() : Status(tuned.error());
  }
  for (const auto& [option, given] :
       {std::pair("--tuning-sizes", !asked.listed.empty()), std::pair("--lengths", !asked.lengths.empty())})
    if (given) return wrong_option({fmt::format("compile: {} counts only for --sizes of a range", option)});
  return ok_status();
}

/// What the compiler is told of them.
CompileOptions options_of(CompileSettings& settings, const TargetOnCores& place, const CompileWatch& watch) {
  settings.records.emulated = settings.where.allow_emulated;
  settings.records.gpu = place.gpu;
  CompileOptions options;
  options.name = settings.model.name();
  options.cubin = settings.cubin;
  options.made_weights = settings.weights == "seed";
  options.emulated = settings.where.allow_emulated && place.target.is_gpu();
  options.archive = settings.name;
  options.header = settings.header;
  options.weights_file = settings.weights_file;
  options.like = settings.like;
  if (!settings.listing.empty())
    options.listing = settings.listing.ends_with(".ll") ? CompileOptions::Listing::intermediate
                                                        : CompileOptions::Listing::instructions;
  options.on_kernel = watch.kernel;
  return options;
}

Result<CompiledModel> finished(const CompileSettings& settings, const Target& target, Result<CompileReport> report) {
  if (!report.ok()) return report.error();
  if (!settings.ptx.empty()) WHET_RETURN_IF_ERROR(write_file(settings.ptx, report->ptx));
  if (!settings.listing.empty()) WHET_RETURN_IF_ERROR(write_file(settings.listing, report->listing));
  return CompiledModel{std::move(*report), target, {}, settings.name.empty() ? "" : "whet_" + settings.name + "_v1"};
}

/// The same behind a round of measurements.
Result<CompiledModel> compile_quickly(CompileSettings& settings, Zygote& zygote, const CompileWatch& watch) {
  const Result<std::vector<WantedSize>> sizes = parse_sizes(settings.model.sizes);
  if (settings.records.base.none && !(sizes.ok() && has_ranges(*sizes)))  // kernels for ranges are timed in any case
    return wrong_option({"compile: --quick times what the record base knows, which --no-base leaves out"});
  QuickWatch timed = watch.timed;
  timed.reading = watch.reading;
  WHET_TRY(QuickCompile quick,
           time_for_compile(settings.model, settings.where, settings.records, settings.quick, zygote, timed));
  const Target& target = quick.place.target;
  WHET_RETURN_IF_ERROR(check_gpu_options(settings, target));
  const CompileOptions options = options_of(settings, quick.place, watch);
  const auto compile = [&]() -> Result<CompileReport> {
    if (settings.model.sizes.empty())
      return compile_with_records(quick.fused, settings.records, target, settings.output, options);
    WHET_TRY(const InputFiles files, read_named_inputs(settings.model));
    return compile_sizes_with_records(settings.model, files, settings.records, target, settings.output, options,
                                      {quick.timed.family ? &*quick.timed.family : nullptr, watch.reading});
  };
  WHET_TRY(CompiledModel compiled, finished(settings, target, compile()));
  compiled.timed = std::move(quick.timed.progress);
  compiled.ladder = std::move(quick.timed.ladder);
  return compiled;
}

Result<CompiledModel> compile_unjudged(CompileSettings settings, Zygote* zygote, const CompileWatch& watch) {
  const Result<TargetOnCores> place = choose_target(settings.where.place);
  if (settings.quick > 0) {
    // A device that no target is named for may be another processor than this one, or none that has sized kernels.
    const bool is_known = settings.where.devices.empty() || !settings.where.place.target.empty();
    if (settings.model.sizes.empty() && is_known && place.ok() && place->target.is_cpu()) {
      WHET_TRY(const InputFiles files, read_named_inputs(settings.model));
      take_bounds(settings, place->target, files);
    }
    WHET_RETURN_IF_ERROR(check_tuning_sizes(settings));
    return compile_quickly(settings, *zygote, watch);
  }
  if (!place.ok()) return wrong_option(place.error());
  if (!place->note.empty()) tell(settings.records.tell, place->note);
  const Target& target = place->target;
  WHET_RETURN_IF_ERROR(check_gpu_options(settings, target));
  WHET_TRY(const InputFiles files, read_named_inputs(settings.model));
  if (settings.model.sizes.empty()) take_bounds(settings, target, files);
  WHET_RETURN_IF_ERROR(check_tuning_sizes(settings));
  const CompileOptions options = options_of(settings, *place, watch);
  if (!settings.model.sizes.empty())
    return finished(settings, target,
                    compile_sizes_with_records(settings.model, files, settings.records, target, settings.output,
                                               options, {nullptr, watch.reading}));
  WHET_TRY(const FusedGraph fused, load_fused(settings.model, files, settings.records.rounding.passes(target)));
  return finished(settings, target, compile_with_records(fused, settings.records, target, settings.output, options));
}

/// The answers of the library with weights that were written, against those of the network in f32.
Status judge_weights(const CompileSettings& settings, const std::string& weights) {
  RunnableOptions library;
  library.model = settings.model;
  library.model.model = settings.like;
  library.place = settings.where.place;
  library.place.target.clear();  // the library has its own, and the network in f32 is this machine's
  library.weights_file = weights;
  library.tell = library.records.tell = settings.records.tell;
  WHET_TRY(const Accuracy accuracy, parse_accuracy(settings.max_error));
  WHET_TRY(const SampleJudgement found, judge_on_samples(library, settings.model.model, settings.samples, accuracy));
  if (found.judged.kept()) return ok_status();
  return Error{fmt::format("{} with the weights of {}: {}, by {}; they are not written", settings.like,
                           settings.model.model, to_text(found.judged.worst()),
                           counted(std::ssize(found.samples.all), "sample"))};
}

/// A file beside another one, which it becomes; else it goes with this object.
class FileBeside {
 public:
  explicit FileBeside(const std::string& output) : output_(output) {}
  ~FileBeside() { std::remove(path_.c_str()); }
  FileBeside(const FileBeside&) = delete;

  const std::string& path() const { return path_; }
  Status keep() const {
    if (std::rename(path_.c_str(), output_.c_str()) == 0) return ok_status();
    return Error{output_ + ": " + std::strerror(errno), ErrorKind::io};
  }

 private:
  const std::string output_, path_ = output_ + ".unjudged-" + std::to_string(getpid());
};

/// The weights come to their place once the answers are judged.
Result<CompiledModel> compile_judged(CompileSettings settings, Zygote* zygote, const CompileWatch& watch) {
  const FileBeside unjudged(settings.output);
  settings.output = settings.weights_file = unjudged.path();
  WHET_TRY(CompiledModel compiled, compile_unjudged(settings, zygote, watch));
  WHET_RETURN_IF_ERROR(judge_weights(settings, unjudged.path()));
  WHET_RETURN_IF_ERROR(unjudged.keep());
  return compiled;
}

}  // namespace

Result<CompiledModel> compile_as_asked(CompileSettings settings, Zygote* zygote, const CompileWatch& watch) {
  WHET_RETURN_IF_ERROR(choose_name(settings));
  WHET_RETURN_IF_ERROR(check_weights_options(settings));
  return settings.samples.empty() ? compile_unjudged(std::move(settings), zygote, watch)
                                  : compile_judged(std::move(settings), zygote, watch);
}

std::string name_of(TaskReport::Source source) {
  switch (source) {
    case TaskReport::Source::record:
      return "record";
    case TaskReport::Source::near_record:
      return "near record";
    case TaskReport::Source::transferred:
      return "transferred";
    case TaskReport::Source::default_schedule:
      return "default schedule";
  }
  return "";
}

Json compile_json(const std::string& output, const CompiledModel& compiled) {
  const CompileReport& report = compiled.report;
  Json tasks = Json::array();
  for (const TaskReport& task : report.tasks) {
    Json row = Json::object();
    row.set("name", task.name).set("weight", task.weight).set("source", name_of(task.source)).set("note", task.note);
    if (!task.at.empty()) row.set("at", Json::array_of(task.at));
    if (task.transfer) row.set("transfer", to_json(*task.transfer));
    row.set("precision", std::string(name_of(task.precision)));
    row.set("predicted_ms", task.predicted_seconds * 1e3).set("object_bytes", task.object_bytes);
    tasks.add(std::move(row));
  }
  Json out = Json::object();
  out.set("output", output).set("target", to_string(compiled.target)).set("summary", summary(report));
  out.set("file_bytes", report.file_bytes).set("weights_bytes", report.weights_bytes);
  out.set("arena_bytes", report.arena_bytes).set("seconds", report.total_seconds);
  if (!report.base.empty()) out.set("base", report.base);
  out.set("choosing_seconds", report.schedule_seconds)
      .set("kernel_seconds", report.kernel_seconds)
      .set("prologue_seconds", report.packing_seconds);
  if (!report.plan.empty()) out.set("plan", report.plan).set("plan_source", report.plan_source);
  if (!report.sizes.empty()) out.set("sizes", sizes_json(report)).set("variants", variants_json(report));
  out.set("link_seconds", report.link_seconds).set("predicted_ms", report.predicted_seconds * 1e3).set("tasks", tasks);
  if (!compiled.symbol.empty()) out.set("symbol", compiled.symbol);
  if (compiled.timed) out.set("first_round", first_round_json(*compiled.timed));
  if (compiled.ladder) out.set("ladder", to_json(*compiled.ladder));
  return out;
}

}  // namespace whet
