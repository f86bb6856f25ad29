#include "workflow/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string_view>

#include "base/counted.h"
#include "base/nearest.h"
#include "base/parallel.h"
#include "formats/input_names.h"
#include "ranges/follow.h"
#include "workflow/options.h"

namespace whet {
namespace {

constexpr std::int64_t kMostOfBuiltIn = 65536;  // as --batch and --image have it

std::optional<std::int64_t> parse_extent(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value >= 1 && value <= kLargestSize ? std::optional(value) : std::nullopt;
}

/// "1..512", "64..960:32"
std::optional<SizeRange> parse_range(const std::string& name, std::string_view text) {
  const std::size_t dots = text.find(".."), colon = text.find(':');
  if (dots == std::string_view::npos || (colon != std::string_view::npos && colon < dots)) return {};
  const auto min = parse_extent(text.substr(0, dots));
  const auto max = parse_extent(text.substr(dots + 2, colon == std::string_view::npos ? colon : colon - dots - 2));
  const auto step =
      colon == std::string_view::npos ? std::optional<std::int64_t>(1) : parse_extent(text.substr(colon + 1));
  if (!min || !max || !step || *min > *max) return {};
  return SizeRange{name, *min, *max - (*max - *min) % *step, *step};
}

/// "{1,2,4}", "1,2,4", "7"
std::optional<std::vector<std::int64_t>> parse_list(std::string_view text) {
  if (text.starts_with('{') != text.ends_with('}') || text == "{}") return {};
  if (text.starts_with('{')) text = text.substr(1, text.size() - 2);
  std::vector<std::int64_t> values;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto value = parse_extent(text.substr(0, comma));
    if (!value) return {};
    values.push_back(*value);
    if (comma == text.size()) return values;
    text.remove_prefix(comma + 1);
  }
}

/// The range of listed values.
void give_range(WantedSize& size) {
  std::sort(size.listed.begin(), size.listed.end());
  size.listed.erase(std::unique(size.listed.begin(), size.listed.end()), size.listed.end());
  size.range = range_of(size.name, size.listed);
}

Error not_a_size(const std::string& entry) {
  return {
      fmt::format("--sizes is \"{}\"; expected a size and its values, like n=1..512, x.2=64..960:32 or x.0={{1,2,4,8}}",
                  entry),
      ErrorKind::wrong_use};
}

std::string dimension_name(const std::pair<std::string, std::size_t>& dimension) {
  return dimension.first + "." + std::to_string(dimension.second);
}

/// A size of the model, and what is asked of it.
struct NamedSize {
  OpenSize open;
  WantedSize wanted;
};

std::vector<std::string> names_of(const std::vector<OpenSize>& open) {
  std::vector<std::string> names;
  for (const OpenSize& size : open) {
    if (!size.symbol.empty()) names.push_back(size.symbol);
    for (const auto& dimension : size.dimensions) names.push_back(dimension_name(dimension));
  }
  return names;
}

std::string names_text(const std::vector<OpenSize>& open) {
  std::string text;
  for (const OpenSize& size : open)
    text += (text.empty() ? "" : ", ") + size.name() +
            (size.symbol.empty() || size.symbol == size.name() ? "" : " " + in_quotes(size.symbol));
  return text.empty() ? "none: all dimensions are fixed" : text;
}

const OpenSize* find(const std::vector<OpenSize>& open, const std::string& name) {
  for (const OpenSize& size : open) {
    if (size.symbol == name) return &size;
    for (const auto& dimension : size.dimensions)
      if (dimension_name(dimension) == name) return &size;
  }
  return nullptr;
}

/// The file's bounds may be narrowed, and not widened.
Status check_bounds(const OpenSize& open, const WantedSize& wanted) {
  const SizeRange& range = wanted.range;
  const bool are_multiples = range.min % open.step == 0 && (range.min == range.max || range.step % open.step == 0);
  if (are_multiples && range.min >= open.least && range.max <= open.most.value_or(range.max)) return ok_status();
  const auto bounds = open.range();
  return Error{fmt::format("--sizes {}={}: the file says that {} is {}", wanted.name, to_text(wanted), open.name(),
                           bounds          ? to_text(*bounds)
                           : are_multiples ? fmt::format("{} or more", open.least)
                                           : fmt::format("a multiple of {}", open.step)),
               ErrorKind::wrong_use};
}

/// The fixed dimension that is called so; of the first one also those of other inputs with the same extent.
std::optional<OpenSize> fixed_size(const std::vector<FileInput>& inputs, const std::string& name) {
  OpenSize size;
  for (const FileInput& input : inputs) {
    for (std::size_t d = 0; input.dimensions && d < input.dimensions->size(); ++d) {
      const auto extent = (*input.dimensions)[d].extent;
      if (extent && name == dimension_name({input.name, d})) size.dimensions = {{input.name, d}}, size.fixed = extent;
    }
  }
  if (!size.fixed) return {};
  const auto named = size.dimensions.front();
  for (const FileInput& input : inputs)
    if (named.second == 0 && input.name != named.first && input.dimensions && !input.dimensions->empty() &&
        input.dimensions->front().extent == size.fixed)
      size.dimensions.emplace_back(input.name, 0);
  return size;
}

/// The inputs whose shapes are given: by --shape, or by a value that decides others.
Result<std::set<std::string>> bound_inputs(const ModelOptions& options, const InputFiles& files) {
  WHET_TRY(const auto shapes, parse_shapes(options.shapes));
  std::set<std::string> bound;
  for (const auto& [name, shape] : shapes) bound.insert(name);
  for (const auto& [name, value] : files.named) bound.insert(name);
  return bound;
}
bool is_bound(const OpenSize& size, const std::set<std::string>& bound) {
  return std::any_of(size.dimensions.begin(), size.dimensions.end(),
                     [&](const auto& dimension) { return bound.contains(dimension.first); });
}

/// Which sizes the family has: those that are asked for, then those that the file bounds.
Result<std::vector<NamedSize>> chosen_sizes(const ModelOptions& options, const InputFiles& files,
                                            const std::vector<WantedSize>& wanted, const std::vector<OpenSize>& open) {
  std::vector<NamedSize> chosen;
  std::set<const OpenSize*> known;
  for (const WantedSize& size : wanted) {
    const OpenSize* found = find(open, size.name);
    if (found == nullptr)
      return Error{fmt::format("--sizes {}={}: the model has no open size \"{}\"; its sizes are {}{}", size.name,
                               to_text(size), size.name, names_text(open), did_you_mean(size.name, names_of(open))),
                   ErrorKind::wrong_use};
    if (!known.insert(found).second)
      return Error{fmt::format("--sizes: {} is given twice, by two of its names", found->name()), ErrorKind::wrong_use};
    WHET_RETURN_IF_ERROR(check_bounds(*found, size));
    chosen.push_back({*found, size});
  }
  WHET_TRY(const std::set<std::string> bound, bound_inputs(options, files));
  for (const NamedSize& size : chosen)
    if (is_bound(size.open, bound))
      return Error{fmt::format("--sizes {} and --shape or --input {} are of one dimension; give one of them",
                               size.wanted.name, size.open.dimensions.front().first),
                   ErrorKind::wrong_use};
  for (const OpenSize& size : open)
    if (const auto range = size.range(); range && !known.contains(&size) && !is_bound(size, bound))
      chosen.push_back({size, {size.name(), *range, {}}});
  return chosen;
}

Error no_sizes(const ModelOptions& options, const std::vector<OpenSize>& open) {
  std::string example;
  for (const OpenSize& size : open) example += " --sizes " + example_of(size);
  return {open.empty() ? fmt::format("{} has no open size: all dimensions of its inputs are fixed", options.name())
                       : fmt::format("no sizes are given; give ranges:{}", example),
          ErrorKind::wrong_use};
}

/// The model's options at values of the sizes: the shapes of all inputs that have one.
class AtSizes {
 public:
  /// `inputs`: without those whose shapes are given.
  AtSizes(const ModelOptions& options, std::vector<FileInput> inputs, std::vector<NamedSize> sizes)
      : options_(options), inputs_(std::move(inputs)), sizes_(std::move(sizes)) {}

