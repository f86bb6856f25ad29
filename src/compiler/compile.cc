#include "compiler/compile.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/counted.h"
#include "base/parallel.h"
#include "codegen/compile.h"
#include "compiler/assemble.h"
#include "compiler/kernels.h"
#include "compiler/library.h"
#include "compiler/packing.h"
#include "compiler/scratch.h"
#include "compiler/stored_constants.h"
#include "compiler/summary.h"
#include "tensor_files/file.h"

namespace whet {
namespace {

/// The constants of a group, in the order of its DAG's constant placeholders.
std::vector<Tensor> constants_of(const FusedGraph& fused, const Group& group) {
  std::vector<Tensor> constants;
  for (ValueId input : group.inputs) {
    const Value& value = fused.graph.value(input);
    if (value.constant) constants.push_back(*value.constant);
  }
  return constants;
}

/// Packs every group's weights.
Result<std::vector<std::vector<Tensor>>> run_packings(const FusedGraph& fused, const std::vector<int>& task_of,
                                                      const std::vector<CompiledTask>& tasks,
                                                      const CompileOptions& options) {
  std::vector<std::vector<Tensor>> packed(fused.groups.size());
  std::vector<std::string> errors(fused.groups.size());
  parallel_for(static_cast<int>(fused.groups.size()), options.jobs, [&](int i) {
    const std::size_t g = static_cast<std::size_t>(i);
    if (task_of[g] < 0) return;
    const ComputeDag& packing = tasks[static_cast<std::size_t>(task_of[g])].lowered.packing;
    if (packing.outputs.empty()) return;
    if (options.packed != nullptr) {
      if (auto known = options.packed->find(g, packing)) {
        packed[g] = std::move(*known);
        return;
      }
    }
    Result<std::vector<Tensor>> tensors = run_packing(packing, constants_of(fused, fused.groups[g]));
    if (tensors.ok()) {
      packed[g] = std::move(tensors).value();
      if (options.packed != nullptr) options.packed->keep(g, packing, packed[g]);
    } else {
      errors[g] = tensors.error().message;
    }
  });
  for (const std::string& error : errors) {
    if (!error.empty()) return Error{"packing weights: " + error};
  }
  return packed;
}

/// Fails before minutes of work where the result could not be written.
Status check_output(const std::string& output) {
  const std::filesystem::path directory = std::filesystem::path(output).parent_path();
  std::error_code failed;
  if (!directory.empty() && !std::filesystem::is_directory(directory, failed)) {
    return Error{output + ": there is no directory " + directory.string()};
  }
  if (std::filesystem::is_directory(output, failed))
    return Error{output + ": is a directory; expected the path of a file"};
  if (std::filesystem::exists(output, failed) && !std::filesystem::is_regular_file(output, failed))
    return Error{output + ": is a device or a pipe; expected the path of a file"};
  return can_write_file(output);
}

/// "x.0 = 2, n = 16"
std::string sizes_text(const std::vector<ModelSize>& sizes, const std::vector<std::int64_t>& at) {
  std::string text;
  for (std::size_t k = 0; k < sizes.size(); ++k)
    text += (k ? ", " : "") + sizes[k].name + " = " + std::to_string(at[k]);
  return text;
}

/// "x.0 = 2, n = 2..512; x.0 = 3, n = 2..100"
std::string sizes_text(const std::vector<ModelSize>& sizes, const std::vector<SizeBox>& boxes) {
  std::string text;
  for (const SizeBox& box : boxes)
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      text += (k ? ", " : text.empty() ? "" : "; ") + sizes[k].name + " = " + std::to_string(box.low[k]);
      if (box.high[k] != box.low[k]) text += ".." + std::to_string(box.high[k]);
    }
  return text;
}

/// Whether tensors differ in their extents alone.
bool are_alike(const std::vector<ModelPlan::Tensor>& a, const std::vector<ModelPlan::Tensor>& b) {
  return std::ranges::equal(a, b, [](const ModelPlan::Tensor& x, const ModelPlan::Tensor& y) {
    return x.name == y.name && x.dtype == y.dtype && x.shape.size() == y.shape.size();
  });
}

/// The values of the sizes at which the plan of each variant is.
using VariantSizes = std::vector<std::vector<std::int64_t>>;

Status check_alike(const std::vector<ModelSize>& sizes, const VariantSizes& at,
                   const std::vector<AssembledModel>& variants) {
  for (std::size_t v = 1; v < variants.size(); ++v)
    if (!are_alike(variants[v].plan.inputs, variants[0].plan.inputs) ||
        !are_alike(variants[v].plan.outputs, variants[0].plan.outputs))
      return Error{"at " + sizes_text(sizes, at[v]) + " the model has other inputs or outputs than at " +
                   sizes_text(sizes, at[0]) + "; expected other extents alone"};
  return ok_status();
}

/// Whether dimension `d` of input `i` is size `k` at all sizes of the variant.
bool is_size(const AssembledModel& variant, std::size_t i, std::size_t d, std::size_t k) {
  std::size_t dim = d;
  for (std::size_t before = 0; before < i; ++before) dim += variant.plan.inputs[before].shape.size();
  for (const PlanField& field : variant.functions.fields) {
    if (field.kind != PlanFieldKind::extent || field.index != dim) continue;
    const PlanNumber& number = variant.functions.numbers[field.number];
    return number.op == PlanNumberOp::size && number.a == static_cast<std::int64_t>(k);
  }
  return false;
}

/// The dimension that is called so: "x.0" of input "x". None: it is no name of a dimension.
InputDimensions dimension_named(const std::string& name, const std::vector<ModelPlan::Tensor>& inputs) {
  for (const ModelPlan::Tensor& input : inputs)
    for (std::size_t d = 0; d < input.shape.size(); ++d)
      if (name == input.name + "." + std::to_string(d)) return {{input.name, d}};
  return {};
}

/// The input and dimension of a size: the first of `dimensions` that the model has.
Status place_size(ModelSize& size, std::size_t k, const VariantSizes& at, const std::vector<AssembledModel>& variants,
                  const InputDimensions& dimensions) {
  const std::vector<ModelPlan::Tensor>& inputs = variants.front().plan.inputs;
  const bool changes = std::ranges::any_of(variants, [&](const AssembledModel& variant) {
    return std::ranges::any_of(variant.functions.numbers, [&](const PlanNumber& number) {
      return number.op == PlanNumberOp::size && number.a == static_cast<std::int64_t>(k);
    });
  });
  const auto has_its_value = [&](std::size_t i, std::size_t d) {
    bool found = !changes;
    for (std::size_t v = 0; v < variants.size(); ++v) {
      if (variants[v].plan.inputs.at(i).shape.at(d) != at[v][k]) return false;
      found = found || is_size(variants[v], i, d, k);
    }
    return found;
  };
  for (const auto& [name, d] : dimensions) {
    const auto input = std::ranges::find(inputs, name, &ModelPlan::Tensor::name);
    if (input == inputs.end()) continue;
    const auto i = static_cast<std::size_t>(input - inputs.begin());
    if (!has_its_value(i, d))
      return Error{"size " + size.name + " is dimension " + std::to_string(d) + " of input \"" + name +
                   "\", whose extent is another one; expected the value of the size"};
    size.input = static_cast<std::uint32_t>(i), size.dimension = static_cast<std::uint32_t>(d);
    return ok_status();
  }
  if (dimensions.empty())
    return Error{"size " + size.name + " is no dimension of an input; expected a name like x.0, or whose size it is"};
  return Error{"size " + size.name + " is a dimension of input \"" + dimensions.front().first +
               "\", which the model does not have; expected one of an input that no given value replaces"};
}

/// Tells a group from those with other constants, by the largest; nothing where it has none.
std::optional<std::uint64_t> key_of_constants(const std::vector<Tensor>& constants) {
  const auto largest = std::ranges::max_element(constants, {}, &Tensor::bytes);
  return largest == constants.end() ? std::nullopt : std::optional(StoredConstants::fingerprint(*largest));
}

/// Whether the best of both is one schedule, or both are empty.
bool begin_alike(const MeasuredSchedules& a, const MeasuredSchedules& b) {
  if (a.empty() || b.empty()) return a.empty() && b.empty();
  return a.front().steps == b.front().steps && a.front().at == b.front().at;
}

/// The schedules of a library without records.
ScheduleSource without_records(ScheduleSource source) {
  source.recorded = {};
  source.close = {};
  return source;
}

/// A library in the making. Networks are added one after another: they share the kernels of equal tasks, and equal
/// weights. How weights are packed is up to the network that comes first.
class LibraryMaker {
 public:
  /// `variants`: how many networks there will be.
  LibraryMaker(const ScheduleSource& source, const Target& target, const CompileOptions& options, std::size_t variants)
      : source_(source), untuned_source_(without_records(source)), target_(target), options_(options) {
    library_.variants.resize(variants);
    report_.variants.resize(variants);
    at_.resize(variants);
    // Of several networks equal weights are different memory, and are stored once all the same.
    if (!options.weights_file.empty() && variants == 1) library_.weights.keep_equal_apart();
  }

