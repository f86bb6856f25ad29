#include "schedule/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace whet {
namespace {

struct Writer {
  std::string text;
  void add(std::string_view word) { text += (text.empty() ? "" : " ") + std::string(word); }
  void add(LoopId id) { add(fmt::format("l{}", id.value)); }
  void add(OpId id) { add(fmt::format("o{}", id.value)); }
};

std::string_view word(LoopKind kind) {
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
  }
  return "";
}

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
  LoopId loop() { return LoopId(id('l')); }
  OpId op() { return OpId(id('o')); }
  std::vector<LoopId> loops() {
    std::vector<LoopId> ids;
    while (more() && error.empty()) ids.push_back(loop());
    return ids;
  }
  Tail tail() {
    const std::string_view w = take();
    if (w != "overlap" && w != "guard" && error.empty())
      error = fmt::format("has the tail \"{}\"; expected overlap or guard", w);
    return w == "overlap" ? Tail::overlap : Tail::guard;
  }
  Intrinsic intrinsic() {
    const std::string_view w = take();
    const std::optional<Intrinsic> found = parse_intrinsic(w);
    if (!found && error.empty()) {
      error = fmt::format("has \"{}\" where an intrinsic was expected:", w);
      for (Intrinsic known : intrinsics()) error += fmt::format(" {}", name_of(known));
    }
    return found.value_or(Intrinsic::none);
  }
  LoopKind binding() {
    const std::string_view w = take();
    for (LoopKind kind : {LoopKind::block, LoopKind::thread, LoopKind::virtual_thread})
      if (w == word(kind)) return kind;
    if (error.empty()) error = fmt::format("has \"{}\" where block, thread or virtual was expected", w);
    return LoopKind::block;
  }
  bool registers() {
    if (!more()) return false;
    if (const std::string_view w = take(); w != "registers" && error.empty())
      error = fmt::format("has \"{}\" where registers was expected", w);
    return true;
  }
};

Result<Step> read_step(Reader& in) {
  const std::string_view verb = in.take();
  std::optional<Step> step;
  if (verb == "split")
    step = Split{in.loop(), in.number(), in.tail()};
  else if (verb == "fuse")
    step = Fuse{in.loops()};
  else if (verb == "reorder")
    step = Reorder{in.loops()};
  else if (verb == "parallel")
    step = Annotate{in.loop(), LoopKind::parallel};
  else if (verb == "vectorize")
    step = Annotate{in.loop(), LoopKind::vectorized};
  else if (verb == "unroll")
    step = Annotate{in.loop(), LoopKind::unrolled};
  else if (verb == "compute_at")
    step = ComputeAt{in.op(), in.loop(), in.registers()};
  else if (verb == "reverse_compute_at")
    step = ReverseComputeAt{in.op(), in.loop(), in.registers()};
  else if (verb == "compute_root")
    step = ComputeRoot{in.op()};
  else if (verb == "bind")
    step = Bind{in.loop(), in.binding()};
  else if (verb == "inline")
    step = Inline{in.op()};
  else if (verb == "cache_read")
    step = CacheRead{in.op(), in.op()};
  else if (verb == "cache_write")
    step = CacheWrite{in.op(), in.loop()};
  else if (verb == "rfactor")
    step = Rfactor{in.loop()};
  else if (verb == "pack")
    step = Pack{in.op(), in.op()};
  else if (verb == "pad_storage")
    step = PadStorage{in.op(), in.number()};
  else if (verb == "prefetch")
    step = PrefetchRead{in.op(), in.op(), in.loop(), in.number()};
  else if (verb == "pipeline")
    step = Pipeline{in.loop(), in.number()};
  else if (verb == "tensorize")
    step = Tensorize{in.loop(), in.intrinsic()};
  else if (verb == "roll")
    step = Roll{in.op(), in.loop()};
  else if (verb == "merge")
    step = Merge{in.op(), in.number()};
  else if (verb == "winograd")
    step = Winograd{in.op(), in.number()};
  else
    return Error{fmt::format(
        "there is no primitive \"{}\"; expected split, fuse, reorder, parallel, vectorize, unroll, bind, compute_at, "
        "reverse_compute_at, compute_root, inline, cache_read, cache_write, rfactor, pack, pad_storage, prefetch, "
        "pipeline, roll, tensorize, merge or winograd",
        verb)};
  if (in.error.empty() && in.more()) in.error = fmt::format("has \"{}\" too much", in.words[in.next]);
  if (!in.error.empty()) return Error{fmt::format("{} {}", verb, in.error)};
  return *step;
}

