#include "schedule/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace whet {

Step::Step(const Step&) = default;
Step::Step(Step&&) noexcept = default;
Step& Step::operator=(const Step&) = default;
Step& Step::operator=(Step&&) noexcept = default;
Step::~Step() = default;

namespace {

constexpr std::string_view word_in_steps(LoopKind kind) {
  switch (kind) {
    case LoopKind::serial:
      return "serial";
    case LoopKind::parallel:
      return "parallel";
    case LoopKind::vectorized:
      return "vectorize";
    case LoopKind::unrolled:
      return "unroll";
    case LoopKind::block:
      return "block";
    case LoopKind::thread:
      return "thread";
    case LoopKind::virtual_thread:
      return "virtual";
    case LoopKind::warp:
      return "warp";
  }
  return "";
}

struct Writer {
  std::string text;
  void word(std::string_view word) { text += (text.empty() ? "" : " ") + std::string(word); }
  void add(LoopId id) { word(fmt::format("l{}", id.value)); }
  void add(OpId id) { word(fmt::format("o{}", id.value)); }
  void add(std::int64_t number) { word(fmt::format("{}", number)); }
  void add(const std::vector<LoopId>& loops) {
    for (LoopId id : loops) add(id);
  }
  void add(Tail tail) { word(tail == Tail::overlap ? "overlap" : "guard"); }
  void add(LoopKind kind) { word(word_in_steps(kind)); }
  void add(Intrinsic intrinsic) { word(name_of(intrinsic)); }
  void add(bool registers) {
    if (registers) word("registers");
  }
  void add(Precision precision) { word(name_of(precision)); }
  void add(UnfoldOrder order) {
    if (order != UnfoldOrder::spatial_first) word(order == UnfoldOrder::turned ? "turned" : "pairs");
  }
  void add(UnfoldWhat what) {
    if (what == UnfoldWhat::factor) word("factor");
  }
  void add(WinogradTiles tiles) {
    if (tiles == WinogradTiles::bf16) word("bf16");
  }
  void add(StoredIn stored_in) {
    if (stored_in != StoredIn::memory) word(stored_in == StoredIn::block ? "block" : "registers");
  }
};

/// Reads the words of one step; the first thing that is wrong is kept as `error`.
struct Reader {
  std::vector<std::string_view> words;
  std::size_t next = 0;
  std::string error;