  /// At these values of the sizes.
  Status add(const FusedGraph& fused, std::size_t number, std::vector<std::int64_t> at) {
    const double begin = seconds_now();
    WHET_TRY(const PlacedTasks placed, place_tasks(fused, target_));
    report_.schedule_seconds += seconds_now() - begin;
    at_[number] = std::move(at);
    return add_network(fused, {placed.tasks, placed.tasks}, number,
                       [&](const std::vector<int>& task_of, const auto& packed) {
                         return assemble(fused, placed.in_place, task_of, tasks_, compiled_, packed, library_.weights);
                       });
  }

  /// A piece of a variant of a family with these sizes. Its kernels are for all sizes of the variant, so that pieces share them.
  Status add(const Variant& variant, const VariantPiece& piece, std::size_t number,
             const std::vector<SizeRange>& sizes) {
    std::vector<Task> tasks, scheduled;
    for (std::size_t t = 0; t < variant.tasks.size(); ++t) {
      const bool is_measured = t < piece.schedules.size() && !piece.schedules[t].empty();
      tasks.push_back(variant.tasks[t].task);
      scheduled.push_back(task_at(variant.tasks[t], is_measured ? SizeValues() : piece.at));
    }
    for (const SizeBox& box : piece.boxes) library_.boxes.push_back({number, box.low, box.high});
    at_[number] = variant.at;
    return add_network(variant.fused, {tasks, scheduled, piece.schedules, piece.untuned}, number,
                       [&](const std::vector<int>& task_of, const auto& packed) {
                         return assemble(variant, sizes, task_of, tasks_, compiled_, packed, library_.weights);
                       });
  }