  Result<ModelOptions> at(const SizeValues& values) const {
    ModelOptions out = options_;
    out.sizes.clear();
    for (const NamedSize& size : sizes_)
      for (const auto& [input, d] : size.open.dimensions)
        if (size.open.fixed) out.opened[input].insert(d);
    if (out.is_built_in()) {
      for (std::size_t k = 0; k < sizes_.size(); ++k) {
        if (values[k] > kMostOfBuiltIn)
          return Error{fmt::format("--sizes {}={}: a built-in network takes {} at most", sizes_[k].wanted.name,
                                   values[k], kMostOfBuiltIn),
                       ErrorKind::wrong_use};
        (sizes_[k].open.symbol == "batch" ? out.batch : out.image) = static_cast<int>(values[k]);
      }
      return out;
    }
    for (const FileInput& input : inputs_) {
      WHET_TRY(const std::string shape, shape_of(input, values));
      if (!shape.empty()) out.shapes.push_back(input.name + "=" + shape);
    }
    return out;
  }

 private:
  /// "1x24"; nothing where no dimension of the input is one of the sizes.
  Result<std::string> shape_of(const FileInput& input, const SizeValues& values) const {
    std::string text;
    bool sized = false;
    for (std::size_t d = 0; input.dimensions && d < input.dimensions->size(); ++d) {
      const FileDimension& dimension = (*input.dimensions)[d];
      std::optional<std::int64_t> extent = dimension.extent;
      for (std::size_t k = 0; k < sizes_.size(); ++k) {
        const auto& of = sizes_[k].open.dimensions;
        if (std::find(of.begin(), of.end(), std::pair(input.name, d)) == of.end()) continue;
        extent = values[k];
        sized = true;
      }
      if (!extent) extent = dimension.usual;
      if (!extent)
        return Error{fmt::format("{0}.{1} is open too; give it a range or a value: --sizes {0}.{1}={2} or --sizes "
                                 "{0}.{1}={3}",
                                 input.name, d, d == 0 ? "1..32" : "1..512", d == 0 ? 1 : 224),
                     ErrorKind::wrong_use};
      text += (d > 0 ? "x" : "") + std::to_string(*extent);
    }
    return sized ? text : "";
  }

