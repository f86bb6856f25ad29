#include "ranges/ranges.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "ranges/boxes.h"
#include "ranges/fit.h"
#include "ranges/numbers.h"
#include "ranges/refusal.h"
#include "ranges/sized_tasks.h"

namespace whet {
namespace {

/// A structure of this many sizes or fewer, whose numbers are no functions, becomes variants of one size.
constexpr std::size_t kFew = 16;
/// Larger constants of one shape are compared at some sizes only: reading all of them at each size took most of the time.
constexpr std::int64_t kLarge = 64 << 10;

/// A network at one size, against the first one of its structure.
struct Sample {
  SizeValues at;
  std::vector<std::pair<std::size_t, Number>> changed;
};

/// The networks of one structure.
struct Structure {
  Reading reading;  ///< the first one
  SizeValues at;
  std::vector<Sample> samples;
  /// A constant that is no window of the first one, and where.
  std::optional<std::pair<std::string, SizeValues>> unfit = {};

  std::vector<SizeValues> points() const {
    std::vector<SizeValues> all;
    for (const Sample& sample : samples) all.push_back(sample.at);
    return all;
  }
};

/// The largest sizes of boxes, first by first: no other ones are larger in all sizes, and they are the largest in each where one box
/// has such.
const SizeValues& largest_of(const std::vector<SizeBox>& boxes) {
  return std::max_element(boxes.begin(), boxes.end(),
                          [](const SizeBox& a, const SizeBox& b) { return a.high < b.high; })
      ->high;
}

bool is_in(const std::vector<SizeBox>& boxes, const SizeValues& point) {
  return std::any_of(boxes.begin(), boxes.end(), [&](const SizeBox& box) { return contains(box, point); });
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.data() == b.data() || std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
}

/// Whether the sample with this number is one of those at which large constants are compared: 1, 2, 4, 8, ...
bool compares_all(std::size_t number) { return (number & (number - 1)) == 0; }

/// Reads networks, and sorts them by their structure.
class Structures {
 public:
  Structures(const std::vector<SizeRange>& sizes, const ReadAtSizes& read, const FamilyOptions& options,
             const InPlaceChoice& in_place)
      : sizes_(sizes), read_(read), options_(options), in_place_(in_place) {}

  /// Sizes at which the network cannot be read are remembered, and no error.
  Status read(const SizeValues& point) {
    if (kinds_.contains(point)) return ok_status();
    Result<FusedGraph> fused = read_(point);
    if (!fused.ok() && fused.error().kind == ErrorKind::interrupted) return fused.error();
    if (!fused.ok()) {
      failed_.emplace(point, fused.error());
      return ok_status();
    }
    WHET_TRY(Reading reading, reading_of(std::move(*fused), in_place_));
    const auto [entry, is_new] = ids_.emplace(reading.parts.structure, all_.size());
    kinds_[point] = static_cast<int>(entry->second);
    if (is_new) {
      reading.parts.structure.clear();
      Structure& structure = all_.emplace_back();
      structure.reading = std::move(reading);
      structure.at = point;
      structure.samples.emplace_back().at = point;
      return all_.size() <= options_.most_variants ? ok_status() : Status(unrolled());
    }
    add(all_[entry->second], std::move(reading), point);
    return ok_status();
  }

  const std::map<SizeValues, Error>& failed() const { return failed_; }
  const std::map<SizeValues, int>& kinds() const { return kinds_; }
  std::vector<Structure>& all() { return all_; }

 private:
  void add(Structure& structure, Reading reading, const SizeValues& point) {
    find_windows(structure, reading, point);
    Sample sample{point, {}};
    const std::vector<Number>&first = structure.reading.parts.numbers, &own = reading.parts.numbers;
    for (std::size_t i = 0; i < own.size(); ++i)
      if (!(own[i] == first[i])) sample.changed.emplace_back(i, own[i]);
    structure.samples.push_back(std::move(sample));
  }