  Result<CompileReport> write(const std::vector<ModelSize>& sizes, std::size_t usual, const std::string& output,
                              const std::vector<InputDimensions>& dimensions = {}) {
    const double linking = seconds_now();
    library_.sizes = sizes;
    library_.usual = usual;
    std::ranges::sort(library_.boxes, {}, &ModelBox::low);
    if (library_.boxes.size() > kMaxBoxes || library_.variants.size() > kMaxVariants)
      return Error{"the sizes are of " + std::to_string(library_.boxes.size()) +
                       " ranges of other structures; a library has " + std::to_string(kMaxBoxes) + " at most",
                   ErrorKind::unsupported};
    WHET_RETURN_IF_ERROR(check_alike(sizes, at_, library_.variants));
    for (std::size_t k = 0; k < sizes.size(); ++k)
      WHET_RETURN_IF_ERROR(place_size(
          library_.sizes[k], k, at_, library_.variants,
          dimensions.empty() ? dimension_named(sizes[k].name, library_.variants.front().plan.inputs) : dimensions[k]));
    if (options_.made_weights) library_.weights.make_up();
    describe_tasks();
    for (AssembledModel& variant : library_.variants) describe(variant.plan);
    count_kernels();
    if (options_.listing != CompileOptions::Listing::none) WHET_RETURN_IF_ERROR(list_code());
    WHET_RETURN_IF_ERROR(write_library(library_, compiled_, target_, output, options_));
    report_.link_seconds += seconds_now() - linking;
    report_.ptx = std::move(library_.ptx);
    describe_usual(library_.variants[usual]);
    report_.sizes = library_.sizes;
    for (const ModelBox& box : library_.boxes) report_.variants[box.variant].boxes.push_back({box.low, box.high});
    if (sizes.empty()) report_.variants.clear();
    report_.weights_bytes = static_cast<std::int64_t>(library_.weights.bytes());
    std::error_code ignored;
    report_.file_bytes = static_cast<std::int64_t>(std::filesystem::file_size(output, ignored));
    report_.total_seconds = seconds_now() - begin_;
    return std::move(report_);
  }

