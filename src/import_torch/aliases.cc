#include "import_torch/aliases.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace whet::torch {
namespace {

/// How what was written into a view is put back into what it is a view of.
enum class Back : std::uint8_t {
  same,
  shape,
  turned,
  permuted,
  moved,
  slice,
  narrow,
  select,
  unbind,
  split,
  sizes,
  no
};
struct ViewRow {
  std::string_view op;
  Back back;
};
constexpr ViewRow kViews[] = {
    {"alias", Back::same},       {"chunk", Back::no},
    {"detach", Back::same},      {"detach_", Back::same},
    {"diagonal", Back::no},      {"expand", Back::no},
    {"expand_as", Back::no},     {"flatten", Back::shape},
    {"mT", Back::turned},        {"movedim", Back::moved},
    {"narrow", Back::narrow},    {"numpy_T", Back::turned},
    {"permute", Back::permuted}, {"reshape", Back::shape},
    {"select", Back::select},    {"slice", Back::slice},
    {"split", Back::split},      {"split_with_sizes", Back::sizes},
    {"squeeze", Back::shape},    {"swapaxes", Back::turned},
    {"t", Back::turned},         {"transpose", Back::turned},
    {"unbind", Back::unbind},    {"unflatten", Back::shape},
    {"unsqueeze", Back::shape},  {"view", Back::shape},
    {"view_as", Back::shape},    {"as_strided", Back::no},
    {"tensor_split", Back::no},  {"_unsafe_view", Back::shape},
    {"moveaxis", Back::moved},   {"swapdims", Back::turned},
    {"reshape_as", Back::shape}, {"ravel", Back::shape},
    {"unfold", Back::no},        {"unsafe_chunk", Back::no},
    {"unsafe_split", Back::no},  {"unsafe_split_with_sizes", Back::no},
    {"real", Back::no},          {"imag", Back::no},
    {"view_as_real", Back::no},  {"view_as_complex", Back::no},
};
/// These give their input itself, or a copy of it: the file does not say which.
constexpr std::array<std::string_view, 8> kPerhapsViews = {
    "contiguous", "to", "type_as", "float", "dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"};

/// x &= y, x |= y, ...
constexpr std::string_view kOfPython = "aten.__i";

const ViewRow* view_row(const std::string& op) {
  const std::string word = word_of(op);
  const auto* row = std::find_if(std::begin(kViews), std::end(kViews), [&](const ViewRow& r) { return r.op == word; });
  return row == std::end(kViews) || !op.starts_with("aten.") ? nullptr : row;
}

/// A step from a tensor to a view of it.
struct Step {
  std::shared_ptr<const TorchNode> node;
  std::size_t output = 0;
};
/// A name of the program: a view of a base, and the value that holds it since version `version` of the base.
struct View {
  std::string base;
  std::vector<Step> chain;
  std::string current;
  std::size_t version = 0;
};
struct Base {
  std::string current;  ///< the value
  std::size_t version = 0;
  std::string origin;    ///< the base that this one is perhaps a view of
  bool unclear = false;  ///< a write went into what perhaps is a view of it
};

}  // namespace

class Functionalizer {
 public:
  Result<TorchProgram> run(TorchProgram, Written&);
  Status add(const TorchNode&);
  Result<std::string> current(const std::string& name, const std::string& label);
  void define(const std::string& name) {
    taken_.insert(name);
    views_[name] = {name, {}, name, 0};
    bases_[name] = {name, 0, "", false};
  }
  std::vector<TorchNode> take_nodes() { return std::exchange(nodes_, {}); }
  bool is_written(const std::string& input) const {
    const auto found = bases_.find(input);
    return found != bases_.end() && found->second.version > 0;
  }

 private:
  Status add_in_place(const TorchNode&);
  Status resolve(Argument&, const TorchNode&);
  /// The values along a chain from the base's present value on.
  Result<std::vector<std::string>> replay(const View&);
  Result<TorchNode> put_back(const Step&, const std::string& whole, const std::string& part, const std::string& label);
  std::string fresh(const std::string& name) {
    std::string made;
    do {
      made = name + "." + std::to_string(++last_[name]);
    } while (!taken_.insert(made).second);
    return made;
  }
  void mark_unclear(const std::string& base);

  std::unordered_map<std::string, View> views_;
  std::unordered_map<std::string, Base> bases_;
  std::unordered_map<std::string, int> last_;
  std::unordered_set<std::string> taken_;
  std::vector<std::string> perhaps_;  ///< bases that are perhaps views of others
  std::vector<TorchNode> nodes_;
};

