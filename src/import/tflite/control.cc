#include <algorithm>
#include <set>

#include "import/tflite/rows.h"

// Branches and loops vanish while importing.

namespace whet::tflite {
namespace {

constexpr std::int64_t kMostRounds = 4096;

Status give_values(TfliteSite& site, const std::vector<ValueId>& values) {
  if (values.size() < site.output_count())
    return site.error("its body has " + std::to_string(values.size()) + " results; the operator has " +
                      std::to_string(site.output_count()));
  for (std::size_t i = 0; i < site.output_count(); ++i) WHET_RETURN_IF_ERROR(site.pass(values[i], i));
  return ok_status();
}

std::vector<ValueId> operands(const TfliteSite& site, std::size_t first) {
  std::vector<ValueId> values;
  for (std::size_t i = first; i < site.input_count(); ++i)
    if (site.has(i)) values.push_back(site.in(i));
  return values;
}

}  // namespace

/// An unknown condition computes both branches, and chooses.
Status import_if(TfliteSite& site) {
  const int yes = site.options().number<std::int32_t>(0), no = site.options().number<std::int32_t>(1);
  const std::vector<ValueId> inputs = operands(site, 1);
  ValueId condition = site.in(0);
  if (num_elements(site.shape(condition)) != 1)
    return site.error("its condition is " + to_string(site.type(condition)) + "; expected one element");
  if (const Tensor* known = site.constant(condition)) {
    WHET_TRY(const std::vector<ValueId> values, site.inlined(known->get(0) != 0 ? yes : no, inputs));
    return give_values(site, values);
  }
  WHET_TRY(const std::vector<ValueId> a, site.inlined(yes, inputs));
  WHET_TRY(const std::vector<ValueId> b, site.inlined(no, inputs));
  WHET_TRY(condition, site.add("condition", ReshapeOperator{Shape{}}, {condition}));
  if (a.size() != b.size() || a.size() < site.output_count()) return site.error("its branches differ in their results");
  for (std::size_t i = 0; i < site.output_count(); ++i) {
    if (site.type(a[i]) != site.type(b[i]))
      return site.error("its branches give " + to_string(site.type(a[i])) + " and " + to_string(site.type(b[i])));
    WHET_RETURN_IF_ERROR(site.give(site.either(condition, a[i], b[i]), i));
  }
  return ok_status();
}

/// One copy of the body a round, where each round knows whether it is the last.
Status import_while(TfliteSite& site) {
  const int condition = site.options().number<std::int32_t>(0), body = site.options().number<std::int32_t>(1);
  std::vector<ValueId> values = operands(site, 0);
  for (std::int64_t round = 0;; ++round) {
    WHET_TRY(const std::vector<ValueId> conditions, site.inlined(condition, values));
    if (conditions.size() != 1)
      return site.error("its condition has " + std::to_string(conditions.size()) + " results; expected one");
    WHET_TRY(const bool goes_on, site.goes_on(conditions[0]));
    if (!goes_on) break;
    if (round == kMostRounds) return site.error("does not end within " + std::to_string(kMostRounds) + " rounds");
    WHET_TRY(std::vector<ValueId> next, site.inlined(body, values));
    if (next.size() != values.size())
      return site.error("its body has " + std::to_string(next.size()) + " results; expected " +
                        std::to_string(values.size()));
    values = std::move(next);
  }
  return give_values(site, values);
}

Result<std::vector<ValueId>> TfliteSite::inlined(int number, const std::vector<ValueId>& inputs) {
  constexpr int kMostLevels = 64;
  if (graph_.depth == kMostLevels)
    return error("is inside " + std::to_string(kMostLevels) + " bodies; no more are supported");
  if (number < 0 || number >= static_cast<int>(model_.graphs.size()))
    return error("names graph " + std::to_string(number) + " of " + std::to_string(model_.graphs.size()));
  const Subgraph& body = model_.graphs[static_cast<std::size_t>(number)];
  if (body.inputs.size() != inputs.size())
    return error("gives " + std::to_string(inputs.size()) + " values to a body that takes " +
                 std::to_string(body.inputs.size()));
  WHET_RETURN_IF_ERROR(graph_.count_inlined(name_, inputs.size() + body.outputs.size()));
  const auto tensor = [&](int i) -> const TensorInfo& { return body.tensors[static_cast<std::size_t>(i)]; };
  GrowingGraph::ValuesByName around = graph_.exchange_values({});
  ++graph_.depth;
  for (std::size_t i = 0; i < inputs.size(); ++i) graph_.define(tensor(body.inputs[i]).name, inputs[i]);
  Status status = ok_status();
  for (const Operation& operation : body.operations) {
    if (status.ok()) status = graph_.count_inlined(operation.label);
    for (const int read : operation.inputs) {
      if (!status.ok() || read < 0 || graph_.defined(tensor(read).name) || !tensor(read).value) continue;
      graph_.define(tensor(read).name, add_constant(tensor(read).name, *tensor(read).value));
    }
    std::vector<std::string> outputs;
    for (const int output : operation.outputs) outputs.push_back(tensor(output).name);
    if (status.ok()) status = TfliteSite(graph_, model_, body, operation, outputs, true).import();
  }
  std::vector<ValueId> results;
  for (const int output : body.outputs) {
    const TensorInfo& info = tensor(output);
    if (status.ok() && !graph_.defined(info.name) && info.value)
      graph_.define(info.name, add_constant(info.name, *info.value));
    if (status.ok() && !graph_.defined(info.name)) status = error("its body does not define " + info.name);
    if (status.ok()) results.push_back(graph_.find(info.name));
  }
  --graph_.depth;
  graph_.exchange_values(std::move(around));
  if (!status.ok()) return status.error();
  return results;
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
      {"IF", {1, 65536}, import_if},
      {"WHILE", import_while},
  };
  return kRows;
}

}  // namespace whet::tflite