 private:
  /// The tasks of a network that is added, and what their schedules are chosen by.
  struct NetworkTasks {
    const std::vector<Task>& tasks;
    const std::vector<Task>& scheduled;            ///< the same at the sizes for which schedules are chosen
    std::vector<MeasuredSchedules> measured = {};  ///< one list a task, or none
    bool untuned = false;                          ///< as VariantPiece has it
  };

  /// Compiles what is new of the tasks of variant `variant`; `assembled` makes its plan of each group's task and packed weights.
  template <typename Assembled>
  Status add_network(const FusedGraph& fused, const NetworkTasks& network, std::size_t variant,
                     const Assembled& assembled) {
    const std::vector<Task>& tasks = network.tasks;
    const double begin = seconds_now();
    const std::vector<int> numbers = number(network);
    report_.schedule_seconds += seconds_now() - begin;
    WHET_RETURN_IF_ERROR(compile_from(so_far(fused, compiled_.size()), network.untuned));

    std::vector<int> task_of = task_of_group(fused, tasks);
    for (int& task : task_of)
      if (task >= 0) task = numbers[static_cast<std::size_t>(task)];
    const double packing = seconds_now();
    WHET_TRY(const auto packed, run_packings(fused, task_of, compiled_, options_));
    report_.packing_seconds += seconds_now() - packing;

    const double assembling = seconds_now();
    WHET_TRY(AssembledModel model, assembled(task_of, packed));
    model.plan.name = options_.name.empty() ? fused.graph.name : options_.name;
    model.plan.predicted_seconds = predicted_seconds(tasks, numbers);
    report_.variants[variant].at = at_[variant];
    report_.variants[variant].predicted_seconds = model.plan.predicted_seconds;
    report_.variants[variant].arena_bytes = static_cast<std::int64_t>(model.plan.arena_bytes);
    library_.variants[variant] = std::move(model);
    report_.link_seconds += seconds_now() - assembling;
    if (library_.variants.size() > 1) keep_constants(fused, task_of, packed);
    return ok_status();
  }

  /// The number of each task among all, to which those are added that are not there, or that another schedule is best for.
  std::vector<int> number(const NetworkTasks& network) {
    std::vector<int> numbers;
    for (std::size_t t = 0; t < network.tasks.size(); ++t) {
      const Task &task = network.tasks[t], &scheduled = network.scheduled[t];
      const MeasuredSchedules own = network.measured.empty() ? MeasuredSchedules() : network.measured[t];
      int at = -1;
      for (auto [entry, end] = by_key_.equal_range(task.key); entry != end && at < 0; ++entry) {
        const auto place = static_cast<std::size_t>(entry->second);
        const Task& known = tasks_[place];
        if (known.within == task.within && same_dag(known.dag, task.dag) && begin_alike(measured_[place], own) &&
            scheduled_[place].key == scheduled.key && is_untuned_[place] == network.untuned)
          at = entry->second;
      }
      if (at < 0) {
        by_key_.emplace(task.key, at = static_cast<int>(tasks_.size()));
        tasks_.push_back(task);
        scheduled_.push_back(scheduled);
        measured_.push_back(own);
        is_untuned_.push_back(network.untuned);
      } else {
        tasks_[static_cast<std::size_t>(at)].weight += task.weight;
      }
      numbers.push_back(at);
    }
    return numbers;
  }