  ModelOptions options_;
  std::vector<FileInput> inputs_;
  std::vector<NamedSize> sizes_;
};

/// The dimensions of a built-in network's inputs that change with its batch, or with its image.
Result<std::vector<std::pair<std::string, std::size_t>>> built_in_dimensions(ModelOptions options, bool is_batch) {
  options.sizes.clear();
  std::vector<Graph> graphs;
  for (const int larger : {0, 1}) {
    (is_batch ? options.batch : options.image) = is_batch ? 1 + larger : 224 + 32 * larger;
    WHET_TRY(Graph graph, load_graph(options));
    graphs.push_back(std::move(graph));
  }
  std::vector<std::pair<std::string, std::size_t>> dimensions;
  for (std::size_t i = 0; i < graphs[0].inputs.size(); ++i) {
    const Value &input = graphs[0].value(graphs[0].inputs[i]), &larger = graphs[1].value(graphs[1].inputs[i]);
    for (std::size_t d = 0; d < input.type.shape.size(); ++d)
      if (input.type.shape[d] != larger.type.shape[d]) dimensions.emplace_back(input.name, d);
  }
  return dimensions;
}

/// Reads a model at sizes in the order in which they will be asked for, several at a time on all processors.
class ReadAhead {
 public:
  ReadAhead(ReadAtSizes read, std::vector<SizeValues> order) : read_(std::move(read)), order_(std::move(order)) {}

  Result<FusedGraph> at(const SizeValues& values) {
    constexpr std::size_t kAtOnce = 8;
    if (next_ < order_.size() && order_[next_] == values) {
      const std::size_t count = std::min(kAtOnce, order_.size() - next_);
      std::vector<std::optional<Result<FusedGraph>>> read(count);
      parallel_for(static_cast<int>(count), 0, [&](int i) {
        const auto place = static_cast<std::size_t>(i);
        read[place] = read_(order_[next_ + place]);
      });
      for (std::size_t i = 0; i < count; ++i) ready_.emplace(order_[next_ + i], std::move(*read[i]));
      next_ += count;
    }
    const auto found = ready_.find(values);
    if (found == ready_.end()) return read_(values);
    Result<FusedGraph> fused = std::move(found->second);
    ready_.erase(found);
    return fused;
  }

