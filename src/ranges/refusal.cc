#include "ranges/refusal.h"

#include <algorithm>
#include <optional>

#include "ranges/ranges.h"

namespace whet {
namespace {

/// "n = 5", "b = 2 and n = 5", without sizes that have one value beside ranges.
std::string at_text(const std::vector<SizeRange>& sizes, const SizeValues& at) {
  std::string text;
  const bool some_range = std::any_of(sizes.begin(), sizes.end(), [](const SizeRange& s) { return s.min < s.max; });
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (some_range && sizes[k].min == sizes[k].max) continue;
    text += (text.empty() ? "" : " and ") + sizes[k].name + " = " + std::to_string(at[k]);
  }
  return text;
}

/// "name the sizes: --sizes n={4,5}", of sizes that change among the examples.
std::string listing(const std::vector<SizeRange>& sizes, const std::vector<SizeValues>& examples) {
  std::string text = "name the sizes:";
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    std::set<std::int64_t> values;
    for (const SizeValues& each : examples) values.insert(each[k]);
    std::string list;
    for (const std::int64_t value : values) list += (list.empty() ? "" : ",") + std::to_string(value);
    text += " --sizes " + sizes[k].name + "={" + list + "}";
  }
  return text;
}

/// The step of values that are as far apart from each other; nothing where they are not.
std::optional<std::int64_t> step_of(const std::set<std::int64_t>& values) {
  if (values.size() < 2) return {};
  const std::int64_t step = *std::next(values.begin()) - *values.begin();
  std::int64_t expected = *values.begin();
  for (const std::int64_t value : values) {
    if (value != expected) return {};
    expected += step;
  }
  return step;
}

/// "32nd"
std::string ordinal(std::int64_t number) {
  const std::int64_t tens = number / 10 % 10, ones = number % 10;
  const char* end = tens == 1 ? "th" : ones == 1 ? "st" : ones == 2 ? "nd" : ones == 3 ? "rd" : "th";
  return std::to_string(number) + end;
}

/// The longest run of values without a gap.
SizeRange longest_run(const SizeRange& size, const std::set<std::int64_t>& values) {
  SizeRange best{size.name, 0, -1, size.step}, run = best;
  for (const std::int64_t value : values) {
    if (run.max < run.min || value != run.max + size.step) run.min = value;
    run.max = value;
    if (run.max - run.min > best.max - best.min) best = run;
  }
  return best;
}

/// The first node by name that the second graph has and the first has not.
const Node* first_new(const Graph& less, const Graph& more) {
  std::set<std::string> names;
  for (const Node& node : less.nodes) names.insert(node.name);
  for (const Node& node : more.nodes)
    if (!names.contains(node.name)) return &node;
  return nullptr;
}

}  // namespace

Error unreadable(const std::vector<SizeRange>& sizes, const std::map<SizeValues, Error>& failed,
                 const std::set<SizeValues>& read) {
  const auto sentence = [&](const SizeValues& at) {
    return "--sizes " + to_text(sizes) + ": at " + at_text(sizes, at) +
           " the model cannot be read: " + failed.at(at).message;
  };
  const ErrorKind kind = failed.begin()->second.kind;
  if (read.empty())
    return kind == ErrorKind::wrong_use ? failed.begin()->second : Error{sentence(failed.begin()->first), kind};
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    std::set<std::int64_t> good, all;
    for (const SizeValues& point : read) good.insert(point[k]), all.insert(point[k]);
    for (const auto& [point, error] : failed) all.insert(point[k]);
    if (good.size() == all.size()) continue;
    // The first bad value behind a good one, else the last one before it.
    const auto is_bad = [&](const auto& entry) { return !good.contains(entry.first[k]); };
    auto shown = failed.end();
    for (auto entry = failed.begin(); entry != failed.end(); ++entry) {
      if (!is_bad(*entry)) continue;
      shown = entry;
      if (entry->first[k] > *good.begin()) break;
    }
    const SizeRange run = longest_run(sizes[k], good);
    const auto step = step_of(good);
    if (run.max - run.min == *good.rbegin() - *good.begin())
      return {sentence(shown->first) + "; expected " + to_text(std::vector{run}), kind};
    if (step)
      return {sentence(shown->first) + "; the model can be read at every " + ordinal(*step) + ": --sizes " +
                  to_text(std::vector{SizeRange{sizes[k].name, *good.begin(), *good.rbegin(), *step}}),
              kind};
    return {sentence(shown->first) + "; the longest range at which it can is " + to_text(std::vector{run}), kind};
  }
  return {sentence(failed.begin()->first) + "; " + listing(sizes, {*read.rbegin()}), kind};
}

Error too_many_structures(const std::vector<SizeRange>& sizes, const ReadGraph& a, const ReadGraph& b,
                          std::size_t structures) {
  const bool grows = a.graph.nodes.size() < b.graph.nodes.size();
  const ReadGraph &less = grows ? a : b, &more = grows ? b : a;
  const auto count = [](const ReadGraph& each) { return std::to_string(each.graph.nodes.size()); };
  const Node* node = first_new(less.graph, more.graph);
  std::string text = node != nullptr ? "node \"" + node->name + "\": " : "";
  text += "the model has " + count(more) + " nodes at " + at_text(sizes, more.at) + " and " + count(less) + " at " +
          at_text(sizes, less.at);
  text += less.graph.nodes.size() < more.graph.nodes.size()
              ? ": its steps are unrolled; "
              : "; it is another one at " + std::to_string(structures) + " sizes; ";
  return {text + listing(sizes, {a.at, b.at}), ErrorKind::invalid_input};
}

Error interleaved(const std::vector<SizeRange>& sizes, const SizeBox& box) {
  return {"--sizes " + to_text(sizes) + ": between " + at_text(sizes, box.low) + " and " + at_text(sizes, box.high) +
              " the model is one of several in no order; " + listing(sizes, {box.low, box.high}),
          ErrorKind::invalid_input};
}

Error changed_constant(const std::vector<SizeRange>& sizes, const std::string& name, const SizeValues& at,
                       const SizeValues& largest) {
  return {"constant \"" + name + "\" at " + at_text(sizes, at) + " is no part of the one at " +
              at_text(sizes, largest) + "; " + listing(sizes, {at, largest}),
          ErrorKind::invalid_input};
}

Error no_function_of_sizes(const std::vector<SizeRange>& sizes, const std::string& label,
                           const std::vector<std::pair<SizeValues, std::string>>& values) {
  std::string text = label + " has a number that is no function of the sizes:";
  std::vector<SizeValues> examples;
  for (const auto& [at, value] : values) {
    text += (examples.empty() ? " " : ", ") + value + " at " + at_text(sizes, at);
    examples.push_back(at);
  }
  return {text + "; " + listing(sizes, examples), ErrorKind::invalid_input};
}

Error another_when_read_again(const std::vector<SizeRange>& sizes, const SizeValues& at) {
  return {"--sizes " + to_text(sizes) + ": at " + at_text(sizes, at) +
              " the model is another one when it is read again; expected a model that does not change while it is read",
          ErrorKind::invalid_input};
}

Error no_sized_task(const std::vector<SizeRange>& sizes, const Error& why, const SizeValues& at) {
  return {why.message + "; " + listing(sizes, {at}), ErrorKind::invalid_input};
}

}  // namespace whet