  /// Constants are those of the first network, or windows in them.
  void find_windows(Structure& structure, Reading& reading, const SizeValues& point) {
    const bool all = compares_all(structure.samples.size());
    for (std::size_t c = 0; c < reading.constants.size() && !structure.unfit; ++c) {
      const ValueId id = reading.constants[c];
      const Value& first = structure.reading.fused.graph.value(structure.reading.constants[c]);
      const Tensor& own = *reading.fused.graph.value(id).constant;
      if (own.type() == first.constant->type()) {
        if ((all || own.bytes() <= kLarge) && !same_bytes(own, *first.constant)) structure.unfit = {first.name, point};
        continue;
      }
      const auto begin = window_in(own, *first.constant);
      if (!begin) {
        structure.unfit = {first.name, point};
        continue;
      }
      for (std::size_t d = 0; d < begin->size(); ++d)
        reading.parts.numbers[reading.window_at.at(id) + d].integer = (*begin)[d];
    }
  }

  /// The last two structures, at neighbouring sizes, differ in their nodes.
  Error unrolled() const {
    const Structure &a = all_[all_.size() - 2], &b = all_.back();
    return too_many_structures(sizes_, {a.reading.fused.graph, a.at}, {b.reading.fused.graph, b.at}, all_.size());
  }

  const std::vector<SizeRange>& sizes_;
  const ReadAtSizes& read_;
  const FamilyOptions& options_;
  const InPlaceChoice& in_place_;
  std::vector<Structure> all_;
  std::map<std::string, std::size_t> ids_;  ///< by structure
  std::map<SizeValues, int> kinds_;
  std::map<SizeValues, Error> failed_;
};

/// The functions of one structure.
class StructureFit {
 public:
  StructureFit(const std::vector<SizeRange>& sizes, const Structure& structure) : sizes_(sizes), s_(structure) {
    for (const Sample& sample : s_.samples)
      for (const auto& changed : sample.changed) columns_.try_emplace(changed.first);
    for (auto& [i, column] : columns_) column.assign(s_.samples.size(), s_.reading.parts.numbers[i]);
    for (std::size_t p = 0; p < s_.samples.size(); ++p)
      for (const auto& [i, number] : s_.samples[p].changed) columns_[i][p] = number;
  }

  /// One function a number, or the first number that has none.
  Result<std::vector<Expr>> functions() {
    std::vector<std::string> names;
    for (const SizeRange& size : sizes_) names.push_back(size.name);
    Fitter fitter(names, s_.points());
    std::vector<Expr> all(s_.reading.parts.numbers.size());
    for (const auto& [i, column] : columns_)
      if (!column[0].is_float()) all[i] = in_dtype(column, fitter.simple(integers(column)));
    for (const auto& [i, column] : columns_) {
      if (all[i].defined()) continue;
      const Expr function =
          column[0].is_float() ? fitter.floats(column[0].dtype, reals(column)) : fitter.composed(integers(column));
      if (!function.defined()) return no_function(i, column);
      all[i] = in_dtype(column, function);
    }
    return all;
  }

 private:
  static Expr in_dtype(const std::vector<Number>& column, const Expr& function) {
    return function.defined() ? cast(column[0].dtype, function) : function;
  }
  static std::vector<std::int64_t> integers(const std::vector<Number>& column) {
    std::vector<std::int64_t> values;
    for (const Number& number : column) values.push_back(number.integer);
    return values;
  }
  static std::vector<double> reals(const std::vector<Number>& column) {
    std::vector<double> values;
    for (const Number& number : column) values.push_back(number.real);
    return values;
  }

  /// With the first values that differ from their neighbours.
  Error no_function(std::size_t i, const std::vector<Number>& column) const {
    constexpr std::size_t kMost = 4;
    std::set<std::size_t> places;
    for (std::size_t p = column.size() - 1; p-- > 0 && places.size() < kMost;)
      if (!(column[p] == column[p + 1])) places.insert({p, p + 1});
    std::vector<std::pair<SizeValues, std::string>> shown;
    for (auto p = places.rbegin(); p != places.rend(); ++p) {  // samples begin with the largest size
      const Number& number = column[*p];
      shown.emplace_back(s_.samples[*p].at,
                         number.is_float() ? std::to_string(number.real) : std::to_string(number.integer));
    }
    return no_function_of_sizes(sizes_, s_.reading.label(i), shown);
  }