  /// What there is for the tasks from `first` on.
  LibrarySoFar so_far(const FusedGraph& fused, std::size_t first) const {
    LibrarySoFar library{static_cast<int>(first), &stored_, std::vector<OtherSize>(tasks_.size() - first)};
    for (std::size_t t = first; t < tasks_.size() && !task_of_constants_.empty(); ++t) {
      std::vector<Tensor> constants =
          constants_of(fused, fused.groups[static_cast<std::size_t>(tasks_[t].groups.front())]);
      const std::optional<std::uint64_t> key = key_of_constants(constants);
      const auto known = key ? task_of_constants_.find(*key) : task_of_constants_.end();
      if (known == task_of_constants_.end()) continue;
      const auto other = static_cast<std::size_t>(known->second);
      library.others[t - first] = {&scheduled_[other].dag, &compiled_[other], std::move(constants)};
    }
    return library;
  }
  /// For networks to come.
  void keep_constants(const FusedGraph& fused, const std::vector<int>& task_of,
                      const std::vector<std::vector<Tensor>>& packed) {
    for (std::size_t g = 0; g < task_of.size(); ++g) {
      if (task_of[g] < 0) continue;
      const Group& group = fused.groups[g];
      for (const KernelArgument& a : compiled_[static_cast<std::size_t>(task_of[g])].lowered.arguments) {
        const auto index = static_cast<std::size_t>(a.index);
        if (a.kind == KernelArgument::Kind::packed) stored_.add(packed[g][index]);
        if (a.kind != KernelArgument::Kind::input) continue;
        if (const Value& value = fused.graph.value(group.inputs[index]); value.constant) stored_.add(*value.constant);
      }
      if (const std::optional<std::uint64_t> key = key_of_constants(constants_of(fused, group)))
        task_of_constants_.try_emplace(*key, task_of[g]);
    }
  }

  Status compile_from(const LibrarySoFar& library, bool untuned) {
    const std::vector<Task> added(scheduled_.begin() + library.kernels, scheduled_.end());
    const std::vector<MeasuredSchedules> measured(measured_.begin() + library.kernels, measured_.end());
    WHET_TRY(std::vector<CompiledTask> compiled,
             compile_tasks(added, measured, library, untuned ? untuned_source_ : source_, target_, options_, report_));
    for (CompiledTask& task : compiled) compiled_.push_back(std::move(task));
    return ok_status();
  }

  /// Of each variant, the kernels that none before it has.
  void count_kernels() {
    std::vector<bool> known(compiled_.size(), false);
    for (std::size_t v = 0; v < library_.variants.size(); ++v)
      for (const ModelPlan::Step& step : library_.variants[v].plan.steps) {
        if (step.kind == PlanStepKind::copy || known[step.entry]) continue;
        known[step.entry] = true, ++report_.variants[v].kernels;
      }
  }

  double predicted_seconds(const std::vector<Task>& tasks, const std::vector<int>& numbers) const {
    double sum = 0;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      const double seconds = compiled_[static_cast<std::size_t>(numbers[t])].report.predicted_seconds;
      if (seconds <= 0) return 0;
      sum += tasks[t].weight * seconds;
    }
    return sum;
  }

  void describe_tasks() {
    for (std::size_t t = 0; t < compiled_.size(); ++t) {
      compiled_[t].report.weight = tasks_[t].weight;
      report_.tasks.push_back(compiled_[t].report);
    }
    if (std::ranges::any_of(report_.tasks, [](const TaskReport& task) { return task.transfer.has_value(); }))
      report_.base = source_.base;
  }

  /// The code of all kernels as text.
  Status list_code() {
    const bool instructions = options_.listing == CompileOptions::Listing::instructions;
    const char* const comment = instructions ? "#" : ";";
    std::string& text = report_.listing;
    text = std::string(comment) + " Kernels of whet for \"" + to_string(target_) + "\"\n";
    for (std::size_t t = 0; t < compiled_.size(); ++t) {
      WHET_TRY(const std::string code, instructions ? disassemble(compiled_[t].kernel, target_)
                                                    : intermediate_code(compiled_[t].lowered.program, target_));
      text += "\n" + std::string(comment) + " " + std::to_string(t) + " " + tasks_[t].name + "\n" + code;
    }
    return ok_status();
  }

  void describe(ModelPlan& plan) const {
    plan.target = to_string(target_);
    plan.records = summary(report_);
    plan.compiler = options_.compiler;
    plan.tuned_threads = static_cast<std::uint32_t>(std::max(1, target_.threads));
    plan.entries = static_cast<std::uint32_t>(report_.tasks.size());
    plan.weights_bytes = library_.weights.bytes();
    for (const ModelPlan::Step& step : plan.steps) plan.flops += step.flops;
  }

