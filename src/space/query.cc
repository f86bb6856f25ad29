#include "space/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/nearest.h"

namespace whet {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator)
      parts.emplace_back();
    else if (c != ' ')
      parts.back() += c;
  }
  return parts;
}

bool parse_number(const std::string& text, std::int64_t* value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return code == std::errc() && end == text.data() + text.size() && !text.empty();
}

Error not_a_condition(const std::string& part) {
  return {
      fmt::format("\"{}\" is no condition; expected DECISION=NUMBER, DECISION.inner=NUMBER or sketch=NAME, like "
                  "oc.inner=16,order=2",
                  part)};
}

/// The level of a tile of `levels` that a condition is about; nothing where there is no such level.
std::optional<std::size_t> level_of(const Query::Condition& condition, std::size_t levels) {
  if (condition.level.empty() || condition.level == "inner") return levels - 1;
  if (condition.level == "outer") return 0;
  std::int64_t number = 0;
  if (!parse_number(condition.level, &number) || number < 0 || static_cast<std::size_t>(number) >= levels)
    return std::nullopt;
  return static_cast<std::size_t>(number);
}

bool meets(const Query::Condition& condition, const Choice& option) {
  if (condition.values.size() > 1) return option == condition.values;
  const std::optional<std::size_t> level = level_of(condition, option.size());
  return level && option[*level] == condition.values.front();
}

/// What the options of a decision are at the level that is asked for, each once.
std::string options_text(const Query::Condition& condition, const Decision& decision) {
  std::vector<std::string> texts;
  for (const Choice& option : decision.options) {
    const std::optional<std::size_t> level = level_of(condition, option.size());
    const std::string text = condition.values.size() > 1 || !level ? fmt::format("{}", fmt::join(option, "x"))
                                                                   : fmt::format("{}", option[*level]);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  constexpr std::size_t kMost = 24;
  const bool cut = texts.size() > kMost;
  if (cut) texts.resize(kMost);
  return fmt::format("{}{}", fmt::join(texts, ", "), cut ? ", ..." : "");
}

const Decision* find(const Sketch& sketch, const std::string& name) {
  for (const Decision& decision : sketch.decisions)
    if (decision.name == name) return &decision;
  return nullptr;
}

/// The sketch with only those options that meet the conditions; or why there are none.
Result<Sketch> restricted(const Sketch& sketch, const Query& query) {
  Sketch result = sketch;
  for (const Query::Condition& condition : query.conditions) {
    Decision* decision = nullptr;
    for (Decision& other : result.decisions)
      if (other.name == condition.decision) decision = &other;
    if (!decision) return Error{fmt::format("sketch {} has no decision \"{}\"", sketch.name, condition.decision)};
    std::erase_if(decision->options, [&](const Choice& option) { return !meets(condition, option); });
    if (decision->options.empty())
      return Error{fmt::format("{} is not among the options of sketch {}: {}", condition.text, sketch.name,
                               options_text(condition, *find(sketch, condition.decision)))};
    if (std::find(decision->options.begin(), decision->options.end(), result.preferred[decision->name]) ==
        decision->options.end())
      result.preferred[decision->name] = decision->options.front();
  }
  return result;
}

/// Which constraint stands in the way of a point near the sketch's preferred one.
std::string obstacle(const Sketch& sketch) {
  for (const Constraint& constraint : sketch.constraints)
    if (const std::optional<std::string> why = constraint.violated(sketch.preferred))
      return fmt::format("{} (sketch {})", *why, sketch.name);
  return fmt::format("the constraints of sketch {} leave none", sketch.name);
}

/// Every condition names something that some sketch has.
Status check_names(const DesignSpace& space, const Query& query) {
  std::vector<std::string> sketches, decisions;
  for (const Sketch& sketch : space.sketches()) {
    sketches.push_back(sketch.name);
    for (const Decision& decision : sketch.decisions) decisions.push_back(decision.name);
  }
  if (!query.sketch.empty() && std::find(sketches.begin(), sketches.end(), query.sketch) == sketches.end())
    return Error{fmt::format("this space has no sketch \"{}\"; expected one of {}{}", query.sketch,
                             fmt::join(sketches, ", "), did_you_mean(query.sketch, sketches))};
  for (const Query::Condition& condition : query.conditions) {
    if (std::find(decisions.begin(), decisions.end(), condition.decision) == decisions.end())
      return Error{fmt::format("no sketch of this space decides \"{}\"{}", condition.decision,
                               did_you_mean(condition.decision, decisions))};
    bool has_level = false;
    for (const Sketch& sketch : space.sketches())
      if (const Decision* decision = find(sketch, condition.decision))
        has_level = has_level || level_of(condition, decision->options.front().size());
    if (!has_level)
      return Error{fmt::format("{}: there is no level \"{}\"; expected inner, outer or a number from 0, the outermost",
                               condition.text, condition.level)};
  }
  return ok_status();
}

}  // namespace