 private:
  ReadAtSizes read_;
  std::vector<SizeValues> order_;
  std::size_t next_ = 0;
  std::map<SizeValues, Result<FusedGraph>> ready_;
};

/// A dimension that the file has fixed: all nodes follow two other extents.
Status check_fixed(const NamedSize& size, std::size_t k, const AtSizes& model, SizeValues values,
                   const InputFiles& files) {
  if (!size.open.fixed) return ok_status();
  const std::string where = fmt::format("--sizes {}={}: the file has a fixed {} there", size.wanted.name,
                                        to_text(size.wanted), *size.open.fixed);
  std::vector<Graph> graphs;
  for (const std::int64_t extent : {2, 3}) {
    values[k] = extent;
    WHET_TRY(const ModelOptions at, model.at(values));
    Result<Graph> graph = load_graph(at, files);
    if (!graph.ok())
      return Error{fmt::format("{}, and at {} = {} the model cannot be read: {}", where, size.wanted.name, extent,
                               graph.error().message),
                   graph.error().kind};
    graphs.push_back(std::move(*graph));
  }
  const Status follows = check_follows(size.wanted.name, {graphs[0], 2}, {graphs[1], 3});
  if (follows.ok()) return ok_status();
  return Error{fmt::format("{}, and {}; expected {}={}, or a file that leaves this dimension open", where,
                           follows.error().message, size.wanted.name, *size.open.fixed),
               ErrorKind::invalid_input};
}

/// "n={1,2,4,8,16}": a list that may be given instead of a range.
std::string listed_instead(const WantedSize& size) {
  constexpr std::size_t kMost = 12;
  WantedSize instead{size.name, size.range, {size.range.min}};
  for (std::int64_t power = 1; power < size.range.max; power *= 2)
    if (power > size.range.min && (power - size.range.min) % size.range.step == 0 && instead.listed.size() < kMost)
      instead.listed.push_back(power);
  if (size.range.max > size.range.min) instead.listed.push_back(size.range.max);
  return size.name + "=" + to_text(instead);
}

}  // namespace

std::string to_text(const WantedSize& size) {
  return size.listed.empty() ? to_text(size.range) : fmt::format("{{{}}}", fmt::join(size.listed, ","));
}

Result<std::vector<WantedSize>> parse_sizes(const std::vector<std::string>& entries) {
  std::vector<WantedSize> sizes;
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.rfind('=');
    if (equals == std::string::npos || equals == 0) return not_a_size(entry);
    WantedSize size{entry.substr(0, equals), {}, {}};
    const std::string values = entry.substr(equals + 1);
    if (const auto range = parse_range(size.name, values)) {
      size.range = *range;
    } else if (const auto listed = parse_list(values)) {
      size.listed = *listed;
    } else {
      return not_a_size(entry);
    }
    const auto known =
        std::find_if(sizes.begin(), sizes.end(), [&](const auto& each) { return each.name == size.name; });
    if (known == sizes.end()) {
      sizes.push_back(std::move(size));
    } else if (known->listed.empty() || size.listed.empty()) {
      return Error{
          fmt::format("--sizes: {} is given twice, as {} and as {}", size.name, to_text(*known), to_text(size)),
          ErrorKind::wrong_use};
    } else {
      known->listed.insert(known->listed.end(), size.listed.begin(), size.listed.end());
    }
  }
  for (WantedSize& size : sizes)
    if (!size.listed.empty()) give_range(size);
  return sizes;
}

std::string example_of(const OpenSize& size) {
  if (const auto range = size.range()) return size.name() + "=" + to_text(*range);
  if (size.name() == "image") return "image=64..256:32";
  const bool is_batch = size.dimensions.empty() || size.dimensions.front().second == 0;
  const std::int64_t low = size.step, high = is_batch ? 32 : 512;
  return size.name() + "=" + to_text(SizeRange{"", low, std::max(low, high / low * low), low});
}

std::string OpenSize::name() const { return dimensions.empty() ? symbol : dimension_name(dimensions.front()); }

std::optional<SizeRange> OpenSize::range() const {
  if (!most || *most > kLargestSize) return {};
  const std::int64_t low = (least + step - 1) / step * step, high = *most / step * step;
  return low >= 1 && low <= high ? std::optional(SizeRange{name(), low, high, step}) : std::nullopt;
}

std::vector<OpenSize> open_sizes(const std::vector<FileInput>& inputs) {
  std::vector<OpenSize> sizes;
  std::map<std::string, std::size_t> by_symbol;
  for (const FileInput& input : inputs) {
    for (std::size_t d = 0; input.dimensions && d < input.dimensions->size(); ++d) {
      const FileDimension& dimension = (*input.dimensions)[d];
      if (dimension.extent) continue;
      std::size_t at = sizes.size();
      if (!dimension.symbol.empty()) at = by_symbol.emplace(dimension.symbol, at).first->second;
      if (at == sizes.size()) sizes.push_back({dimension.symbol, {}, 1, {}, dimension.usual, {}});
      OpenSize& size = sizes[at];
      size.dimensions.emplace_back(input.name, d);
      size.least = std::max(size.least, dimension.least);
      size.step = dimension.step;
      if (dimension.most) size.most = std::min(size.most.value_or(*dimension.most), *dimension.most);
    }
  }
  return sizes;
}

