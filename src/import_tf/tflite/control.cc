#include <algorithm>
#include <set>

#include "import_tf/tflite/rows.h"

// Branches and loops vanish while importing.

namespace whet::tflite {

Result<ValueIds> TfliteSite::inlined(const tensorflow::TfFunctionName& name, const ValueIds& inputs) {
  const int number = std::stoi(name.name);
  if (number < 0 || number >= static_cast<int>(model_.graphs.size()))
    return error("names graph " + std::to_string(number) + " of " + std::to_string(model_.graphs.size()));
  const Subgraph& body = model_.graphs[static_cast<std::size_t>(number)];
  const auto names = [&](const std::vector<int>& tensors) {
    Texts texts;
    for (const int each : tensors) texts.push_back(body.tensors[static_cast<std::size_t>(each)].name);
    return texts;
  };
  const auto define_constants = [&](const std::vector<int>& tensors) {
    for (const int each : tensors) {
      if (each < 0) continue;
      const TensorInfo& info = body.tensors[static_cast<std::size_t>(each)];
      if (info.value && !graph_.defined(info.name)) graph_.define(info.name, add_constant(info.name, *info.value));
    }
  };
  return in_body(names(body.inputs), inputs, names(body.outputs), [&]() -> Status {
    for (const Operation& operation : body.operations) {
      WHET_RETURN_IF_ERROR(graph_.count_inlined(operation.label));
      define_constants(operation.inputs);
      WHET_RETURN_IF_ERROR(TfliteSite(graph_, model_, body, operation, names(operation.outputs), true).import());
    }
    define_constants(body.outputs);
    return ok_status();
  });
}

std::vector<std::string> missing_in_bodies(const TfliteModel& model) {
  std::set<std::size_t> seen = {model.main};
  std::vector<std::size_t> open = {model.main};
  std::vector<std::string> missing;
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    for (const Operation& operation : model.graphs[at].operations) {
      if (at != model.main && find_row(operation.name) == nullptr) missing.push_back(operation.name);
      if (operation.name != "IF" && operation.name != "WHILE") continue;
      for (const int field : {0, 1}) {
        const auto body = static_cast<std::size_t>(std::max(operation.options.number<std::int32_t>(field), 0));
        if (body < model.graphs.size() && seen.insert(body).second) open.push_back(body);
      }
    }
  }
  return missing;
}

TfliteRows control_rows() {
  static constexpr TfliteRow kRows[] = {
      {"IF", as_plain, "If", "then_branch=graph#0 else_branch=graph#1"},
      {"WHILE", as_plain, "While", "cond=graph#0 body=graph#1"},
  };
  return kRows;
}

}  // namespace whet::tflite
