#include "ranges/sized_tasks.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "compute/affine.h"
#include "ranges/fit.h"

namespace whet {
namespace {

/// Of a task; a network has kMostSizes.
constexpr std::size_t kMostOwn = 3;
/// Numbers that may become sizes of a task are the first ones that differ.
constexpr std::size_t kMostCandidates = 10;
/// Values of a task's size that are looked at one by one: as many as a model's size may have.
constexpr std::int64_t kMostValues = 65536;

std::string plain_text(const Expr& e) {
  std::string text = to_text(e, std::function<std::string(SourceId)>());
  if (text.size() > 2 && text.front() == '(' && text.back() == ')') text = text.substr(1, text.size() - 2);
  return text;
}

bool same_functions(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Expr& x, const Expr& y) { return same(x, y); });
}

/// The values of a function at points.
std::vector<std::int64_t> values_at(const Expr& function, const std::vector<SizeValues>& points) {
  std::vector<std::int64_t> values;
  values.reserve(points.size());
  for (const SizeValues& point : points) values.push_back(value_at(function, point));
  return values;
}

/// A group's kernel at all sizes: its DAG as it was read, and the functions of its numbers, of the network's sizes.
struct Changing {
  const ComputeDag& dag;
  std::vector<Expr> numbers;  ///< of the DAG, in the order of `append`
  std::vector<Expr> within;   ///< of the extents of what it writes a part of
};

/// Functions of fewer sizes: some numbers of the task itself.
struct Own {
  std::vector<Expr> sizes;  ///< of the network's
  std::vector<Expr> numbers, within;
  std::vector<SizeRange> ranges;
  SizeValues at;
};

class OwnSizes {
 public:
  OwnSizes(const Changing& task, const Fitted& fitted, const SizeValues& at) : task_(task), fitted_(fitted), at_(at) {
    for (const Expr& function : task.numbers) add_candidate(function);
    for (const Expr& function : task.within) add_candidate(function);
    for (std::size_t k = 0; k < fitted.sizes.size(); ++k) add_candidate(size_expr(k, fitted.sizes[k].name));
  }

  /// The fewest that give all numbers, the first ones of these.
  std::optional<Own> find() const {
    for (std::size_t count = 1; count <= std::min(kMostOwn, candidates_.size()); ++count) {
      std::vector<std::size_t> chosen(count);
      std::iota(chosen.begin(), chosen.end(), 0);
      do {
        if (auto own = try_sizes(chosen)) return own;
      } while (next(chosen));
    }
    return {};
  }

 private:
  void add_candidate(const Expr& function) {
    const auto known = [&](const Expr& each) { return same(each, function); };
    if (!function.defined() || function->dtype != DType::i64 || candidates_.size() >= kMostCandidates) return;
    if (std::any_of(candidates_.begin(), candidates_.end(), known)) return;
    std::vector<std::int64_t> values = values_at(function, fitted_.points);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    if (*low < 1 || *high > kLargestSize) return;
    candidates_.push_back(function);
    values_.push_back(std::move(values));
  }

  /// The next ascending choice of as many candidates; false after the last.
  bool next(std::vector<std::size_t>& chosen) const {
    for (std::size_t i = chosen.size(); i-- > 0;) {
      if (chosen[i] + (chosen.size() - i) >= candidates_.size()) continue;
      ++chosen[i];
      for (std::size_t j = i + 1; j < chosen.size(); ++j) chosen[j] = chosen[j - 1] + 1;
      return true;
    }
    return false;
  }

  std::optional<Own> try_sizes(const std::vector<std::size_t>& chosen) const {
    Own own;
    std::vector<std::string> names;
    std::vector<SizeValues> points(fitted_.points.size());
    for (const std::size_t c : chosen) {
      own.sizes.push_back(candidates_[c]);
      names.push_back(plain_text(candidates_[c]));
      own.at.push_back(value_at(candidates_[c], at_));
      for (std::size_t i = 0; i < points.size(); ++i) points[i].push_back(values_[c][i]);
    }
    Fitter fitter(names, std::move(points));
    if (!fit(task_.numbers, fitter, own.numbers) || !fit(task_.within, fitter, own.within)) return {};
    for (std::size_t k = 0; k < chosen.size(); ++k) own.ranges.push_back(own_range(names[k], own.sizes[k]));
    const ComputeDag dag = with_functions(task_.dag, own.numbers, own.ranges, own.at);
    return verify(dag).ok() ? std::optional(std::move(own)) : std::nullopt;
  }

  /// The functions of the chosen sizes; false: one is none of them.
  bool fit(const std::vector<Expr>& functions, Fitter& fitter, std::vector<Expr>& own) const {
    own.resize(functions.size());
    for (const bool composed : {false, true}) {
      for (std::size_t i = 0; i < functions.size(); ++i) {
        if (!functions[i].defined() || own[i].defined() || is_float(functions[i]->dtype)) continue;
        const std::vector<std::int64_t> values = values_at(functions[i], fitted_.points);
        own[i] = composed ? fitter.composed(values) : fitter.simple(values);
        if (composed && !own[i].defined()) return false;
      }
    }
    for (std::size_t i = 0; i < functions.size(); ++i) {
      if (!functions[i].defined() || !is_float(functions[i]->dtype)) continue;
      std::vector<double> values;
      for (const SizeValues& point : fitted_.points) values.push_back(float_at(functions[i], point));
      own[i] = fitter.floats(functions[i]->dtype, values);
      if (!own[i].defined()) return false;
    }
    return true;
  }