Result<std::vector<OpenSize>> open_sizes(const ModelOptions& options) {
  ImportOptions import;
  import.entry = options.entry;
  import.native_types = options.native_types;
  WHET_TRY(const std::vector<FileInput> inputs, model_inputs(options.model, import));
  if (!options.is_built_in()) return open_sizes(inputs);
  std::vector<OpenSize> sizes = {{"batch", {}, 1, {}, 1, {}}};
  if (!inputs.empty() && inputs[0].dimensions && inputs[0].dimensions->size() == 4)
    sizes.push_back({"image", {}, 32, {}, 224, {}});
  return sizes;
}

Result<std::vector<OpenSize>> bounded_sizes(const ModelOptions& options, const InputFiles& files) {
  const bool has_bounds = options.model.ends_with(".pt2") || options.model.ends_with(".dag");  // no other file does
  if (!has_bounds) return std::vector<OpenSize>();
  WHET_TRY(const std::vector<OpenSize> open, open_sizes(options));
  WHET_TRY(std::vector<NamedSize> chosen, chosen_sizes(options, files, {}, open));
  std::vector<OpenSize> sizes;
  for (NamedSize& size : chosen) sizes.push_back(std::move(size.open));
  return sizes;
}

Result<SizedModel> sized_model(const ModelOptions& options, const InputFiles& files) {
  ImportOptions import;
  import.entry = options.entry;
  import.native_types = options.native_types;
  WHET_TRY(std::vector<FileInput> inputs, model_inputs(options.model, import));
  WHET_TRY(std::vector<OpenSize> open, open_sizes(options));
  WHET_TRY(const std::vector<WantedSize> asked, parse_sizes(options.sizes));
  for (const WantedSize& size : asked)
    if (find(open, size.name) == nullptr && !options.is_built_in())
      if (auto fixed = fixed_size(inputs, size.name)) open.push_back(std::move(*fixed));
  WHET_TRY(const std::vector<NamedSize> chosen, chosen_sizes(options, files, asked, open));
  if (chosen.empty()) return no_sizes(options, open);
  WHET_TRY(const std::set<std::string> bound, bound_inputs(options, files));
  std::erase_if(inputs, [&](const FileInput& input) { return bound.contains(input.name); });
  SizedModel sized;
  SizeValues largest;
  for (const NamedSize& size : chosen) {
    sized.sizes.push_back(size.wanted);
    sized.dimensions.push_back(size.open.dimensions);
    largest.push_back(size.wanted.range.max);
    if (!options.is_built_in()) continue;
    WHET_TRY(sized.dimensions.back(), built_in_dimensions(options, size.open.symbol == "batch"));
  }
  const auto model = std::make_shared<const AtSizes>(options, std::move(inputs), chosen);
  for (std::size_t k = 0; k < chosen.size(); ++k)
    WHET_RETURN_IF_ERROR(check_fixed(chosen[k], k, *model, largest, files));
  sized.at = [model](const SizeValues& values) { return model->at(values); };
  return sized;
}

Error with_lists(Error error, const std::vector<WantedSize>& sizes) {
  for (const WantedSize& size : sizes)
    if (size.listed.empty()) error.message += " --sizes '" + listed_instead(size) + "'";
  return error;
}

Status check_ranges(const std::vector<WantedSize>& sizes, const Target& target) {
  if (target.is_cpu() || !has_ranges(sizes)) return ok_status();
  return with_lists({fmt::format("{} has no sized kernels; name the sizes:", target.kind()), ErrorKind::wrong_use},
                    sizes);
}

bool has_ranges(const std::vector<WantedSize>& sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](const WantedSize& size) { return size.listed.empty(); });
}