  std::string_view take() {
    if (next < words.size()) return words[next++];
    if (error.empty()) error = "ends too early";
    return "";
  }
  bool more() const { return next < words.size(); }
  std::int64_t number(std::string_view digits, std::string_view whole) {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if ((code != std::errc() || end != digits.data() + digits.size() || value < 0 || value > INT32_MAX) &&
        error.empty())
      error = fmt::format("has \"{}\" where a number was expected", whole);
    return value;
  }
  std::int64_t number() {
    const std::string_view w = take();
    return number(w, w);
  }
  std::int64_t id(char letter) {
    const std::string_view w = take();
    if ((w.empty() || w[0] != letter) && error.empty())
      error = fmt::format("has \"{}\" where {}<number> was expected", w, letter);
    return w.empty() ? 0 : number(w.substr(1), w);
  }
  void get(LoopId& loop) { loop = LoopId(id('l')); }
  void get(OpId& op) { op = OpId(id('o')); }
  void get(std::int64_t& value) { value = number(); }
  void get(std::vector<LoopId>& loops) {
    while (more() && error.empty()) get(loops.emplace_back());
  }
  void get(Tail& tail) {
    const std::string_view w = take();
    if (w != "overlap" && w != "guard" && error.empty())
      error = fmt::format("has the tail \"{}\"; expected overlap or guard", w);
    tail = w == "overlap" ? Tail::overlap : Tail::guard;
  }
  void get(Intrinsic& intrinsic) {
    const std::string_view w = take();
    const std::optional<Intrinsic> found = parse_intrinsic(w);
    if (!found && error.empty()) {
      error = fmt::format("has \"{}\" where an intrinsic was expected:", w);
      for (Intrinsic known : intrinsics()) error += fmt::format(" {}", name_of(known));
    }
    intrinsic = found.value_or(Intrinsic::none);
  }
  void get(Precision& precision) {
    const std::string_view w = take();
    const std::optional<Precision> found = parse_precision(w);
    if (!found && error.empty()) error = fmt::format("has \"{}\" where f16 or tf32 was expected", w);
    precision = found.value_or(Precision::f32);
  }
  void get(LoopKind& binding) {
    const std::string_view w = take();
    for (LoopKind kind : {LoopKind::block, LoopKind::thread, LoopKind::virtual_thread, LoopKind::warp}) {
      binding = kind;
      if (w == word_in_steps(kind)) return;
    }
    if (error.empty()) error = fmt::format("has \"{}\" where block, thread, virtual or warp was expected", w);
  }
  void get(bool& registers) {
    registers = more();
    if (!registers) return;
    if (const std::string_view w = take(); w != "registers" && error.empty())
      error = fmt::format("has \"{}\" where registers was expected", w);
  }
  void get(UnfoldOrder& order) {
    order = UnfoldOrder::spatial_first;
    if (!more()) return;
    if (words[next] == "turned") order = UnfoldOrder::turned;
    if (words[next] == "pairs") order = UnfoldOrder::pairs;
    if (order != UnfoldOrder::spatial_first) take();
  }
  void get(UnfoldWhat& what) {
    what = more() ? UnfoldWhat::factor : UnfoldWhat::tensor;
    if (!more()) return;
    if (const std::string_view w = take(); w != "factor" && error.empty())
      error = fmt::format("has \"{}\" where turned or factor was expected", w);
  }
  void get(WinogradTiles& tiles) {
    tiles = more() ? WinogradTiles::bf16 : WinogradTiles::f32;
    if (!more()) return;
    if (const std::string_view w = take(); w != "bf16" && error.empty())
      error = fmt::format("has \"{}\" where bf16 was expected", w);
  }
  void get(StoredIn& stored_in) {
    stored_in = StoredIn::memory;
    if (!more()) return;
    const std::string_view w = take();
    if (w != "registers" && w != "block" && error.empty())
      error = fmt::format("has \"{}\" where registers or block was expected", w);
    stored_in = w == "block" ? StoredIn::block : StoredIn::registers;
  }
};

/// A primitive's text: its word, then its fields.
struct Primitive {
  std::string_view word;
  Step (*read)(Reader&);
  bool (*write)(const Step&, Writer&);  ///< false where the step is of another primitive
};

template <typename P, auto... fields>
constexpr Primitive primitive(std::string_view word) {
  return {word,
          [](Reader& in) -> Step {
            P step = {};
            (in.get(step.*fields), ...);
            return step;
          },
          [](const Step& step, Writer& out) {
            const P* found = std::get_if<P>(&step);
            if (found != nullptr) (out.add(found->*fields), ...);
            return found != nullptr;
          }};
}

/// The kinds of Annotate are primitives of their own in text.
template <LoopKind kind>
constexpr Primitive annotation() {
  return {word_in_steps(kind),
          [](Reader& in) -> Step {
            Annotate step{{}, kind};
            in.get(step.loop);
            return step;
          },
          [](const Step& step, Writer& out) {
            const Annotate* found = std::get_if<Annotate>(&step);
            if (found == nullptr || found->kind != kind) return false;
            out.add(found->loop);
            return true;
          }};
}

constexpr std::array kPrimitives = {
    primitive<Split, &Split::loop, &Split::factor, &Split::tail>("split"),
    primitive<Fuse, &Fuse::loops>("fuse"),
    primitive<Reorder, &Reorder::loops>("reorder"),
    annotation<LoopKind::parallel>(),
    annotation<LoopKind::vectorized>(),
    annotation<LoopKind::unrolled>(),
    primitive<Bind, &Bind::loop, &Bind::kind>("bind"),
    primitive<ComputeAt, &ComputeAt::op, &ComputeAt::loop, &ComputeAt::stored_in>("compute_at"),
    primitive<ReverseComputeAt, &ReverseComputeAt::op, &ReverseComputeAt::loop, &ReverseComputeAt::registers>(
        "reverse_compute_at"),
    primitive<ComputeRoot, &ComputeRoot::op>("compute_root"),
    primitive<Inline, &Inline::op>("inline"),
    primitive<CacheRead, &CacheRead::tensor, &CacheRead::reader>("cache_read"),
    primitive<CacheWrite, &CacheWrite::op, &CacheWrite::loop>("cache_write"),
    primitive<Rfactor, &Rfactor::loop>("rfactor"),
    primitive<Pack, &Pack::tensor, &Pack::reader>("pack"),
    primitive<PadStorage, &PadStorage::op, &PadStorage::elements>("pad_storage"),
    primitive<PrefetchRead, &PrefetchRead::tensor, &PrefetchRead::reader, &PrefetchRead::loop, &PrefetchRead::ahead>(
        "prefetch"),
    primitive<Pipeline, &Pipeline::loop, &Pipeline::stages>("pipeline"),
    primitive<Roll, &Roll::op, &Roll::loop>("roll"),
    primitive<Tensorize, &Tensorize::loop, &Tensorize::intrinsic>("tensorize"),
    primitive<MinBlocks, &MinBlocks::loop, &MinBlocks::blocks>("min_blocks"),
    primitive<Unfold, &Unfold::tensor, &Unfold::reader, &Unfold::order, &Unfold::what>("unfold"),
    primitive<Merge, &Merge::op, &Merge::axis>("merge"),
    primitive<Round, &Round::op, &Round::to>("round"),
    primitive<SplitSum, &SplitSum::op, &SplitSum::axis, &SplitSum::parts>("split_sum"),
    primitive<SplitSoftmax, &SplitSoftmax::op, &SplitSoftmax::terms>("split_softmax"),
    primitive<OnlineSoftmax, &OnlineSoftmax::op, &OnlineSoftmax::terms>("online_softmax"),
    primitive<Online, &Online::op, &Online::loop>("online"),
    primitive<SwizzleStorage, &SwizzleStorage::op, &SwizzleStorage::bytes>("swizzle"),
    primitive<Winograd, &Winograd::op, &Winograd::tile, &Winograd::tiles>("winograd"),
};

/// "split, fuse, ... or winograd"
std::string all_words() {
  std::string text;
  for (std::size_t i = 0; i < kPrimitives.size(); ++i) {
    if (i > 0) text += i + 1 < kPrimitives.size() ? ", " : " or ";
    text += kPrimitives[i].word;
  }
  return text;
}

constexpr std::string_view kSpaces = " \t\r\n";
/// The primitives of which some round.
constexpr std::string_view kRounding[] = {"winograd", "tensorize", "round"};

const Primitive* primitive_of(std::string_view word) {
  const auto found = std::ranges::find(kPrimitives, word, &Primitive::word);
  return found == kPrimitives.end() ? nullptr : &*found;
}

Result<Step> read_step(Reader& in) {
  const std::string_view word = in.take();
  const Primitive* found = primitive_of(word);
  if (found == nullptr) return Error{fmt::format("there is no primitive \"{}\"; expected {}", word, all_words())};
  Step step = found->read(in);
  if (in.error.empty() && in.more()) in.error = fmt::format("has \"{}\" too much", in.words[in.next]);
  if (!in.error.empty()) return Error{fmt::format("{} {}", word, in.error)};
  return step;
}

std::vector<std::string_view> split_text(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace

Status apply(LoopTree& tree, const Step& step) {
  return std::visit([&](const auto& primitive) { return whet::apply(tree, primitive); }, step);
}

Result<LoopTree> replay(const ComputeDag& dag, const Steps& steps) {
  LoopTree tree = make_loop_tree(dag);
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (const Status status = whet::apply(tree, steps[i]); !status.ok())
      return status.error().at(fmt::format("step {} ({})", i + 1, to_text(steps[i])));
  return tree;
}

std::string to_text(const Step& step) {
  for (const Primitive& primitive : kPrimitives) {
    Writer out{std::string(primitive.word)};
    if (primitive.write(step, out)) return out.text;
  }
  return "";
}

std::string to_text(const Steps& steps) {
  std::string text;
  for (const Step& step : steps) text += (text.empty() ? "" : "; ") + to_text(step);
  return text;
}

Result<Steps> parse_steps(std::string_view text) {
  Steps steps;
  for (std::string_view part : split_text(text, ";")) {
    Reader in{split_text(part, kSpaces), 0, ""};
    if (in.words.empty()) continue;
    WHET_TRY(Step step, read_step(in));
    steps.push_back(std::move(step));
  }
  return steps;
}

namespace {

Precision precision_of(const Step& step) {
  if (const auto* tile = std::get_if<Tensorize>(&step)) return precision_of(tile->intrinsic);
  if (const auto* fast = std::get_if<Winograd>(&step))
    return fast->tiles == WinogradTiles::bf16 ? Precision::bf16 : Precision::f32;
  const auto* rounded = std::get_if<Round>(&step);
  return rounded ? rounded->to : Precision::f32;
}

}  // namespace

Numerics numerics_of(const Steps& steps) {
  Numerics numerics;
  for (const Step& step : steps) {
    const Precision precision = precision_of(step);
    numerics.precision = std::max(numerics.precision, precision);
    numerics.exact &= precision == Precision::f32 && !std::holds_alternative<Winograd>(step);
  }
  return numerics;
}

Numerics numerics_of(std::string_view text) {
  // A file has 100,000 of them: what has known steps alone, and none that rounds, is not parsed.
  const auto is_plain = [](std::string_view step) {
    const std::vector<std::string_view> words = split_text(step, kSpaces);
    return words.empty() || (primitive_of(words[0]) != nullptr && std::ranges::count(kRounding, words[0]) == 0);
  };
  if (std::ranges::all_of(split_text(text, ";"), is_plain)) return {};
  const Result<Steps> steps = parse_steps(text);
  return steps.ok() ? numerics_of(*steps) : Numerics{.exact = false};
}

bool Scheduler::run(Step step) {
  if (refused_) return false;
  if (const Status status = whet::apply(tree_, step); !status.ok()) {
    refused_ = status.error().at(fmt::format("step {} ({})", steps_.size() + 1, to_text(step)));
    return false;
  }
  steps_.push_back(std::move(step));
  return true;
}

void Scheduler::apply(const Steps& steps) {
  for (const Step& step : steps) run(step);
}

Scheduler::Pair Scheduler::split(LoopId loop, std::int64_t factor, Tail tail) {
  if (!run(Split{loop, factor, tail})) return {};
  const auto last = static_cast<std::int64_t>(tree_.loops.size());
  return {LoopId(last - 2), LoopId(last - 1)};
}

LoopId Scheduler::fuse(const std::vector<LoopId>& loops) {
  if (loops.size() == 1) return loops.front();
  return run(Fuse{loops}) ? LoopId(static_cast<std::int64_t>(tree_.loops.size()) - 1) : LoopId();
}

void Scheduler::reorder(const std::vector<LoopId>& loops) {
  if (loops.size() > 1) run(Reorder{loops});
}

void Scheduler::annotate(LoopId loop, LoopKind kind) {
  if (kind != LoopKind::serial) run(Annotate{loop, kind});
}

std::vector<LoopId> Scheduler::compute_at(OpId op, LoopId loop, StoredIn stored_in) {
  return run(ComputeAt{op, loop, stored_in}) ? own_loops(tree_, op) : std::vector<LoopId>(tree_.place(op).axes.size());
}

std::vector<LoopId> Scheduler::reverse_compute_at(OpId op, LoopId loop, bool registers) {
  return run(ReverseComputeAt{op, loop, registers}) ? own_loops(tree_, op)
                                                    : std::vector<LoopId>(tree_.place(op).axes.size());
}

std::vector<LoopId> Scheduler::compute_root(OpId op) {
  return run(ComputeRoot{op}) ? own_loops(tree_, op) : std::vector<LoopId>(tree_.place(op).axes.size());
}

void Scheduler::bind(LoopId loop, LoopKind kind) { run(Bind{loop, kind}); }
void Scheduler::prefetch(OpId tensor, OpId reader, LoopId loop, std::int64_t ahead) {
  run(PrefetchRead{tensor, reader, loop, ahead});
}
void Scheduler::pipeline(LoopId loop, std::int64_t stages) { run(Pipeline{loop, stages}); }
void Scheduler::tensorize(LoopId loop, Intrinsic intrinsic) { run(Tensorize{loop, intrinsic}); }
void Scheduler::min_blocks(LoopId loop, std::int64_t blocks) { run(MinBlocks{loop, blocks}); }
void Scheduler::roll(OpId op, LoopId loop) { run(Roll{op, loop}); }
void Scheduler::inline_op(OpId op) { run(Inline{op}); }
OpId Scheduler::unfold(OpId tensor, OpId reader, UnfoldOrder order, UnfoldWhat what) {
  return run(Unfold{tensor, reader, order, what}) ? reader : OpId();
}
OpId Scheduler::cache_read(OpId tensor, OpId reader) { return run(CacheRead{tensor, reader}) ? reader : OpId(); }
void Scheduler::cache_write(OpId op, LoopId loop) { run(CacheWrite{op, loop}); }
void Scheduler::rfactor(LoopId loop) { run(Rfactor{loop}); }
void Scheduler::pack(OpId tensor, OpId reader) { run(Pack{tensor, reader}); }
void Scheduler::pad_storage(OpId op, std::int64_t elements) { run(PadStorage{op, elements}); }
void Scheduler::swizzle(OpId op, std::int64_t bytes) { run(SwizzleStorage{op, bytes}); }

void Scheduler::round(OpId op, Precision to) { run(Round{op, to}); }
void Scheduler::merge(OpId op, std::int64_t axis) { run(Merge{op, axis}); }

OpId Scheduler::split_sum(OpId op, std::int64_t axis, std::int64_t parts) {
  return run(SplitSum{op, axis, parts}) ? op : OpId();
}

SplitSoftmaxOps Scheduler::split_softmax(OpId product, std::int64_t terms) {
  const Result<SplitSoftmaxDag> changed = whet::split_softmax(tree_.dag, product, terms);
  return run(SplitSoftmax{product, terms}) ? changed->ops : SplitSoftmaxOps();
}

OnlineSoftmaxOps Scheduler::online_softmax(OpId product, std::int64_t terms) {
  const Result<OnlineSoftmaxDag> changed = whet::online_softmax(tree_.dag, product, terms);
  return run(OnlineSoftmax{product, terms}) ? changed->ops : OnlineSoftmaxOps();
}

void Scheduler::online(OpId mix, LoopId loop) { run(Online{mix, loop}); }

WinogradOps Scheduler::winograd(OpId op, std::int64_t tile, WinogradTiles tiles) {
  const Result<WinogradDag> changed = whet::winograd(tree_.dag, op, tile, tiles);
  return run(Winograd{op, tile, tiles}) ? changed->ops : WinogradOps();
}

Result<Steps> Scheduler::finish() const {
  if (refused_) return *refused_;
  return steps_;
}

}  // namespace whet
