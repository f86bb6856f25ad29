// whet check: are the answers right?

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "cli/add_options.h"
#include "cli/check_samples.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/table.h"
#include "compiler/summary.h"
#include "formats/load_tensors.h"
#include "json/json.h"
#include "ops/evaluate_graph.h"
#include "target/precision.h"
#include "tensor/compare.h"
#include "workflow/opened.h"
#include "workflow/sizes.h"

namespace whet {
namespace {

/// Without what is for a model that is compiled first.
ModelOptions as_compiled(ModelOptions options) {
  ModelOptions kept;
  kept.model = std::move(options.model);
  kept.inputs = std::move(options.inputs);
  kept.fill = std::move(options.fill);
  kept.seed = options.seed;
  return kept;
}

struct CheckCommand {
  RunnableOptions runnable;
  std::string against;
  std::vector<std::string> expect;
  std::vector<std::string> sizes;
  std::string samples;
  std::vector<std::string> max_error;
  std::function<bool(const std::string&)> given;
  double tolerance = -1;  ///< unset: what each value's type asks for
  bool inner = false, json = false, verbose = false;
  Precision library = Precision::f32;  ///< of the products of a compiled model, as its own summary names it
  std::int64_t products = 1;           ///< of the network that gives the right answers, where it is no library
};

/// One tensor compared: an output, or an inner value.
struct ValueFinding {
  std::string name;
  DType dtype = DType::f32;
  Difference difference;
  double tolerance = 0;  ///< of `difference.relative`
  bool inner = false;
  bool is_right() const { return difference.relative <= tolerance; }
};

/// What operands of products are rounded to: a model that is compiled first is asked for it, and a library names it.
Precision precision_of(const CheckCommand& command) {
  const RoundingOptions& rounding = command.runnable.records.rounding;
  if (command.runnable.model.is_compiled()) return command.library;
  return rounding.exact ? Precision::f32 : rounding.schedules().precision;
}

/// What rounded operands of `products` products, one behind the other, may change; 0 where none are. A product's own error is some three
/// units of the type, and errors of layers that do not know each other grow with the root of their number.
double rounded_by(const CheckCommand& command, std::int64_t products) {
  constexpr double kOfOne = 3.0 / 8;  // of tolerance_of, which is eight units
  return tolerance_of(precision_of(command)) * std::max(1.0, kOfOne * std::sqrt(static_cast<double>(products)));
}

std::int64_t products_of(const Graph& graph) {
  return std::ranges::count_if(graph.nodes, [](const Node& node) {
    return std::holds_alternative<ConvOperator>(node.op) || std::holds_alternative<MatMulOperator>(node.op);
  });
}

/// Several roundings of the type, or of the operands of products. A kernel's own value has one product behind it.
double tolerance_for(const CheckCommand& command, DType dtype, bool inner) {
  const double own = dtype == DType::f16 ? 4e-3 : dtype == DType::bf16 ? 3e-2 : 2e-5;
  return std::max(own, rounded_by(command, inner ? 1 : command.products));
}

ValueFinding found(const CheckCommand& command, const std::string& name, const Tensor& got, const Tensor& want,
                   bool inner) {
  const double tolerance = command.tolerance < 0 ? tolerance_for(command, want.dtype(), inner) : command.tolerance;
  return {name, want.dtype(), compare(got, want, tolerance), tolerance, inner};
}

/// Tensors of one side by name and place.
struct Answers {
  std::vector<OpenedModel::Named> names;
  std::vector<Tensor> tensors;
};

/// The values of a graph by the slow truth: every operator for itself, naively.
Result<std::vector<Tensor>> interpret(const Graph& graph, const InputFiles& files, const ModelOptions& options) {
  const std::vector<InputSlot> slots = input_slots(graph);
  WHET_TRY(const std::vector<Tensor> inputs,
           match_inputs(slots, without_folded(options, slots, files), options.fill, options.seed));
  return evaluate_graph(graph, inputs);
}

/// "x f32[1x3], mask i64[4]"
std::string list_of(const std::vector<OpenedModel::Named>& values) {
  std::string list;
  for (const OpenedModel::Named& value : values)
    list += (list.empty() ? "" : ", ") + value.name + " " + to_string(value.type);
  return list.empty() ? "none" : list;
}

/// The tensors of `have` in the order of `wanted`: by their names where these are the same, else in their order. Nothing
/// where their number differs or a type.
std::optional<std::vector<Tensor>> in_order_of(const std::vector<OpenedModel::Named>& wanted, const Answers& have) {
  if (wanted.size() != have.tensors.size()) return std::nullopt;
  std::map<std::string, const Tensor*> by_name;
  for (std::size_t i = 0; i < have.names.size(); ++i) by_name[have.names[i].name] = &have.tensors[i];
  const bool named = by_name.size() == wanted.size() &&
                     std::ranges::all_of(wanted, [&](const auto& w) { return by_name.contains(w.name); });
  std::vector<Tensor> ordered;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Tensor tensor = held_as(named ? *by_name.at(wanted[i].name) : have.tensors[i], wanted[i].type.dtype);
    if (tensor.type() != wanted[i].type) return std::nullopt;
    ordered.push_back(tensor);
  }
  return ordered;
}

/// Answers from files.
Result<Answers> read_answers(const std::vector<std::string>& paths) {
  Answers answers;
  for (const std::string& path : paths) {
    WHET_TRY(const std::vector<NamedTensor> tensors, load_tensors(path));
    for (const NamedTensor& each : tensors) {
      answers.names.push_back({each.name.empty() ? path : each.name, each.tensor.type()});
      answers.tensors.push_back(each.tensor);
    }
  }
  return answers;
}

/// The inputs of the model that is checked, as the one with the right answers takes them.
Result<std::vector<Tensor>> inputs_for(const CheckCommand& command, const std::vector<OpenedModel::Named>& takes,
                                       const Answers& inputs) {
  if (auto ordered = in_order_of(takes, inputs)) return std::move(*ordered);
  return Error{fmt::format("check: {} takes {}, and {} {}; answers compare where both take the same inputs",
                           command.runnable.model.model, list_of(inputs.names), command.against, list_of(takes))};
}

/// The shapes of inputs, as --shape takes them.
std::vector<std::string> shapes_of(const std::vector<OpenedModel::Named>& inputs) {
  std::vector<std::string> shapes;
  for (const OpenedModel::Named& input : inputs)
    if (!input.type.shape.empty()) shapes.push_back(input.name + "=" + to_string(input.type.shape));
  return shapes;
}

Result<Answers> reference_answers(CheckCommand& command, const InputFiles& files, const Answers& inputs) {
  if (!command.expect.empty()) return read_answers(command.expect);
  RunnableOptions options = command.runnable;
  options.model.model = command.against;
  Answers answers;
  if (options.model.is_compiled()) {
    options.records = {};
    options.place.target.clear();
    options.model = as_compiled(options.model);
    WHET_TRY(Runnable runnable, open_runnable(options, files));
    if (!runnable.model.sizes().empty()) {
      options.model.shapes = shapes_of(inputs.names);
      WHET_RETURN_IF_ERROR(choose_shapes(runnable.model, options.model, {}));
    }
    WHET_TRY(std::vector<Tensor> taken, inputs_for(command, runnable.model.inputs(), inputs));
    WHET_TRY(answers.tensors, runnable.model.run(std::move(taken)));
    answers.names = runnable.model.outputs();
    return answers;
  }
  WHET_TRY(const Graph graph, load_graph(options.model, files));
  command.products = products_of(graph);
  std::vector<OpenedModel::Named> takes;
  for (const InputSlot& slot : input_slots(graph)) takes.push_back({slot.name, slot.type});
  WHET_TRY(const std::vector<Tensor> taken, inputs_for(command, takes, inputs));
  WHET_TRY(const std::vector<Tensor> values, evaluate_graph(graph, taken));
  for (ValueId id : graph.outputs) {
    answers.names.push_back({graph.value(id).name, graph.value(id).type});
    answers.tensors.push_back(values[id.index()]);
  }
  return answers;
}

/// The answers in the order of the model's outputs.
Result<std::vector<Tensor>> answers_for(const CheckCommand& command, const std::vector<OpenedModel::Named>& outputs,
                                        const Answers& answers) {
  if (std::ranges::all_of(outputs, [](const auto& output) { return num_elements(output.type.shape) == 0; }))
    return Error{"check: " + command.runnable.model.model + " gives no values; there is nothing to compare"};
  if (auto ordered = in_order_of(outputs, answers)) return std::move(*ordered);
  return Error{fmt::format("check: {} gives {}, and the answers to compare with are {}; expected the same",
                           command.runnable.model.model, list_of(outputs), list_of(answers.names))};
}

/// Compares the outputs of a model at the shapes that it has.
Result<std::vector<ValueFinding>> compare_outputs_of(OpenedModel& model, CheckCommand& command,
                                                     const InputFiles& files) {
  Answers inputs{model.inputs(), {}};
  WHET_TRY(inputs.tensors, inputs_of(model, command.runnable.model, files));
  WHET_TRY(const Answers answers, reference_answers(command, files, inputs));
  WHET_TRY(const std::vector<Tensor> want, answers_for(command, model.outputs(), answers));
  WHET_TRY(const std::vector<Tensor> got, model.run(std::move(inputs.tensors)));
  std::vector<ValueFinding> findings;
  for (std::size_t i = 0; i < got.size(); ++i)
    findings.push_back(found(command, model.outputs()[i].name, got[i], want[i], false));
  return findings;
}

/// The options of the model with the right answers where a library for several sizes is at these; its own name stays.
Result<ModelOptions> reference_at(const CheckCommand& command, const OpenedModel& model, std::vector<std::int64_t> at) {
  const std::vector<ModelSize> sizes = model.sizes();
  ModelOptions options = command.runnable.model;
  options.model = command.against;
  for (std::size_t k = 0; k < sizes.size(); ++k) options.sizes.push_back(fmt::format("{}={}", sizes[k].name, at[k]));
  WHET_TRY(const SizedModel reference, sized_model(options, {}));
  for (std::size_t k = at.size(); k < reference.sizes.size(); ++k) at.push_back(reference.sizes[k].range.min);
  WHET_TRY(options, reference.at(at));
  options.model = command.runnable.model.model;
  return options;
}

/// Of a library for several sizes: at those that --shape and inputs say, else at each; of ranges at their ends and some seeded ones.
Result<std::vector<ValueFinding>> compare_sizes(OpenedModel& model, CheckCommand& command, const InputFiles& files) {
  const ModelOptions& options = command.runnable.model;
  std::vector<ValueFinding> findings;
  const bool is_given = !options.shapes.empty() || !options.inputs.empty() || !command.expect.empty();
  if (is_given && !command.sizes.empty())
    return Error{
        "check: --sizes says at which sizes the library is checked, and so do --shape, --input and --expect; give one "
        "of them",
        ErrorKind::wrong_use};
  if (is_given) WHET_RETURN_IF_ERROR(choose_shapes(model, options, files));
  WHET_TRY(const auto choices, choices_to_check(model, options.seed, command.sizes));
  for (const std::vector<std::int64_t>& at : choices) {
    if (!is_given) WHET_RETURN_IF_ERROR(model.set_sizes(at));
    CheckCommand sized = command;
    if (!is_given && !command.against.ends_with(".so")) {
      WHET_TRY(sized.runnable.model, reference_at(command, model, at));
    }
    WHET_TRY(const std::vector<ValueFinding> compared, compare_outputs_of(model, sized, files));
    command.products = sized.products;
    for (ValueFinding finding : compared) {
      finding.name += " at " + sizes_text(model);
      findings.push_back(std::move(finding));
    }
    if (is_given) break;
  }
  return findings;
}

Result<std::vector<ValueFinding>> compare_outputs(CheckCommand& command, const InputFiles& files) {
  RunnableOptions options = command.runnable;
  if (options.model.is_compiled() && !command.against.empty() && !command.against.ends_with(".so"))
    options.model = as_compiled(options.model);  // they are for the other
  WHET_TRY(Runnable runnable, open_runnable(options, files));
  command.library = precision_in(runnable.model.info().records);
  if (!runnable.model.sizes().empty()) return compare_sizes(runnable.model, command, files);
  if (!command.sizes.empty())
    return Error{"check: " + command.runnable.model.model + " is for one size; --sizes is for libraries for several",
                 ErrorKind::wrong_use};
  return compare_outputs_of(runnable.model, command, files);
}

/// Compiles the model with what every kernel computes as an output, and compares each with the interpreter's value.
Result<std::vector<ValueFinding>> compare_inner_values(const CheckCommand& command, const InputFiles& files) {
  WHET_TRY(const RunPlace place, choose_place(command.runnable));
  WHET_TRY(FusedGraph fused,
           load_fused(command.runnable.model, files, command.runnable.records.rounding.passes(place.on.target)));
  WHET_TRY(const std::vector<Tensor> want, interpret(fused.graph, files, command.runnable.model));
  fused.graph.outputs.clear();
  for (const Group& group : fused.groups)
    fused.graph.outputs.insert(fused.graph.outputs.end(), group.outputs.begin(), group.outputs.end());
  WHET_TRY(const ScratchDirectory scratch, ScratchDirectory::make());
  const std::string library = scratch.path() + "/inner.so";
  CompileOptions compiling;
  RecordOptions records = command.runnable.records;
  compiling.emulated = place.device.kind == DeviceName::Kind::emulated;
  records.emulated = compiling.emulated || command.runnable.allow_emulated;
  WHET_TRY(const CompileReport report, compile_with_records(fused, records, place.on.target, library, compiling));
  WHET_TRY(OpenedModel model, open_in(place, library, {}));
  WHET_TRY(std::vector<Tensor> inputs, inputs_of(model, command.runnable.model, files));
  WHET_TRY(const std::vector<Tensor> got, model.run(std::move(inputs)));
  std::vector<ValueFinding> findings;
  for (std::size_t i = 0; i < fused.graph.outputs.size(); ++i) {
    const ValueId id = fused.graph.outputs[i];
    findings.push_back(found(command, fused.graph.value(id).name, got[i], want[id.index()], true));
  }
  return findings;
}

void print_text(const CheckCommand& command, const std::vector<ValueFinding>& findings) {
  constexpr std::size_t kShown = 12;
  Table table(
      {{"Value", false}, {"", false}, {"Largest difference"}, {"Largest value"}, {"Ratio"}, {"At"}, {"Beyond"}});
  const std::size_t shown = command.verbose ? findings.size() : std::min(kShown, findings.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const Difference& d = findings[i].difference;
    table.add({findings[i].name, findings[i].inner ? "inner" : "output", fmt::format("{:.3e}", d.max_abs),
               fmt::format("{:.4g}", d.largest), fmt::format("{:.2e}", d.relative), std::to_string(d.where),
               std::to_string(d.mismatches)});
  }
  print(table);
  if (shown < findings.size())
    fmt::print("({}; --verbose shows all)\n", counted(std::ssize(findings) - std::int64_t(shown), "better one"));
}

void print_json(const std::vector<ValueFinding>& findings, bool same) {
  Json values = Json::array();
  for (const ValueFinding& finding : findings) {
    values.add(Json::object()
                   .set("name", finding.name)
                   .set("inner", finding.inner)
                   .set("max_abs", finding.difference.max_abs)
                   .set("largest", finding.difference.largest)
                   .set("relative", finding.difference.relative)
                   .set("tolerance", finding.tolerance)
                   .set("where", finding.difference.where)
                   .set("mismatches", finding.difference.mismatches));
  }
  fmt::print("{}\n", dump(Json::object().set("same", same).set("values", values), 2));
}

/// "2e-05", or "2e-05 (f16: 0.004)" where floats of 16 bits were among others.
std::string tolerances(const std::vector<ValueFinding>& findings) {
  const auto [least, most] =
      std::minmax_element(findings.begin(), findings.end(),
                          [](const ValueFinding& a, const ValueFinding& b) { return a.tolerance < b.tolerance; });
  if (findings.empty()) return "anything";
  if (least->tolerance == most->tolerance) return fmt::format("{:g}", least->tolerance);
  return fmt::format("{:g} ({}: {:g})", least->tolerance, name_of(most->dtype), most->tolerance);
}

/// On a user's data, by the limits that the user has.
Result<int> run_samples(const CheckCommand& command) {
  if (command.max_error.empty() == (command.tolerance < 0))
    return wrong_use(
        {"check: --samples needs to know what is right enough: give --max-error or --tolerance, not both"});
  WHET_RETURN_IF_ERROR(refuse_given(command.given, {"--expect", "--input", "--fill", "--sizes", "--inner"}, "check",
                                    "has other inputs or answers than --samples; give one of them"));
  SampleCheck check{command.runnable, command.against, command.samples, {}, command.json};
  if (check.against.empty()) check.against = command.runnable.model.model;
  const Result<Accuracy> accuracy = parse_accuracy(command.max_error);
  if (!accuracy.ok()) return wrong_use({"check: --max-error: " + accuracy.error().message});
  check.accuracy = *accuracy;
  if (command.tolerance >= 0) check.accuracy.allowed.push_back({"", Measure::largest, command.tolerance});
  return check_samples(check);
}

Result<int> run(CheckCommand& command) {
  if (command.samples.empty() && !command.max_error.empty())
    return wrong_use({"check: --max-error is of answers on samples; give --samples too"});
  if (command.against.empty() && command.expect.empty() && command.runnable.model.is_compiled())
    return wrong_use(
        {"check: " + command.runnable.model.model +
         " is compiled already; give the model that it was made of by --against, or right answers by --expect"});
  if (!command.against.empty() && !command.expect.empty())
    return wrong_use({"check: --against and --expect both have the right answers; give one of them"});
  if (command.expect.empty()) {
    if (command.against.empty()) command.against = command.runnable.model.model;
    if (command.runnable.model.fill.empty()) command.runnable.model.fill = "random";
  }
  if (!command.samples.empty()) return run_samples(command);
  if (command.runnable.records.rounding.is_of_plans() && command.tolerance < 0)
    return wrong_use({"check: what --precision " + command.runnable.records.rounding.precision +
                      " errs by depends on your data: give --samples and --max-error, or --tolerance"});
  if (command.inner && command.runnable.model.is_compiled())
    return wrong_use({"check: a compiled model keeps no inner values; give the model itself for --inner"});
  WHET_TRY(const InputFiles files, read_inputs(command.runnable.model));
  WHET_TRY(std::vector<ValueFinding> findings, compare_outputs(command, files));
  if (command.inner) {
    WHET_TRY(std::vector<ValueFinding> inner, compare_inner_values(command, files));
    findings.insert(findings.end(), inner.begin(), inner.end());
  }
  std::stable_sort(findings.begin(), findings.end(), [](const ValueFinding& a, const ValueFinding& b) {
    return std::pair(!a.is_right(), a.difference.relative) > std::pair(!b.is_right(), b.difference.relative);
  });
  const bool same = std::all_of(findings.begin(), findings.end(), [](const ValueFinding& f) { return f.is_right(); });
  if (command.json)
    print_json(findings, same);
  else
    print_text(command, findings);
  if (!command.json && rounded_by(command, command.products) > 0)
    fmt::print("{}: compared with {}; operands of products rounded to {} may change {:g} of the largest magnitude\n",
               command.runnable.model.model,
               command.expect.empty() ? command.against + " without rounding" : std::string("--expect"),
               name_of(precision_of(command)), rounded_by(command, command.products));
  if (!command.json)
    fmt::print("{}: within {} of the largest magnitude: {}\n", command.runnable.model.model, tolerances(findings),
               same ? "yes" : "no");
  return same ? kDone : kFailed;
}

}  // namespace