std::vector<std::string_view> split_text(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
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
  Writer out;
  const auto add_loops = [&](const std::vector<LoopId>& loops) {
    for (LoopId id : loops) out.add(id);
  };
  std::visit(
      Match{[&](const Split& s) {
              out.add("split"), out.add(s.loop), out.add(fmt::format("{}", s.factor)),
                  out.add(s.tail == Tail::overlap ? "overlap" : "guard");
            },
            [&](const Fuse& s) { out.add("fuse"), add_loops(s.loops); },
            [&](const Reorder& s) { out.add("reorder"), add_loops(s.loops); },
            [&](const Annotate& s) { out.add(word(s.kind)), out.add(s.loop); },
            [&](const ComputeAt& s) {
              out.add("compute_at"), out.add(s.op), out.add(s.loop);
              if (s.registers) out.add("registers");
            },
            [&](const ReverseComputeAt& s) {
              out.add("reverse_compute_at"), out.add(s.op), out.add(s.loop);
              if (s.registers) out.add("registers");
            },
            [&](const ComputeRoot& s) { out.add("compute_root"), out.add(s.op); },
            [&](const Bind& s) { out.add("bind"), out.add(s.loop), out.add(word(s.kind)); },
            [&](const Inline& s) { out.add("inline"), out.add(s.op); },
            [&](const CacheRead& s) { out.add("cache_read"), out.add(s.tensor), out.add(s.reader); },
            [&](const CacheWrite& s) { out.add("cache_write"), out.add(s.op), out.add(s.loop); },
            [&](const Rfactor& s) { out.add("rfactor"), out.add(s.loop); },
            [&](const Pack& s) { out.add("pack"), out.add(s.tensor), out.add(s.reader); },
            [&](const PadStorage& s) { out.add("pad_storage"), out.add(s.op), out.add(fmt::format("{}", s.elements)); },
            [&](const PrefetchRead& s) {
              out.add("prefetch"), out.add(s.tensor), out.add(s.reader), out.add(s.loop);
              out.add(fmt::format("{}", s.ahead));
            },
            [&](const Pipeline& s) { out.add("pipeline"), out.add(s.loop), out.add(fmt::format("{}", s.stages)); },
            [&](const Tensorize& s) { out.add("tensorize"), out.add(s.loop), out.add(name_of(s.intrinsic)); },
            [&](const Roll& s) { out.add("roll"), out.add(s.op), out.add(s.loop); },
            [&](const Merge& s) { out.add("merge"), out.add(s.op), out.add(fmt::format("{}", s.axis)); },
            [&](const Winograd& s) { out.add("winograd"), out.add(s.op), out.add(fmt::format("{}", s.tile)); }},
      step);
  return out.text;
}

std::string to_text(const Steps& steps) {
  std::string text;
  for (const Step& step : steps) text += (text.empty() ? "" : "; ") + to_text(step);
  return text;
}

Result<Steps> parse_steps(std::string_view text) {
  Steps steps;
  for (std::string_view part : split_text(text, ';')) {
    Reader in{split_text(part, ' '), 0, ""};
    if (in.words.empty()) continue;
    WHET_TRY(Step step, read_step(in));
    steps.push_back(std::move(step));
  }
  return steps;
}

bool is_exact(std::string_view text) {
  const Result<Steps> steps = parse_steps(text);
  return steps.ok() && std::none_of(steps->begin(), steps->end(),
                                    [](const Step& step) { return std::holds_alternative<Winograd>(step); });
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

Scheduler::Pair Scheduler::split(LoopId loop, std::int64_t factor, Tail tail) {
  if (!run(Split{loop, factor, tail})) return {};
  const auto last = static_cast<std::int64_t>(tree_.loops.size());
  return {LoopId(last - 2), LoopId(last - 1)};
}

std::vector<LoopId> Scheduler::tile(LoopId loop, const std::vector<std::int64_t>& factors, Tail tail) {
  std::vector<LoopId> loops{loop};
  std::int64_t tile = 1;
  for (std::int64_t factor : factors) tile *= factor;
  for (std::int64_t factor : factors) {
    const Pair pair = split(loops.back(), tile, tail);
    loops.back() = pair.outer;
    loops.push_back(pair.inner);
    tile /= factor;
  }
  return loops;
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

std::vector<LoopId> Scheduler::compute_at(OpId op, LoopId loop, bool registers) {
  return run(ComputeAt{op, loop, registers}) ? own_loops(tree_, op) : std::vector<LoopId>(tree_.place(op).axes.size());
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
void Scheduler::roll(OpId op, LoopId loop) { run(Roll{op, loop}); }
void Scheduler::inline_op(OpId op) { run(Inline{op}); }
OpId Scheduler::cache_read(OpId tensor, OpId reader) { return run(CacheRead{tensor, reader}) ? reader : OpId(); }
void Scheduler::cache_write(OpId op, LoopId loop) { run(CacheWrite{op, loop}); }
void Scheduler::rfactor(LoopId loop) { run(Rfactor{loop}); }
void Scheduler::pack(OpId tensor, OpId reader) { run(Pack{tensor, reader}); }
void Scheduler::pad_storage(OpId op, std::int64_t elements) { run(PadStorage{op, elements}); }

void Scheduler::merge(OpId op, std::int64_t axis) { run(Merge{op, axis}); }

WinogradOps Scheduler::winograd(OpId op, std::int64_t tile) {
  const Result<WinogradDag> changed = whet::winograd(tree_.dag, op, tile);
  return run(Winograd{op, tile}) ? changed->ops : WinogradOps();
}

Result<Steps> Scheduler::finish() const {
  if (refused_) return *refused_;
  return steps_;
}

}  // namespace whet
