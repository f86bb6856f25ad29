// whet sizes: the open dimensions of a model, and the model at all values of ranges.

#include "workflow/sizes.h"

#include <fmt/format.h>

#include <memory>

#include "base/counted.h"
#include "base/nearest.h"
#include "base/parallel.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/sizes_text.h"
#include "cli/table.h"
#include "workflow/rounding.h"

namespace whet {
namespace {

struct SizesCommand {
  ModelOptions model;
  RoundingOptions rounding;
  bool json = false;
};

Json to_json(const SizeRange& size) {
  return Json::object().set("name", size.name).set("min", size.min).set("max", size.max).set("step", size.step);
}

Json to_json(const OpenSize& size) {
  Json dimensions = Json::array();
  for (const auto& [input, dimension] : size.dimensions) dimensions.add(input + "." + std::to_string(dimension));
  Json out = Json::object().set("name", size.name()).set("symbol", size.symbol).set("dimensions", dimensions);
  out.set("least", size.least).set("most", size.most ? Json(*size.most) : Json()).set("step", size.step);
  return out.set("usual", size.usual ? Json(*size.usual) : Json());
}

/// `ids.1 "n": open; mask.1 has the same`
std::string open_text(const OpenSize& size) {
  std::string text =
      size.name() + (size.symbol.empty() || size.symbol == size.name() ? "" : " " + in_quotes(size.symbol));
  const auto range = size.range();
  text += range ? ": " + to_text(*range) + ", the file's bounds" : ": open";
  std::string others;
  for (std::size_t i = 1; i < size.dimensions.size(); ++i)
    others += (i > 1 ? ", " : "; ") + size.dimensions[i].first + "." + std::to_string(size.dimensions[i].second);
  if (!others.empty()) text += others + (size.dimensions.size() > 2 ? " have the same" : " has the same");
  return text;
}

Result<int> list_sizes(const SizesCommand& command) {
  WHET_TRY(const std::vector<OpenSize> open, open_sizes(command.model));
  if (command.json) {
    Json list = Json::array();
    for (const OpenSize& size : open) list.add(to_json(size));
    fmt::print("{}\n", dump(Json::object().set("model", command.model.name()).set("sizes", list), 2));
    return kDone;
  }
  std::string example;
  for (const OpenSize& size : open) {
    fmt::print("{}\n", open_text(size));
    example += " --sizes " + example_of(size);
  }
  if (open.empty())
    fmt::print("{}: all dimensions of the inputs are fixed\n", command.model.name());
  else
    fmt::print("Next: whet sizes {}{}\n", command.model.model, example);
  return kDone;
}

Result<int> print_family(const SizesCommand& command) {
  const double begin = seconds_now();
  WHET_TRY(const Family family, load_family(command.model, command.rounding.passes()));
  if (command.json) {
    Json variants = Json::array();
    for (const Variant& variant : family.variants)
      variants.add(to_json(family, variant).set("tasks", std::ssize(variant.tasks)));
    Json sizes = Json::array();
    for (const SizeRange& size : family.sizes) sizes.add(to_json(size));
    fmt::print("{}\n", dump(Json::object()
                                .set("model", command.model.name())
                                .set("sizes", sizes)
                                .set("points", family.points)
                                .set("checked", family.checked)
                                .set("seconds", seconds_now() - begin)
                                .set("variants", variants),
                            2));
    return kDone;
  }
  fmt::print("{} · {} · {}, checked at {} of {} in {:.1f} s\n", command.model.name(), to_text(family.sizes),
             counted(std::ssize(family.variants), "variant"), family.checked, counted(family.points, "size"),
             seconds_now() - begin);
  Table table({{"Variant"}, {"Sizes", false}, {"Tasks"}, {"Numbers"}, {"Change"}, {"As", false}});
  for (std::size_t v = 0; v < family.variants.size(); ++v) {
    const Variant& variant = family.variants[v];
    table.add({std::to_string(v + 1), boxes_text(family, variant.boxes), std::to_string(variant.tasks.size()),
               std::to_string(variant.numbers), std::to_string(variant.changing), forms_text(variant)});
  }
  print(table);
  return kDone;
}

}  // namespace

std::string boxes_text(const Family& family, const std::vector<SizeBox>& boxes) {
  std::string text;
  for (const SizeBox& box : boxes) text += (text.empty() ? "" : "; ") + to_text(ranges_in(family.sizes, box));
  return text;
}

std::string forms_text(const Variant& variant) {
  constexpr std::size_t kMost = 4;
  std::string text;
  for (std::size_t i = 0; i < variant.forms.size() && i < kMost; ++i)
    text += (i > 0 ? ", " : "") + fmt::format("{} ({})", variant.forms[i].first, variant.forms[i].second);
  if (variant.forms.size() > kMost)
    text += fmt::format(" and {}", counted(std::ssize(variant.forms) - std::int64_t(kMost), "other"));
  return text;
}

Json to_json(const Family& family, const Variant& variant) {
  Json boxes = Json::array(), forms = Json::array();
  for (const SizeBox& box : variant.boxes)
    boxes.add(Json::object().set("low", Json::array_of(box.low)).set("high", Json::array_of(box.high)));
  for (const auto& [function, count] : variant.forms)
    forms.add(Json::object().set("function", function).set("numbers", count));
  return Json::object()
      .set("sizes", boxes_text(family, variant.boxes))
      .set("boxes", boxes)
      .set("at", Json::array_of(variant.at))
      .set("numbers", variant.numbers)
      .set("changing", variant.changing)
      .set("functions", forms);
}

Json sizes_json(const Family&, const SizedTask& task) {
  Json sizes = Json::array();
  for (std::size_t k = 0; k < task.sizes.size(); ++k)
    sizes.add(to_json(task.task.dag.sizes[k])
                  .set("of_model", to_text(task.sizes[k], std::function<std::string(SourceId)>())));
  return sizes;
}

CommandAction make_sizes(Arguments& arguments) {
  auto command = std::make_shared<SizesCommand>();
  add_options(arguments, command->model);
  add_sizes(arguments, command->model);
  arguments.add("--input", command->model.inputs, "name=x.npy: the value of an input that decides shapes");
  add_precision(arguments, command->rounding, "As for tuning: with f16 and bf16 kernels have tensors of it");
  arguments.flag("--json", command->json, "Print JSON");
  return [command] { return command->model.sizes.empty() ? list_sizes(*command) : print_family(*command); };
}

}  // namespace whet