Result<Query> parse_query(const std::string& text) {
  Query query;
  query.text = text;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size()) return not_a_condition(part);
    const std::string name = part.substr(0, equals), value = part.substr(equals + 1);
    if (name == "sketch") {
      query.sketch = value;
      continue;
    }
    Query::Condition condition{.decision = name, .level = "", .values = {}, .text = part};
    // A decision's own name may have a dot; a level is the last word.
    if (const std::size_t dot = name.rfind('.'); dot != std::string::npos) {
      std::int64_t number = 0;
      const std::string last = name.substr(dot + 1);
      if (last == "inner" || last == "outer" || parse_number(last, &number))
        condition.decision = name.substr(0, dot), condition.level = last;
    }
    for (const std::string& word : split(value, 'x')) {
      std::int64_t number = 0;
      if (!parse_number(word, &number)) return not_a_condition(part);
      condition.values.push_back(number);
    }
    if (condition.decision.empty()) return not_a_condition(part);
    query.conditions.push_back(std::move(condition));
  }
  return query;
}

Result<QueryAnswer> ask(const DesignSpace& space, const Query& query) {
  WHET_RETURN_IF_ERROR(check_names(space, query));
  QueryAnswer answer;
  std::vector<std::string> where, why;
  bool exact = true;
  for (const Sketch& sketch : space.sketches()) {
    if (!query.sketch.empty() && sketch.name != query.sketch) continue;
    const Result<Sketch> part = restricted(sketch, query);
    if (!part.ok()) {
      why.push_back(part.error().message);
      continue;
    }
    // Counted as a space of its own; where that is an estimate, a candidate must be found.
    const DesignSpace found(ComputeDag(), {*part});
    const SpaceSize size = found.size();
    Rng rng(1);
    if (size.legal == 0 || (!size.exact && !found.contains(found.sample(rng)).ok())) {
      why.push_back(obstacle(*part));
      continue;
    }
    answer.inside = true;
    answer.candidates += static_cast<double>(size.legal);
    exact = exact && size.exact;
    where.push_back(fmt::format("{} ({})", sketch.name, count_text(size)));
  }
  answer.sentence =
      answer.inside ? fmt::format("yes: {} candidates have {}: {}",
                                  count_text({answer.candidates, static_cast<std::int64_t>(answer.candidates), exact}),
                                  query.text, fmt::join(where, ", "))
                    : fmt::format("no: {}", fmt::join(why, "; "));
  return answer;
}

std::string count_text(const SpaceSize& size) {
  std::int64_t number = size.legal;
  if (!size.exact && number > 100) {  // two digits are as much as an estimate knows
    const auto digits = static_cast<std::int64_t>(std::pow(10, std::floor(std::log10(number)) - 1));
    number = number / digits * digits;
  }
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ' ');
  return (size.exact ? "" : "about ") + text;
}

}  // namespace whet