namespace {

Argument* first_tensor(TorchNode& node) {
  return !node.arguments.empty() && node.arguments[0].second.name() != nullptr ? &node.arguments[0].second : nullptr;
}

const Argument* find_argument(const TorchNode& node, std::string_view name, std::size_t place) {
  for (const auto& [own, argument] : node.arguments)
    if (own == name) return &argument;
  return place < node.arguments.size() && node.arguments[place].first.empty() ? &node.arguments[place].second : nullptr;
}

std::optional<std::int64_t> literal(const TorchNode& node, std::string_view name, std::size_t place) {
  const Argument* argument = find_argument(node, name, place);
  const auto* number = argument == nullptr ? nullptr : std::get_if<std::int64_t>(&argument->value);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<std::vector<std::int64_t>> literals(const TorchNode& node, std::string_view name, std::size_t place) {
  const Argument* argument = find_argument(node, name, place);
  const auto* list = argument == nullptr ? nullptr : std::get_if<Arguments>(&argument->value);
  if (list == nullptr) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const Argument& each : *list) {
    const auto* number = std::get_if<std::int64_t>(&each.value);
    if (number == nullptr) return std::nullopt;
    values.push_back(*number);
  }
  return values;
}

Argument integer_argument(std::int64_t value) { return Argument{value}; }

}  // namespace

Status Functionalizer::resolve(Argument& argument, const TorchNode& node) {
  if (auto* name = std::get_if<Name>(&argument.value)) {
    WHET_TRY(name->name, current(name->name, node.label));
  }
  if (auto* list = std::get_if<Arguments>(&argument.value))
    for (Argument& each : *list) WHET_RETURN_IF_ERROR(resolve(each, node));
  return ok_status();
}

Result<std::string> Functionalizer::current(const std::string& name, const std::string& label) {
  const auto found = views_.find(name);
  if (found == views_.end()) return name;  // defined by nothing: the order says so
  View& view = found->second;
  const Base& base = bases_[view.base];
  if (base.unclear)
    return Error{label + ": reads \"" + name +
                 "\" after a write into what may be a part of it; in Python: save after " +
                 "program = program.run_decompositions()"};
  if (view.version != base.version) {
    WHET_TRY(const std::vector<std::string> values, replay(view));
    view.current = values.back();
    view.version = base.version;
  }
  return view.current;
}

Result<std::vector<std::string>> Functionalizer::replay(const View& view) {
  std::vector<std::string> values = {bases_[view.base].current};
  for (const Step& step : view.chain) {
    if (nodes_.size() > (1u << 19))
      return Error{step.node->label + ": views of tensors that are written become too many"};
    TorchNode again = *step.node;
    first_tensor(again)->value = Name{values.back()};
    for (std::size_t i = 1; i < again.arguments.size(); ++i)
      WHET_RETURN_IF_ERROR(resolve(again.arguments[i].second, again));
    for (std::string& output : again.outputs) output = output.empty() ? "" : fresh(output);
    values.push_back(again.outputs[step.output]);
    nodes_.push_back(std::move(again));
  }
  return values;
}

