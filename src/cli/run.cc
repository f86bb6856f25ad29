// whet run: inputs in, outputs out.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "cli/add_options.h"
#include "cli/command.h"
#include "json/json.h"
#include "tensor_files/npy.h"
#include "workflow/opened.h"

namespace whet {
namespace {

struct RunCommand {
  RunnableOptions runnable;
  std::string output;
  int print_top = 0;  ///< values of each output
  bool json = false, quiet = false;
};

struct Summary {
  double min = std::numeric_limits<double>::infinity(), max = -min, mean = 0;
};

Summary summarise(const Tensor& tensor) {
  Summary summary;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const double value = tensor.get(i);
    summary.min = std::min(summary.min, value);
    summary.max = std::max(summary.max, value);
    summary.mean += value / static_cast<double>(tensor.size());
  }
  return summary;
}

std::string first_values(const Tensor& tensor) {
  std::string text;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(tensor.size(), 5); ++i)
    text += fmt::format("{}{:.6g}", i ? " " : "", tensor.get(i));
  return text + (tensor.size() > 5 ? " ..." : "");
}

/// The places of the largest elements, the largest first, of equal ones the first; NaN comes last.
std::vector<std::int64_t> largest(const Tensor& tensor, int count) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(tensor.size()));
  std::iota(places.begin(), places.end(), 0);
  const auto rank = [&](std::int64_t i) {
    const double value = tensor.get(i);
    return std::pair(std::isnan(value) ? std::numeric_limits<double>::infinity() : -value, i);
  };
  const auto end = places.begin() + std::min(std::ssize(places), std::ptrdiff_t{count});
  std::partial_sort(places.begin(), end, places.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
  return {places.begin(), end};
}

/// The index of element `i` of a tensor of this shape.
std::vector<std::int64_t> index_of(std::int64_t i, const Shape& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; i /= shape[d]) index[d] = i % shape[d];
  return index;
}

/// Before the model runs.
Status check_output(const std::string& path) {
  if (path.empty() || path.ends_with(".npy") || path.ends_with(".npz")) return ok_status();
  return Error{"--output is \"" + path + "\"; expected a .npy or .npz file", ErrorKind::wrong_use};
}

Status save(const std::string& path, const std::vector<OpenedModel::Named>& names, const std::vector<Tensor>& outputs) {
  if (path.ends_with(".npy")) {
    if (outputs.size() == 1) return save_npy(path, outputs[0]);
    return Error{
        fmt::format("--output is \"{}\"; the model has {} outputs: a .npz file holds them all", path, outputs.size())};
  }
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < outputs.size(); ++i) tensors.push_back({names[i].name, outputs[i]});
  return save_npz(path, tensors);
}

void print_top(const Tensor& tensor, int count) {
  for (const std::int64_t i : largest(tensor, count)) {
    const std::string value =
        is_float(tensor.dtype()) ? fmt::format("{:.6g}", tensor.get(i)) : std::to_string(tensor.integer(i));
    fmt::print("    {} at [{}]\n", value, fmt::join(index_of(i, tensor.shape()), ", "));
  }
}

Json top_json(const Tensor& tensor, int count) {
  Json list = Json::array();
  for (const std::int64_t i : largest(tensor, count))
    list.add(Json::object()
                 .set("index", Json::array_of(index_of(i, tensor.shape())))
                 .set("value", is_float(tensor.dtype()) ? Json(tensor.get(i)) : Json(tensor.integer(i))));
  return list;
}

void print_text(const OpenedModel& model, const std::vector<Tensor>& outputs, int top) {
  fmt::print("{} · {}\n", model.info().name, threads_text(model));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].size() == 0) {
      fmt::print("  {} {}: empty\n", model.outputs()[i].name, to_string(outputs[i].type()));
      continue;
    }
    const Summary s = summarise(outputs[i]);
    fmt::print("  {} {}: min {:.6g}, max {:.6g}, mean {:.6g}: {}\n", model.outputs()[i].name,
               to_string(outputs[i].type()), s.min, s.max, s.mean, first_values(outputs[i]));
    if (top > 0) print_top(outputs[i], top);
  }
}

void print_json(const OpenedModel& model, const std::vector<Tensor>& outputs, int top) {
  Json list = Json::array();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Json output = Json::object();
    output.set("name", model.outputs()[i].name)
        .set("dtype", name_of(outputs[i].dtype()))
        .set("shape", Json::array_of(outputs[i].shape()));
    if (outputs[i].size() > 0) {
      const Summary s = summarise(outputs[i]);
      output.set("min", s.min).set("max", s.max).set("mean", s.mean);
    }
    if (top > 0) output.set("top", top_json(outputs[i], top));
    list.add(std::move(output));
  }
  Json out = Json::object();
  out.set("model", model.info().name)
      .set("target", model.info().target)
      .set("threads", static_cast<int>(model.pool().threads));
  fmt::print("{}\n", dump(out.set("outputs", list), 2));
}

Result<int> run(const RunCommand& command) {
  if (command.quiet && !command.json && command.print_top > 0)
    return wrong_use({"run: --print-top counts only without --quiet"});
  WHET_RETURN_IF_ERROR(check_output(command.output));
  WHET_TRY(const InputFiles files, read_inputs(command.runnable.model));
  WHET_TRY(Runnable runnable, open_runnable(command.runnable, files));
  OpenedModel& model = runnable.model;
  WHET_TRY(std::vector<Tensor> inputs, inputs_of(model, command.runnable.model, files));
  WHET_TRY(const std::vector<Tensor> outputs, model.run(std::move(inputs)));
  if (!command.output.empty()) WHET_RETURN_IF_ERROR(save(command.output, model.outputs(), outputs));
  if (command.json)
    print_json(model, outputs, command.print_top);
  else if (!command.quiet)
    print_text(model, outputs, command.print_top);
  return kDone;
}

}  // namespace

CommandAction make_run(Arguments& arguments) {
  auto command = std::make_shared<RunCommand>();
  add_options(arguments, command->runnable);
  arguments.add("-o,--output", command->output,
                "File to write the outputs to: .npy for one output, .npz for any number");
  arguments.writes("--output", command->output, FileKind::tensors);
  arguments.add("--print-top", command->print_top, 1, 1000000000,
                "Also print this number of the largest values of each output, with their indices", 0);
  arguments.flag("--json", command->json, "Print a summary of the outputs as JSON");
  arguments.flag("-q,--quiet", command->quiet, "Print nothing");
  return [command] { return run(*command); };
}

}  // namespace whet