  /// The range of the values that the function has in the structure's boxes; of two sizes with many values by its bounds there.
  SizeRange own_range(const std::string& name, const Expr& function) const {
    std::vector<std::int64_t> values;
    bool are_all = true;
    for (const SizeBox& box : fitted_.boxes) {
      const std::vector<SizeRange> there = ranges_in(fitted_.sizes, box);
      if (const auto each = all_values(function, there, kMostValues)) {
        values.insert(values.end(), each->begin(), each->end());
        continue;
      }
      are_all = false;
      const Interval ends = bounds(function, size_ranges(there));
      values.push_back(std::max<std::int64_t>(1, ends.min.value_or(1)));
      values.push_back(std::min(kLargestSize, ends.max.value_or(kLargestSize)));
    }
    SizeRange range = range_of(name, values);
    if (!are_all) range.step = 1;
    return range;
  }

  const Changing& task_;
  const Fitted& fitted_;
  const SizeValues& at_;
  std::vector<Expr> candidates_;
  std::vector<std::vector<std::int64_t>> values_;  ///< of the candidates at the points
};

/// Collects groups that compute the same into the same place, at all sizes.
class SizedCollector {
 public:
  SizedCollector(const Reading& reading, const SizeValues& at, const Fitted& fitted)
      : reading_(reading), at_(at), fitted_(fitted) {}

  Status add(std::size_t g) {
    const Group& group = reading_.fused.groups[g];
    const ComputeDag& dag = reading_.dags[g];
    Parts parts;
    append(dag, parts);
    const Changing changing{dag, functions(reading_.dag_at[g], parts.numbers.size()), within_of(group)};
    ComputeDag of_network = with_functions(dag, changing.numbers, fitted_.sizes, at_);
    const Shape within = reading_.in_place.within(group);
    const std::string key = workload_key(dag);
    for (auto [entry, end] = by_key_.equal_range(key); entry != end; ++entry) {
      const std::size_t known = entry->second;
      if (tasks_[known].task.within != within || !same_functions(within_[known], changing.within) ||
          !same_dag(dags_[known], of_network))
        continue;
      ++tasks_[known].task.weight;
      tasks_[known].task.groups.push_back(static_cast<int>(g));
      return ok_status();
    }
    WHET_TRY(SizedTask task, made(changing));
    task.task.key = key;
    task.task.name = name_of(reading_.fused, group) + (within.empty() ? "" : " in " + to_string(within));
    task.task.label = label_of(reading_.fused, group);
    task.task.within = within;
    task.task.weight = 1;
    task.task.groups = {static_cast<int>(g)};
    by_key_.emplace(key, tasks_.size());
    tasks_.push_back(std::move(task));
    dags_.push_back(std::move(of_network));
    within_.push_back(changing.within);
    return ok_status();
  }

  std::vector<SizedTask> take() { return std::move(tasks_); }

 private:
  std::vector<Expr> functions(std::size_t begin, std::size_t count) const {
    const auto first = fitted_.functions.begin() + static_cast<std::ptrdiff_t>(begin);
    return {first, first + static_cast<std::ptrdiff_t>(count)};
  }

  std::vector<Expr> within_of(const Group& group) const {
    const Shape within = reading_.in_place.within(group);
    if (within.empty()) return {};
    return functions(reading_.part_at.at(group.outputs.front()) + 1, within.size());
  }

  Result<SizedTask> made(const Changing& changing) const {
    SizedTask task;
    const auto defined = [](const Expr& e) { return e.defined(); };
    const bool changes = std::any_of(changing.numbers.begin(), changing.numbers.end(), defined) ||
                         std::any_of(changing.within.begin(), changing.within.end(), defined);
    task.task.dag = changing.dag;
    if (!changes) return task;
    std::optional<Own> own = OwnSizes(changing, fitted_, at_).find();
    if (!own) return Error{"its numbers are no functions of three sizes or fewer"};
    task.task.dag = with_functions(changing.dag, own->numbers, own->ranges, own->at);
    task.sizes = std::move(own->sizes);
    if (std::any_of(own->within.begin(), own->within.end(), defined)) task.within = std::move(own->within);
    return task;
  }

  const Reading& reading_;
  const SizeValues& at_;
  const Fitted& fitted_;
  std::vector<SizedTask> tasks_;
  std::vector<ComputeDag> dags_;           ///< of the tasks, of the network's sizes
  std::vector<std::vector<Expr>> within_;  ///< the same
  std::multimap<std::string, std::size_t> by_key_;
};

}  // namespace

Result<std::vector<SizedTask>> sized_tasks(const Reading& reading, const SizeValues& at, const Fitted& fitted) {
  SizedCollector collector(reading, at, fitted);
  for (std::size_t g = 0; g < reading.fused.groups.size(); ++g) {
    if (reading.in_place.done[g]) continue;
    const Status added = collector.add(g);
    if (!added.ok())
      return added.error().at("the kernel that computes \"" +
                              reading.fused.graph.value(reading.fused.groups[g].outputs.front()).name + "\"");
  }
  return collector.take();
}

}  // namespace whet
