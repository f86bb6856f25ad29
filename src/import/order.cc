#include "import/order.h"

#include <queue>
#include <unordered_map>

namespace whet {
namespace {

constexpr std::size_t kGiven = static_cast<std::size_t>(-1);  ///< defined by no node: an input or constant

using Producers = std::unordered_map<std::string, std::size_t>;

Result<Producers> find_producers(const FileModel& model) {
  Producers producers;
  for (const FileInput& input : model.inputs) {
    if (!producers.emplace(input.name, kGiven).second) {
      return Error{"the input \"" + input.name + "\" is listed twice"};
    }
  }
  for (const NamedTensor& constant : model.constants) producers.emplace(constant.name, kGiven);
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    for (const std::string& output : model.nodes[i].writes) {
      if (!output.empty() && !producers.emplace(output, i).second) {
        return Error{model.nodes[i].label + ": writes \"" + output + "\", which is defined elsewhere too"};
      }
    }
  }
  return producers;
}

/// Marks what the outputs need.
Result<std::vector<bool>> find_live(const FileModel& model, const Producers& producers) {
  std::vector<bool> live(model.nodes.size(), false);
  std::vector<std::size_t> pending;
  const auto need = [&](const std::string& name) {
    const auto producer = producers.find(name);
    if (producer == producers.end()) return false;
    if (producer->second != kGiven && !live[producer->second]) {
      live[producer->second] = true;
      pending.push_back(producer->second);
    }
    return true;
  };
  for (const std::string& output : model.outputs) {
    if (!need(output)) return Error{"nothing defines the output \"" + output + "\""};
  }
  while (!pending.empty()) {
    const std::size_t index = pending.back();
    pending.pop_back();
    std::string missing;
    for (const std::string& name : model.nodes[index].reads)
      if (!need(name)) missing = name;
    if (!missing.empty()) {
      return Error{model.nodes[index].label + ": reads \"" + missing + "\", which nothing defines"};
    }
  }
  return live;
}

}  // namespace

Result<std::vector<std::size_t>> live_order(const FileModel& model) {
  if (model.outputs.empty()) return Error{"the model has no outputs"};
  WHET_TRY(const Producers producers, find_producers(model));
  WHET_TRY(const std::vector<bool> live, find_live(model, producers));
  std::vector<std::size_t> waits(model.nodes.size(), 0);
  std::vector<std::vector<std::size_t>> readers(model.nodes.size());
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  std::size_t count = 0;
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    if (!live[i]) continue;
    ++count;
    for (const std::string& name : model.nodes[i].reads) {
      const auto producer = producers.find(name);
      if (producer == producers.end() || producer->second == kGiven) continue;
      readers[producer->second].push_back(i);
      ++waits[i];
    }
    if (waits[i] == 0) ready.push(i);
  }
  std::vector<std::size_t> order;
  for (; !ready.empty();) {
    const std::size_t index = ready.top();
    ready.pop();
    order.push_back(index);
    for (std::size_t reader : readers[index]) {
      if (--waits[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() == count) return order;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (live[i] && waits[i] > 0) return Error{model.nodes[i].label + ": is in a cycle of nodes"};
  }
  return order;
}

}  // namespace whet
