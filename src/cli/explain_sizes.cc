// whet explain sizes: the structures of a model at all sizes of its ranges, and its numbers as functions of them.

#include <fmt/format.h>

#include "base/counted.h"
#include "cli/command.h"
#include "cli/explain.h"
#include "cli/output.h"
#include "cli/sizes_text.h"
#include "cli/table.h"
#include "compute/dag.h"
#include "workflow/sizes.h"

namespace whet {
namespace {

/// "n=2..512", "b*n=1..16384, n=1..512"
std::string own_sizes_text(const SizedTask& task) {
  return task.sizes.empty() ? "the same at all" : to_text(task.task.dag.sizes);
}

void print_variant(const Family& family, const Variant& variant, std::size_t number) {
  fmt::print("\nVariant {}, {}: {} of {} change{}{}\n", number, boxes_text(family, variant), variant.changing,
             counted(variant.numbers, "number"), variant.forms.empty() ? "" : ", as ", forms_text(variant));
  Table table({{"Task"}, {"Name", false}, {"Weight"}, {"Its sizes", false}});
  for (std::size_t t = 0; t < variant.tasks.size(); ++t) {
    const SizedTask& task = variant.tasks[t];
    table.add({std::to_string(t), task.task.name, std::to_string(task.task.weight), own_sizes_text(task)});
  }
  print(table);
  if (!variant.windows.empty())
    fmt::print("{} of each size lies in that of the largest: {}\n", counted(std::ssize(variant.windows), "constant"),
               variant.fused.graph.value(variant.windows.begin()->first).name);
}

}  // namespace

Result<int> explain_sizes(const Question& question) {
  WHET_RETURN_IF_ERROR(needs_model(question));
  WHET_TRY(const Family family, load_family(question.model, question.rounding.passes()));
  if (question.json) {
    Json variants = Json::array();
    for (const Variant& variant : family.variants) {
      Json tasks = Json::array();
      for (const SizedTask& task : variant.tasks)
        tasks.add(Json::object()
                      .set("name", task.task.name)
                      .set("weight", task.task.weight)
                      .set("sizes", sizes_json(family, task))
                      .set("dag", to_text(task.task.dag)));
      variants.add(to_json(family, variant).set("tasks", tasks));
    }
    return print(Json::object().set("points", family.points).set("checked", family.checked).set("variants", variants));
  }
  fmt::print("{} · {} · {}, checked at {} of {}\n", question.model.name(), to_text(family.sizes),
             counted(std::ssize(family.variants), "variant"), family.checked, counted(family.points, "size"));
  for (std::size_t v = 0; v < family.variants.size(); ++v) print_variant(family, family.variants[v], v + 1);
  return kDone;
}

}  // namespace whet