  const std::vector<SizeRange>& sizes_;
  const Structure& s_;
  std::map<std::size_t, std::vector<Number>> columns_;  ///< the values at the samples, of numbers that change
};

/// The functions as they are written, the most frequent first, and how many numbers each gives.
std::vector<std::pair<std::string, int>> forms_of(const std::vector<Expr>& functions) {
  std::map<std::string, int> counts;
  for (const Expr& function : functions)
    if (function.defined()) ++counts[to_text(function, std::function<std::string(SourceId)>())];
  std::vector<std::pair<std::string, int>> forms(counts.begin(), counts.end());
  std::stable_sort(forms.begin(), forms.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return forms;
}

class Finder {
 public:
  Finder(const std::vector<SizeRange>& sizes, const ReadAtSizes& read, const FamilyOptions& options,
         const InPlaceChoice& in_place)
      : sizes_(sizes), read_(read), options_(options), in_place_(in_place) {}

  Result<Family> run() {
    WHET_RETURN_IF_ERROR(verify(sizes_));
    Structures structures(sizes_, read_, options_, in_place_);
    WHET_RETURN_IF_ERROR(read_all(sizes_to_read(sizes_, options_), structures));
    WHET_TRY(const auto boxes, boxes_of(structures));
    Family family{sizes_, {}, count_points(sizes_), static_cast<std::int64_t>(structures.kinds().size())};
    for (std::size_t s = 0; s < structures.all().size(); ++s) {
      if (!boxes.contains(static_cast<int>(s))) continue;
      WHET_RETURN_IF_ERROR(add(structures.all()[s], boxes.at(static_cast<int>(s)), family));
    }
    std::sort(family.variants.begin(), family.variants.end(),
              [](const Variant& a, const Variant& b) { return a.boxes[0].low < b.boxes[0].low; });
    return family;
  }

 private:
  Status read_all(const std::vector<SizeValues>& points, Structures& structures) const {
    std::int64_t done = 0;
    for (const SizeValues& point : points) {
      if (options_.on_point) WHET_RETURN_IF_ERROR(options_.on_point(done++, std::ssize(points)));
      WHET_RETURN_IF_ERROR(structures.read(point));
    }
    return check_read(structures);
  }

  Status check_read(const Structures& structures) const {
    if (structures.failed().empty()) return ok_status();
    std::set<SizeValues> read;
    for (const auto& [point, kind] : structures.kinds()) read.insert(point);
    return unreadable(sizes_, structures.failed(), read);
  }

  /// The boxes of each structure. Cells without a point are read at their ends, and each box at its largest sizes.
  Result<std::map<int, std::vector<SizeBox>>> boxes_of(Structures& structures) const {
    constexpr int kRounds = 8;
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<Cell> cells = cells_of(sizes_, structures.kinds());
      if (cells.empty()) break;
      std::map<int, std::vector<SizeBox>> boxes;
      std::vector<SizeValues> unread;
      for (const Cell& cell : cells) {
        if (cell.mixed) return interleaved(sizes_, cell.box);
        if (cell.kind)
          boxes[*cell.kind].push_back(cell.box);
        else
          unread.insert(unread.end(), {cell.box.low, cell.box.high});
      }
      if (unread.empty()) unread = join(boxes, structures);
      if (unread.empty()) return boxes;
      for (const SizeValues& point : unread) WHET_RETURN_IF_ERROR(structures.read(point));
      WHET_RETURN_IF_ERROR(check_read(structures));
    }
    SizeBox whole;
    for (const SizeRange& size : sizes_) whole.low.push_back(size.min), whole.high.push_back(size.max);
    return interleaved(sizes_, whole);
  }

  /// Joins the boxes of each structure. Gives the largest sizes of those where nothing was read.
  std::vector<SizeValues> join(std::map<int, std::vector<SizeBox>>& boxes, const Structures& structures) const {
    std::vector<SizeValues> unread;
    for (auto& [kind, each] : boxes) {
      each = joined(sizes_, std::move(each));
      for (const SizeBox& box : each)
        if (!structures.kinds().contains(box.high)) unread.push_back(box.high);
    }
    return unread;
  }

  /// As one variant of all its boxes; where its numbers do not allow that, as one of each, or of each size of a small box.
  Status add(const Structure& structure, const std::vector<SizeBox>& boxes, Family& family) const {
    const std::vector<SizeValues> points = structure.points();
    if (structure.at != largest_of(boxes)) return add_again(points, boxes, family);
    Result<Variant> variant = made(structure, boxes);
    if (variant.ok()) {
      family.variants.push_back(std::move(*variant));
      return ok_status();
    }
    if (boxes.size() == 1 && points.size() == 1) return variant.error();
    if (boxes.size() > 1) {
      for (const SizeBox& box : boxes) WHET_RETURN_IF_ERROR(add_again(points, {box}, family));
      return ok_status();
    }
    if (points.size() > kFew || !are_all(boxes, points.size())) return variant.error();
    for (const SizeValues& point : points) WHET_RETURN_IF_ERROR(add_again(points, {SizeBox{point, point}}, family));
    return ok_status();
  }

  /// The points of boxes, read again as a structure of their own: the largest one first, as constants of the others are windows of its.
  Status add_again(const std::vector<SizeValues>& points, const std::vector<SizeBox>& boxes, Family& family) const {
    std::vector<SizeValues> order = {largest_of(boxes)};
    for (const SizeValues& point : points)
      if (is_in(boxes, point) && point != order.front()) order.push_back(point);
    Structures again(sizes_, read_, options_, in_place_);
    WHET_RETURN_IF_ERROR(read_all(order, again));
    if (again.all().size() != 1) return another_when_read_again(sizes_, again.all()[1].at);
    return add(again.all().front(), boxes, family);
  }

  bool are_all(const std::vector<SizeBox>& boxes, std::size_t points) const {
    std::int64_t count = 0;
    for (const SizeBox& box : boxes) count += count_points(ranges_in(sizes_, box));
    return count == static_cast<std::int64_t>(points);
  }

  Result<Variant> made(const Structure& structure, const std::vector<SizeBox>& boxes) const {
    if (structure.unfit) return changed_constant(sizes_, structure.unfit->first, structure.unfit->second, structure.at);
    WHET_TRY(std::vector<Expr> functions, StructureFit(sizes_, structure).functions());
    const Reading& reading = structure.reading;
    Variant variant;
    variant.boxes = boxes;
    variant.at = structure.at;
    variant.numbers = static_cast<std::int64_t>(functions.size());
    variant.forms = forms_of(functions);
    for (const auto& [form, count] : variant.forms) variant.changing += count;
    const auto some = [&](std::size_t begin, std::size_t count) {
      const auto first = functions.begin() + static_cast<std::ptrdiff_t>(begin);
      std::vector<Expr> each(first, first + static_cast<std::ptrdiff_t>(count));
      const bool any = std::any_of(each.begin(), each.end(), [](const Expr& e) { return e.defined(); });
      return any ? each : std::vector<Expr>();
    };
    const auto rank = [&](ValueId id) { return reading.fused.graph.value(id).type.shape.size(); };
    for (const auto& [id, at] : reading.shape_at)
      if (auto each = some(at, rank(id)); !each.empty()) variant.shapes[id] = std::move(each);
    for (const auto& [id, at] : reading.window_at)
      if (variant.shapes.contains(id)) variant.windows[id] = {some(at, rank(id))};
    for (const auto* places : {&reading.offset_at, &reading.part_at})
      for (const auto& [id, at] : *places)
        if (functions[at].defined()) variant.offsets[id] = functions[at];
    auto tasks = sized_tasks(reading, structure.at, {sizes_, structure.points(), boxes, std::move(functions)});
    if (!tasks.ok()) return no_sized_task(sizes_, tasks.error(), structure.at);
    variant.tasks = std::move(*tasks);
    variant.fused = reading.fused;
    return variant;
  }

  const std::vector<SizeRange>& sizes_;
  const ReadAtSizes& read_;
  const FamilyOptions& options_;
  const InPlaceChoice& in_place_;
};

/// Where a value that is written in place lies.
struct Place {
  std::string whole;
  std::int64_t row = 0;  ///< elements of the whole's last axis
  std::uint64_t offset = 0;
  friend bool operator==(const Place&, const Place&) = default;
};
/// A concatenation of contiguous parts.
struct Rows {
  std::uint64_t bytes = 0;            ///< of one along the axis of the concatenation
  std::vector<std::uint64_t> begins;  ///< of the parts [bytes]
};
/// What is written in place at some sizes, by name.
struct Places {
  std::map<std::string, Place> strided;    ///< the parts
  std::map<std::string, Rows> contiguous;  ///< the wholes
};

/// Of the concatenation that a group is.
Rows contiguous_rows(const Graph& graph, const Node& node, const InPlace& found) {
  const TensorType& whole = graph.value(node.output).type;
  Rows rows{static_cast<std::uint64_t>(size_of(whole.dtype)), {}};
  for (auto d = static_cast<std::size_t>(std::get<ConcatOperator>(node.op).axis) + 1; d < whole.shape.size(); ++d)
    rows.bytes *= static_cast<std::uint64_t>(whole.shape[d]);
  for (const ValueId part : node.inputs) rows.begins.push_back(found.parts.at(part).offset);
  return rows;
}

/// Nothing where the network cannot be read there.
std::optional<Places> places_at(const ReadAtSizes& read, const SizeValues& at) {
  const Result<FusedGraph> fused = read(at);
  const Result<InPlace> found = fused.ok() ? parts_in_place(*fused) : Result<InPlace>(fused.error());
  if (!found.ok()) return std::nullopt;
  const Graph& graph = fused->graph;
  Places places;
  for (std::size_t g = 0; g < fused->groups.size(); ++g)
    if (const Node& node = graph.node(fused->groups[g].nodes.front());
        found->done[g] && found->parts.at(node.inputs.front()).shape.empty())
      places.contiguous[graph.value(node.output).name] = contiguous_rows(graph, node, *found);
  for (const auto& [value, part] : found->parts)
    if (!part.shape.empty())
      places.strided[graph.value(value).name] = {graph.value(part.whole).name, part.shape.back(), part.offset};
  return places;
}

/// What is written in place at the largest sizes, and at those one step below in the same way: rows of strided parts are as long and begin
/// at the same places, and contiguous parts begin on cache lines because all rows do, or at the same places.
InPlaceChoice in_place_at_all(const std::vector<SizeRange>& sizes, const ReadAtSizes& read) {
  SizeValues largest, below;
  for (const SizeRange& size : sizes) {
    largest.push_back(size.max);
    below.push_back(std::max(size.min, size.max - size.step));
  }
  InPlaceChoice choice{.strided = true};
  const std::optional<Places> places = places_at(read, largest);
  if (!places || (places->strided.empty() && places->contiguous.empty())) return choice;
  const std::optional<Places> others = largest == below ? places : places_at(read, below);
  if (!others) return choice;
  choice.strided = places->strided == others->strided;
  for (const auto& [whole, rows] : places->contiguous) {
    const auto other = others->contiguous.find(whole);
    if (other == others->contiguous.end()) continue;
    const bool on_lines = rows.bytes % kCacheLine == 0 && other->second.bytes % kCacheLine == 0;
    if (on_lines || rows.begins == other->second.begins) choice.contiguous.insert(whole);
  }
  return choice;
}

/// Rows that are as long at the two sizes looked at, and not at others: 16 + ceil(n/2) of 512 and 511.
bool has_growing_rows(const Family& family) {
  return std::ranges::any_of(family.variants, [](const Variant& variant) {
    return std::ranges::any_of(
        variant.tasks, [](const SizedTask& task) { return !task.within.empty() && task.within.back().defined(); });
  });
}

}  // namespace

Result<Family> find_family(const std::vector<SizeRange>& sizes, const ReadAtSizes& read, const FamilyOptions& options) {
  const bool at_all_sizes = options.in_place == InPlaceParts::at_all_sizes && verify(sizes).ok();
  InPlaceChoice choice{.all = options.in_place == InPlaceParts::all};
  if (at_all_sizes) choice = in_place_at_all(sizes, read);
  Result<Family> family = Finder(sizes, read, options, choice).run();
  const bool ended = !family.ok() && family.error().kind == ErrorKind::interrupted;
  if (at_all_sizes && !family.ok() && !ended && !choice.contiguous.empty()) {
    choice.contiguous
        .clear();  // they begin on cache lines at some sizes alone, and make more structures than there may be
    family = Finder(sizes, read, options, choice).run();
  }
  if (!at_all_sizes || !family.ok() || !has_growing_rows(*family)) return family;
  choice.strided = false;
  return Finder(sizes, read, options, choice).run();
}

std::vector<SizeValues> sizes_to_read(const std::vector<SizeRange>& sizes, const FamilyOptions& options) {
  std::vector<SizeValues> points = points_to_read(sizes, options.most_points, options.seeded, options.seed);
  std::reverse(points.begin(), points.end());
  return points;
}

Result<Family> exact_family(const std::vector<std::string>& names, const std::vector<std::vector<std::int64_t>>& values,
                            const ReadAtSizes& read, const FamilyOptions& options) {
  WHET_CHECK(names.size() == values.size(), "a list a size");
  Family family;
  std::vector<SizeValues> points = {{}};
  for (std::size_t k = 0; k < names.size(); ++k) {
    std::vector<SizeValues> longer;
    for (const SizeValues& point : points)
      for (const std::int64_t value : values[k]) longer.push_back(point), longer.back().push_back(value);
    points = std::move(longer);
    family.sizes.push_back(range_of(names[k], values[k]));
  }
  WHET_RETURN_IF_ERROR(verify(family.sizes));
  family.points = family.checked = static_cast<std::int64_t>(points.size());
  for (const SizeValues& point : points) {
    if (options.on_point)
      WHET_RETURN_IF_ERROR(options.on_point(static_cast<std::int64_t>(family.variants.size()), family.points));
    FamilyOptions alone = options;
    alone.on_point = {};
    WHET_TRY(Family of_one, find_family(ranges_in(family.sizes, {point, point}), read, alone));
    family.variants.push_back(std::move(of_one.variants.front()));
  }
  return family;
}

SizeValues own_sizes(const SizedTask& task, const SizeValues& at) {
  SizeValues own;
  for (const Expr& size : task.sizes) own.push_back(value_at(size, at));
  return own;
}

Task task_at(const SizedTask& task, const SizeValues& at) {
  Task moved = task.task;
  if (at.empty() || task.sizes.empty()) return moved;
  moved.dag = moved_to(task.task.dag, own_sizes(task, at));
  moved.key = workload_key(moved.dag);
  return moved;
}

const Variant* variant_at(const Family& family, const SizeValues& values) {
  if (!check_values(family.sizes, values).ok()) return nullptr;
  for (const Variant& variant : family.variants)
    for (const SizeBox& box : variant.boxes)
      if (contains(box, values)) return &variant;
  return nullptr;
}

std::string to_text(const std::vector<SizeRange>& sizes) {
  std::string text;
  for (const SizeRange& size : sizes) text += (text.empty() ? "" : ", ") + size.name + "=" + to_text(size);
  return text;
}

std::string to_text(const std::vector<SizeRange>& sizes, const SizeValues& values) {
  std::string text;
  for (std::size_t k = 0; k < sizes.size(); ++k)
    text += (k > 0 ? ", " : "") + sizes[k].name + "=" + std::to_string(values[k]);
  return text;
}

}  // namespace whet