  void describe_usual(const AssembledModel& usual) {
    report_.predicted_seconds = usual.plan.predicted_seconds;
    report_.arena_bytes = static_cast<std::int64_t>(usual.plan.arena_bytes);
    report_.peak_activation_bytes = static_cast<std::int64_t>(usual.peak_activation_bytes);
    for (const ModelPlan::Step& step : usual.plan.steps)
      report_.steps.push_back(step.kind == PlanStepKind::copy ? -1 : static_cast<int>(step.entry));
  }

  const ScheduleSource& source_;
  const ScheduleSource untuned_source_;
  const Target& target_;
  const CompileOptions& options_;
  const double begin_ = seconds_now();
  VariantSizes at_;                          ///< of the networks that were added
  std::vector<Task> tasks_;                  ///< of all networks, one a kernel
  std::vector<Task> scheduled_;              ///< `tasks_` at the sizes for which schedules are chosen
  std::vector<MeasuredSchedules> measured_;  ///< of `tasks_`
  std::vector<bool> is_untuned_;             ///< the same: records say nothing of it
  std::multimap<std::string, int> by_key_;   ///< more than one where different tasks share a key
  std::vector<CompiledTask> compiled_;       ///< of `tasks_`
  StoredConstants stored_;
  std::map<std::uint64_t, int> task_of_constants_;  ///< the first one that has them, by key_of_constants
  AssembledLibrary library_;
  CompileReport report_;
};

}  // namespace

std::vector<TasksOfPlacement> tasks_by_placement(const CompileReport& report) {
  std::vector<TasksOfPlacement> list;
  for (const TaskReport& task : report.tasks) {
    if (!task.placement.is_known()) continue;
    const auto known =
        std::ranges::find_if(list, [&](const auto& each) { return !differ(each.placement, task.placement); });
    if (known == list.end())
      list.push_back({task.placement, 1});
    else
      ++known->tasks;
  }
  return list;
}

namespace {

constexpr Precision kRounded[] = {Precision::tf32, Precision::f16, Precision::bf16};

/// "; products of 9 tasks in tf32"
std::string products_in(Precision precision, std::int64_t tasks) {
  return "; products of " + counted(tasks, "task") + " in " + std::string(name_of(precision));
}

}  // namespace

Precision precision_in(std::string_view summary) {
  Precision least = Precision::f32;
  constexpr std::string_view kProducts = "; products of ", kIn = " in ";
  for (std::size_t at = summary.find(kProducts); at != std::string_view::npos; at = summary.find(kProducts, at + 1)) {
    const std::size_t in = summary.find(kIn, at + kProducts.size());
    if (in == std::string_view::npos) break;
    const std::string_view rest = summary.substr(in + kIn.size());
    const auto found = parse_precision(rest.substr(0, rest.find_first_of("; ,")));
    if (found && tolerance_of(*found) > tolerance_of(least)) least = *found;
  }
  return least;
}

std::string summary(const CompileReport& report) {
  using Source = TaskReport::Source;
  const auto count = [&](Source source) {
    return std::to_string(std::ranges::count(report.tasks, source, &TaskReport::source));
  };
  std::string text = count(Source::record) + " of " + counted(std::ssize(report.tasks), "task") + " from records, ";
  if (std::ranges::count(report.tasks, Source::near_record, &TaskReport::source) > 0) {
    text += count(Source::near_record) + " from records of other settings, ";
  }
  if (std::ranges::count(report.tasks, Source::transferred, &TaskReport::source) > 0) {
    text += count(Source::transferred) + " transferred, ";
  }
  text += count(Source::default_schedule) + " by default schedules";
  for (const Precision precision : kRounded) {
    const auto rounded = std::ranges::count(report.tasks, precision, &TaskReport::precision);
    if (rounded > 0) text += products_in(precision, rounded);
  }
  const std::vector<TasksOfPlacement> placements = tasks_by_placement(report);
  for (const TasksOfPlacement& each : placements) {
    text += (&each == placements.data() ? "; timed at " : ", at ") + to_text(each.placement);
    if (placements.size() > 1) text += " (" + counted(each.tasks, "task") + ")";
  }
  if (!report.base.empty()) text += " · base " + report.base;
  return text;
}