Result<TorchNode> Functionalizer::put_back(const Step& step, const std::string& whole, const std::string& part,
                                           const std::string& label) {
  const TorchNode& view = *step.node;
  TorchNode node{"", label, {{"self", Argument{Name{whole}}}, {"src", Argument{Name{part}}}}, {fresh(whole)}};
  const Back back = view_row(view.op)->back;
  const auto dim = literal(view, "dim", 1);
  const auto scatter = [&](std::int64_t start, std::int64_t end) {
    node.op = "aten.slice_scatter.default";
    node.arguments.insert(node.arguments.end(), {{"dim", integer_argument(dim.value_or(0))},
                                                 {"start", integer_argument(start)},
                                                 {"end", integer_argument(end)}});
  };
  const auto copied = [&](const char* name, std::size_t place) {
    if (const Argument* given = find_argument(view, name, place)) node.arguments.emplace_back(name, *given);
  };
  const auto same_step = [&] {
    node.op = view.op;
    node.arguments = view.arguments;
    node.arguments[0].second.value = Name{part};
  };
  switch (back) {
    case Back::same:
    case Back::shape:
      if (view.op.ends_with(".dtype")) break;
      node.op = "aten.view_as.default";
      node.arguments = {{"self", Argument{Name{part}}}, {"other", Argument{Name{whole}}}};
      return node;
    case Back::turned:
      same_step();
      return node;
    case Back::permuted:
      if (const auto dims = literals(view, "dims", 1)) {
        Arguments inverse(dims->size());
        const auto rank = static_cast<std::int64_t>(dims->size());
        bool fits = true;
        for (std::int64_t i = 0; i < rank; ++i) {
          const std::int64_t d = (*dims)[static_cast<std::size_t>(i)];
          fits = fits && d >= -rank && d < rank;
          if (fits) inverse[static_cast<std::size_t>(d < 0 ? d + rank : d)].value = i;
        }
        if (!fits) break;
        same_step();
        node.arguments[1].second.value = std::move(inverse);
        return node;
      }
      break;
    case Back::moved:
      same_step();
      if (node.arguments.size() < 3) break;
      std::swap(node.arguments[1].second, node.arguments[2].second);
      return node;
    case Back::slice:
      node.op = "aten.slice_scatter.default";
      copied("dim", 1);
      copied("start", 2);
      copied("end", 3);
      copied("step", 4);
      return node;
    case Back::narrow: {
      const auto start = literal(view, "start", 2), length = literal(view, "length", 3);
      if (!start || !length || *start < 0) break;
      scatter(*start, *start + *length);
      return node;
    }
    case Back::select:
    case Back::unbind:
      node.op = "aten.select_scatter.default";
      copied("dim", 1);
      if (back == Back::unbind && node.arguments.size() == 2) node.arguments.emplace_back("dim", integer_argument(0));
      if (back == Back::select) copied("index", 2);
      if (back == Back::unbind)
        node.arguments.emplace_back("index", integer_argument(static_cast<std::int64_t>(step.output)));
      return node;
    case Back::split: {
      const auto size = literal(view, "split_size", 1);
      if (!size || *size < 1 || *size > kMaxElements) break;
      const auto at = static_cast<std::int64_t>(step.output);
      node.op = "aten.slice_scatter.default";
      node.arguments.emplace_back("dim", integer_argument(literal(view, "dim", 2).value_or(0)));
      node.arguments.emplace_back("start", integer_argument(at * *size));
      node.arguments.emplace_back("end", integer_argument((at + 1) * *size));
      return node;
    }
    case Back::sizes: {
      const auto sizes = literals(view, "split_sizes", 1);
      if (!sizes || step.output >= sizes->size()) break;
      std::int64_t start = 0;
      for (std::size_t i = 0; i < step.output; ++i) start += (*sizes)[i];
      node.op = "aten.slice_scatter.default";
      node.arguments.emplace_back("dim", integer_argument(literal(view, "dim", 2).value_or(0)));
      node.arguments.emplace_back("start", integer_argument(start));
      node.arguments.emplace_back("end", integer_argument(start + (*sizes)[step.output]));
      return node;
    }
    case Back::no:
      break;
  }
  return Error{label + ": writes into the view that " + view.label + " (" + view.op +
               ") gives, which is not supported; in Python: save after program = program.run_decompositions()"};
}

void Functionalizer::mark_unclear(const std::string& base) {
  for (std::string origin = bases_[base].origin; !origin.empty(); origin = bases_[origin].origin)
    bases_[origin].unclear = true;
  for (const std::string& other : perhaps_) {
    for (std::string origin = bases_[other].origin; !origin.empty(); origin = bases_[origin].origin)
      if (origin == base) bases_[other].unclear = true;
  }
}

Status Functionalizer::add_in_place(const TorchNode& given) {
  TorchNode node = given;
  Argument* target = first_tensor(node);
  if (target == nullptr || node.outputs.size() > 1)
    return Error{node.label + ": " + node.op + " does not write into one tensor"};
  const std::string name = target->name()->name;
  for (auto& [argument_name, argument] : node.arguments) WHET_RETURN_IF_ERROR(resolve(argument, node));
  // "aten.relu_.default" becomes "aten.relu.default", and "aten.__iand__.Tensor" becomes "aten.__and__.Tensor".
  node.op.erase(node.op.starts_with(kOfPython) ? kOfPython.size() - 1 : node.op.find("_."), 1);
  node.arguments[0].first = "";  // "self" here, "input" in some rows: it is the first
  if (node.outputs.empty()) node.outputs.push_back(fresh(name));
  if (node.outputs[0].empty()) node.outputs[0] = fresh(name);
  const std::string result = node.outputs[0];
  const auto found = views_.find(name);
  if (found == views_.end())
    return Error{node.label + ": writes into \"" + name + "\", which nothing before it defines"};
  View view = found->second;
  WHET_TRY(const std::vector<std::string> whole, replay(view));
  if (const std::string word = word_of(node.op); word == "cumsum" || word == "cumprod") {
    // Those of integers are i64; what they are written into keeps its type.
    node.outputs[0] = fresh(name);
    const Argument wide{Name{node.outputs[0]}}, before{Name{whole.back()}};
    nodes_.push_back(node);
    node = {"aten.type_as.default", node.label, {{"self", wide}, {"other", before}}, {result}};
  }
  nodes_.push_back(node);
  std::string part = result;
  for (std::size_t k = view.chain.size(); k-- > 0;) {
    WHET_TRY(TorchNode back, put_back(view.chain[k], whole[k], part, node.label));
    part = back.outputs[0];
    nodes_.push_back(std::move(back));
  }
  Base& base = bases_[view.base];
  base.current = part;
  ++base.version;
  mark_unclear(view.base);
  view.current = result;
  view.version = base.version;
  views_[name] = view;
  views_[result] = view;
  return ok_status();
}