CommandAction make_check(Arguments& arguments) {
  auto command = std::make_shared<CheckCommand>();
  add_options(arguments, command->runnable);
  arguments.add("--against", command->against,
                "Model that gives the right answers: one computed operator by operator in double, or a compiled one "
                "(default: MODEL, if it is not compiled)");
  arguments.add(
      "--expect", command->expect,
      "Right answers from a file, instead of --against, of the inputs that --input gives: x.npy in the order of "
      "the outputs, or an .npz of their names; may be repeated");
  arguments.add(
      "--sizes", command->sizes,
      "Of a library for several sizes: where it is checked, like n=all, n=1..64 or x.0={1,8} (default: all that "
      "are listed, of a range both ends and 16 others by --seed); may be repeated");
  arguments.flag("--inner", command->inner, "Also compare the results of every kernel");
  arguments.add(
      "--tolerance", command->tolerance, 0, 1e9,
      "Largest difference, as a part of the largest magnitude (default: 2e-5, of f16 4e-3, of bf16 3e-2; with "
      "--precision, and of a library compiled with it, what that may change)");
  arguments.add(
      "--samples", command->samples,
      "Your data: a folder with an .npz or .npy file for each sample, or one such file with samples along a new "
      "first dimension; answers are compared with those of --against in f32, by --max-error or --tolerance");
  arguments.reads(command->samples);
  arguments.add("--max-error", command->max_error,
                "What each sample may err by: 1% (relative L2 of each output), boxes:abs<=2, max<=1e-3, cos>=0.999, "
                "psnr>=40, or scores:top1>=99% over all; may be repeated");
  arguments.flag("--json", command->json, "Print JSON");
  arguments.flag("-v,--verbose", command->verbose, "Print every value, not only the worst");
  command->given = arguments.given();
  return [command] { return run(*command); };
}

}  // namespace whet