Result<CompileReport> compile_model(const FusedGraph& fused, const ScheduleSource& source, const Target& target,
                                    const std::string& output, const CompileOptions& options) {
  WHET_RETURN_IF_ERROR(check_output(output));
  WHET_RETURN_IF_ERROR(ScratchDirectory::make());  // the library needs one, after the kernels
  LibraryMaker maker(source, target, options, 1);
  WHET_RETURN_IF_ERROR(maker.add(fused, 0, {}));
  return maker.write({}, 0, output);
}

Result<CompileReport> compile_sizes(const SizedNetwork& network, const ScheduleSource& source, const Target& target,
                                    const std::string& output, const CompileOptions& options) {
  if (!network.sizes.empty()) WHET_RETURN_IF_ERROR(check_several_sizes(target));
  WHET_RETURN_IF_ERROR(check_output(output));
  WHET_RETURN_IF_ERROR(ScratchDirectory::make());
  LibraryMaker maker(source, target, options, variant_count(network.sizes));
  // The values of sizes ascend: the last choice is the largest.
  for (std::size_t v = variant_count(network.sizes); v-- > 0;) {
    const Result<FusedGraph> fused = network.read(v);
    const std::vector<std::int64_t> at = values_at(network.sizes, v);
    const Status added = fused.ok() ? maker.add(*fused, v, at) : Status(fused.error());
    if (!added.ok())
      return network.sizes.empty() ? added.error() : added.error().at("at " + sizes_text(network.sizes, at));
  }
  return maker.write(network.sizes, network.usual, output, network.dimensions);
}

FamilyPieces whole_variants(const Family& family) {
  FamilyPieces pieces;
  for (const Variant& variant : family.variants) pieces.push_back({VariantPiece{variant.boxes}});
  return pieces;
}

Result<CompileReport> compile_family(const Family& family, const std::vector<ModelSize>& sizes,
                                     const ScheduleSource& source, const Target& target, const std::string& output,
                                     const CompileOptions& options, const std::vector<InputDimensions>& dimensions) {
  return compile_family(family, whole_variants(family), sizes, source, target, output, options, dimensions);
}

Result<CompileReport> compile_family(const Family& family, const FamilyPieces& pieces,
                                     const std::vector<ModelSize>& sizes, const ScheduleSource& source,
                                     const Target& target, const std::string& output, const CompileOptions& options,
                                     const std::vector<InputDimensions>& dimensions) {
  WHET_CHECK(sizes.size() == family.sizes.size() && pieces.size() == family.variants.size(), "the family's sizes");
  if (!target.is_cpu())
    return Error{std::string(target.kind()) + " has no sized kernels; name the sizes", ErrorKind::unsupported};
  WHET_RETURN_IF_ERROR(check_several_sizes(target));
  WHET_RETURN_IF_ERROR(check_output(output));
  WHET_RETURN_IF_ERROR(ScratchDirectory::make());
  std::vector<std::pair<const Variant*, const VariantPiece*>> plans;
  for (std::size_t v = 0; v < pieces.size(); ++v)
    for (const VariantPiece& piece : pieces[v]) plans.emplace_back(&family.variants[v], &piece);
  LibraryMaker maker(source, target, options, plans.size());
  SizeValues least;
  for (const SizeRange& size : family.sizes) least.push_back(size.min);
  std::size_t usual = 0;
  // Variants are by their least sizes, and so are their pieces: the last one has the largest.
  for (std::size_t p = plans.size(); p-- > 0;) {
    const auto& [variant, piece] = plans[p];
    if (std::ranges::any_of(piece->boxes, [&](const SizeBox& box) { return contains(box, least); })) usual = p;
    const Status added = maker.add(*variant, *piece, p, family.sizes);
    if (!added.ok()) {
      Error why = added.error().at("at " + sizes_text(sizes, piece->boxes));
      if (why.kind == ErrorKind::invalid_input) why.kind = ErrorKind::unsupported;  // of one size it may be compiled
      return why;
    }
  }
  return maker.write(sizes, usual, output, dimensions);
}

}  // namespace whet