Status Functionalizer::add(const TorchNode& given) {
  taken_.insert(given.outputs.begin(), given.outputs.end());
  if (is_in_place(given.op)) return add_in_place(given);
  TorchNode node = given;
  const Argument* source = node.arguments.empty() ? nullptr : &node.arguments[0].second;
  const std::string from = source != nullptr && source->name() != nullptr ? source->name()->name : "";
  for (auto& [argument_name, argument] : node.arguments) WHET_RETURN_IF_ERROR(resolve(argument, node));
  const auto viewed = views_.find(from);
  const std::string word = word_of(node.op);
  if (view_row(node.op) != nullptr && viewed != views_.end()) {
    const View base = viewed->second;
    const auto kept = std::make_shared<const TorchNode>(given);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      View view = base;
      view.chain.push_back({kept, i});
      if (view.chain.size() > 64) return Error{node.label + ": is a view of more than 64 views"};
      view.current = node.outputs[i];
      views_[node.outputs[i]] = std::move(view);
    }
  } else {
    for (const std::string& output : node.outputs) define(output);
    const bool perhaps = std::find(kPerhapsViews.begin(), kPerhapsViews.end(), word) != kPerhapsViews.end();
    if (perhaps && viewed != views_.end() && node.outputs.size() == 1 && node.outputs[0] != viewed->second.base) {
      bases_[node.outputs[0]].origin = viewed->second.base;
      perhaps_.push_back(node.outputs[0]);
    }
  }
  nodes_.push_back(std::move(node));
  return ok_status();
}

Result<TorchProgram> Functionalizer::run(TorchProgram program, Written& written) {
  for (const Name& input : program.inputs) taken_.insert(input.name);
  for (const TorchNode& node : program.nodes) taken_.insert(node.outputs.begin(), node.outputs.end());
  for (const Name& input : program.inputs) define(input.name);
  std::set<std::string> defined;
  for (const Name& input : program.inputs) defined.insert(input.name);
  for (const TorchNode& node : program.nodes) {
    for (const std::string& output : node.outputs) {
      if (!output.empty() && !defined.insert(output).second)
        return Error{node.label + ": writes \"" + output + "\", which is defined elsewhere too"};
    }
    if (const Status added = add(node); !added.ok()) return at_line(node, added.error());
  }
  for (Name& output : program.outputs) {
    if (output.name.empty()) continue;
    WHET_TRY(output.name, current(output.name, "an output"));
  }
  for (const Name& input : program.inputs) {
    const Base& base = bases_[input.name];
    if (base.version > 0) written[input.name] = base.unclear ? "" : base.current;
  }
  program.nodes = std::move(nodes_);
  return program;
}

bool is_in_place(const std::string& op) {
  if (!op.starts_with("aten.")) return false;
  if (op.starts_with(kOfPython)) return true;
  const std::string word = word_of(op);
  return word.size() > 1 && word.ends_with('_') && !word.ends_with("__") && word != "detach_" && word != "lift_";
}

Result<TorchProgram> without_writes(TorchProgram program, Written& written) {
  const bool writes = std::any_of(program.nodes.begin(), program.nodes.end(),
                                  [](const TorchNode& node) { return is_in_place(node.op); });
  if (!writes) return program;
  return Functionalizer().run(std::move(program), written);
}

WriteRemover::WriteRemover() : functionalizer_(std::make_unique<Functionalizer>()) {}
WriteRemover::~WriteRemover() = default;
void WriteRemover::define(const std::string& name) { functionalizer_->define(name); }
Status WriteRemover::add(const TorchNode& node) { return functionalizer_->add(node); }
Result<std::string> WriteRemover::current(const std::string& name, const std::string& label) {
  return functionalizer_->current(name, label);
}
std::vector<TorchNode> WriteRemover::take_nodes() { return functionalizer_->take_nodes(); }
bool WriteRemover::is_written(const std::string& input) const { return functionalizer_->is_written(input); }

}  // namespace whet::torch