namespace {

/// So that a model is read in seconds or minutes.
Status check_counts(const std::vector<WantedSize>& sizes) {
  constexpr std::int64_t kMostValues = 65536;
  for (const WantedSize& size : sizes)
    if (const std::int64_t count = (size.range.max - size.range.min) / size.range.step + 1; count > kMostValues)
      return Error{
          fmt::format("--sizes {}={}: these are {} values; {} are read at most: give a step, as in {}={}..{}:{}",
                      size.name, to_text(size), count, kMostValues, size.name, size.range.min, size.range.max,
                      (count + kMostValues - 1) / kMostValues * size.range.step),
          ErrorKind::wrong_use};
  return ok_status();
}

/// The sizes with one value for each that is listed, in all combinations.
std::vector<std::vector<SizeRange>> ranges_of_choices(const std::vector<WantedSize>& sizes) {
  std::vector<std::vector<SizeRange>> choices = {{}};
  for (const WantedSize& size : sizes) {
    std::vector<std::vector<SizeRange>> longer;
    for (const std::vector<SizeRange>& choice : choices) {
      if (size.listed.empty()) longer.push_back(choice), longer.back().push_back(size.range);
      for (const std::int64_t value : size.listed)
        longer.push_back(choice), longer.back().push_back({size.name, value, value, 1});
    }
    choices = std::move(longer);
  }
  return choices;
}

}  // namespace

Result<Family> family_of_ranges(const std::vector<WantedSize>& sizes, const ReadAtSizes& read,
                                const std::function<Status(std::int64_t read, std::int64_t all)>& on_point) {
  WHET_RETURN_IF_ERROR(check_counts(sizes));
  FamilyOptions how;
  how.in_place = InPlaceParts::at_all_sizes;
  how.on_point = on_point;
  Family family;
  for (const WantedSize& size : sizes) family.sizes.push_back(size.range);
  for (const std::vector<SizeRange>& choice : ranges_of_choices(sizes)) {
    ReadAhead ahead(read, sizes_to_read(choice, how));
    WHET_TRY(Family of_choice, find_family(choice, [&](const SizeValues& values) { return ahead.at(values); }, how));
    family.points += of_choice.points, family.checked += of_choice.checked;
    std::move(of_choice.variants.begin(), of_choice.variants.end(), std::back_inserter(family.variants));
  }
  return family;
}

Result<Family> family_of_library(const SizedModel& model, const InputFiles& files, const PassOptions& given,
                                 const std::function<Status(std::int64_t read, std::int64_t all)>& on_point) {
  const PassOptions passes = for_ranges(given);
  const auto read = [&](const SizeValues& values) -> Result<FusedGraph> {
    WHET_TRY(const ModelOptions at, model.at(values));
    return load_fused(at, files, passes);
  };
  return family_of_ranges(model.sizes, read, on_point);
}

Result<Family> load_family(const ModelOptions& options, const PassOptions& given, const FamilyOptions& how) {
  const PassOptions passes = for_ranges(given);
  WHET_TRY(const InputFiles files, read_named_inputs(options));
  WHET_TRY(const SizedModel model, sized_model(options, files));
  const std::vector<WantedSize>& wanted = model.sizes;
  const ReadAtSizes read = [&](const SizeValues& values) -> Result<FusedGraph> {
    WHET_TRY(const ModelOptions at, model.at(values));
    return load_fused(at, files, passes);
  };
  WHET_RETURN_IF_ERROR(check_counts(wanted));
  const bool is_listed =
      std::any_of(wanted.begin(), wanted.end(), [](const auto& size) { return size.listed.size() > 1; });
  if (!is_listed) {
    std::vector<SizeRange> ranges;
    for (const WantedSize& size : wanted) ranges.push_back(size.range);
    ReadAhead ahead(read, sizes_to_read(ranges, how));
    return find_family(ranges, [&](const SizeValues& values) { return ahead.at(values); }, how);
  }
  constexpr std::int64_t kMostListed = 256;
  std::vector<std::string> names;
  std::vector<std::vector<std::int64_t>> values;
  std::int64_t points = 1;
  for (const WantedSize& size : wanted) {
    names.push_back(size.name);
    values.push_back(size.listed);
    if (!size.listed.empty()) points *= std::ssize(size.listed);
    for (std::int64_t value = size.range.min;
         size.listed.empty() && value <= size.range.max && std::ssize(values.back()) <= kMostListed;
         value += size.range.step)
      values.back().push_back(value);
    if (size.listed.empty()) points *= std::ssize(values.back());
    if (points > kMostListed)
      return Error{fmt::format("--sizes: the lists have more than {}; give ranges for some of them",
                               counted(kMostListed, "combination")),
                   ErrorKind::wrong_use};
  }
  return exact_family(names, values, read, how);
}

}  // namespace whet
