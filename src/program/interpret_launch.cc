#include "program/interpret_launch.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/rng.h"
#include "program/evaluate_expr.h"
#include "program/launch.h"
#include "target/gpu.h"

namespace whet {
namespace {

constexpr std::int32_t kWritten = 0;                        ///< blocks are counted from 1
constexpr std::int64_t kMostCells = std::int64_t{1} << 28;  ///< of local memory of one block: 2 GiB here

/// Who has accessed an element in an interval (threads) or between two grid barriers (blocks). Two different members tell
/// for every member whether there is another one.
struct Access {
  std::int32_t when = -1;
  std::int32_t first = -1, second = -1;
  std::int32_t first_line = 0, second_line = 0;
  bool differ = false;  ///< they have written different bits

  void add(std::int32_t now, std::int32_t who, std::int32_t line) {
    if (when != now) *this = {now, who, -1, line, 0, false};
    if (first != who) second = who, second_line = line;
  }
  void add(std::int32_t now, std::int32_t who, std::int32_t line, bool changes) {
    const bool again = when == now;
    add(now, who, line);
    differ = differ || (again && changes);
  }
  struct Other {
    std::int32_t who, line;
    explicit operator bool() const { return who >= 0; }
  };
  /// A member other than `who`.
  Other other_than(std::int32_t now, std::int32_t who) const {
    if (when != now) return {-1, 0};
    return first != who ? Other{first, first_line} : Other{second, second_line};
  }
};

/// The shadow of an element that several threads see.
struct Shadow {
  Access writers, readers;                ///< threads, by interval
  Access writing_blocks, reading_blocks;  ///< by phase; of arguments and workspace
  std::int32_t written_in = -1;           ///< the block that wrote block memory; kWritten: workspace
  std::int32_t copier = -1;               ///< the thread whose copy of it is under way
  std::int32_t copy_line = 0;
  std::int32_t copies_of = 0;  ///< how many copies under way read it
};

/// The memory of a buffer. Elements of local memory and registers lie by element, then by thread.
struct LaunchMemory {
  bool by_thread = false;
  bool in_block = false;
  bool tracked = false;  ///< has shadows
  Tensor tensor;         ///< of arguments and workspace
  std::vector<Cell> cells;
  std::vector<std::int32_t> written_in;  ///< the block that wrote the cell; of memory by thread
  std::vector<Shadow> shadows;
};

/// A copy under way.
struct Copy {
  BufferId to, from;
  std::int64_t to_element, from_element;  ///< from_element -1: it writes 0
  Cell value;
  std::int32_t line;
  std::int64_t group;
};

/// What goes on from one launch to the next.
struct Run {
  std::vector<LaunchMemory> memories;
  Rng rng;
  std::int32_t phase = 0, interval = 0, block = 0;  ///< counted over the whole run
};

class LaunchInterpreter : ExprEvaluator {
 public:
  LaunchInterpreter(const Program& program, const LaunchNest& launch, int number_of_launch, Run& run)
      : ExprEvaluator(program, launch.size), launch_(launch), number_(number_of_launch), run_(run) {
    const auto size = static_cast<std::size_t>(launch.size);
    number(program.body);
    order_.resize(size);
    std::iota(order_.begin(), order_.end(), 0);
    thread_index_ = order_;
    copies_.resize(size);
    groups_.resize(size);
    for (std::size_t k = 0; k < program.buffers.size(); ++k) {
      LaunchMemory& m = run.memories[k];
      if (!m.by_thread) continue;
      const auto cells = static_cast<std::size_t>(num_elements(program.buffers[k].extents) * launch.size);
      m.cells.assign(cells, Cell{.i = 0});
      m.written_in.assign(cells, -1);
    }
  }

  /// Runs a block; false after an error.
  bool block(std::int64_t index) {
    block_ = index;
    ++run_.block;
    first_interval_ = ++run_.interval;
    for (std::size_t t = order_.size() - 1; t > 0; --t)
      std::swap(order_[t], order_[static_cast<std::size_t>(run_.rng.below(static_cast<std::int64_t>(t) + 1))]);
    std::fill(groups_.begin(), groups_.end(), 0);
    line_ = 0;
    bind(launch_.blocks->index, index);
    bind(launch_.threads->index, thread_index_.data());
    execute(launch_.body, nullptr);
    for (std::size_t t = 0; t < copies_.size() && !failed(); ++t) {
      if (copies_[t].empty()) continue;
      const Copy& c = copies_[t].front();
      report(static_cast<std::int64_t>(t),
             "ends while its copy to " + element_text(c.to, c.to_element) + " is under way: " + text_of(c.line));
    }
    return !failed();
  }

  const std::string& error() const { return error_; }

 private:
  /// The threads that run a statement; null: all.
  using Threads = const std::uint8_t*;

  // ---- Statements

  void execute(const Stmt& s, Threads on) {
    if (failed() || !s.defined()) return;
    if (!std::holds_alternative<Block>(s->kind)) line_ = lines_.find(&*s)->second;
    std::visit(Match{
                   [&](const Loop& n) { loop(n, on); },
                   [&](const Let& n) {
                     bind(n.var, n.value, {on, nullptr});
                     execute(n.body, on);
                   },
                   [&](const Store& n) { store(n, on); },
                   [&](const If& n) { branch(n, on); },
                   [&](const Block& n) {
                     for (const Stmt& inner : n.body) execute(inner, on);
                   },
                   [&](const Barrier& n) { barrier(n, on); },
                   [&](const CopyGroup& n) { group(n, on); },
                   [&](const Prefetch&) {},
               },
               s->kind);
  }

  void loop(const Loop& n, Threads on) {
    const bool here = n.kind == LoopKind::serial || n.kind == LoopKind::unrolled || n.kind == LoopKind::vectorized;
    if (!here) return fail("the " + std::string(word_of(n.kind)) + " loop '" + n.name + "' stands inside a launch");
    if (is_warp_wide(n.intrinsic) && !is_of_whole_warps(on)) return;
    const Scratch::Frame frame(scratch_);
    auto* min = scratch_.take<std::int64_t>(threads_);
    auto* extent = scratch_.take<std::int64_t>(threads_);
    const bool same_min = integers_of(n.min, on, min), same_extent = integers_of(n.extent, on, extent);
    if (failed() || !n.body.defined()) return;
    if (same_min && same_extent) {
      for (std::int64_t k = 0, i = min[0]; k < extent[0] && !failed(); ++k, ++i) {
        bind(n.index, i);
        execute(n.body, on);
      }
      return;
    }
    auto* active = scratch_.take<std::uint8_t>(threads_);
    for (std::int64_t k = 0; !failed(); ++k) {
      bool any = false;
      for (std::int64_t t = 0; t < threads_; ++t) any |= active[t] = (!on || on[t]) && k < extent[t];
      if (!any) break;
      bind(n.index, min);
      execute(n.body, active);
      for (std::int64_t t = 0; t < threads_; ++t) min[t] += active[t];
    }
  }

  /// The threads of a warp compute a tile together.
  bool is_of_whole_warps(Threads on) {
    for (std::int64_t t = 0; on && t < threads_; ++t) {
      if (on[t] == on[t / kWarp * kWarp]) continue;
      report(t, "is in a warp of which a part alone computes a tile: " + text_of(line_));
      return false;
    }
    return true;
  }

  /// The scalar by thread; whether it is the same for all threads that take part. Then all cells have it.
  bool integers_of(const Expr& e, Threads on, std::int64_t* out) {
    const Scratch::Frame frame(scratch_);
    if (e->lanes != 1) return fail("a bound or condition is a vector"), true;
    const Value value = eval(e, {on, nullptr});
    std::int64_t first = 0;
    bool found = false, same = true;
    for (std::int64_t t = 0; t < threads_; ++t) {
      out[t] = 0;
      if (on && !on[t]) continue;
      out[t] = value.at(t).i;
      if (!found) first = out[t];
      found = true;
      same = same && out[t] == first;
    }
    if (same) std::fill_n(out, threads_, first);
    return same;
  }

  void branch(const If& n, Threads on) {
    const Scratch::Frame frame(scratch_);
    auto* yes = scratch_.take<std::int64_t>(threads_);
    if (integers_of(n.condition, on, yes)) return execute(yes[0] != 0 ? n.then_body : n.else_body, on);
    auto* active = scratch_.take<std::uint8_t>(threads_);
    for (const bool side : {true, false}) {
      for (std::int64_t t = 0; t < threads_; ++t) active[t] = (!on || on[t]) && (yes[t] != 0) == side;
      execute(side ? n.then_body : n.else_body, active);
    }
  }

  void barrier(const Barrier& n, Threads on) {
    if (n.reach == Barrier::Reach::grid) return fail("a grid barrier stands inside a launch");
    if (on) {
      const auto* missing = std::find(on, on + threads_, 0);
      if (missing != on + threads_)
        return report(missing - on, "does not reach a barrier that others reach: " + text_of(line_));
    }
    ++run_.interval;
  }

  void group(const CopyGroup& n, Threads on) {
    for (std::int64_t t = 0; t < threads_; ++t) {
      if (on && !on[t]) continue;
      std::int64_t& groups = groups_[static_cast<std::size_t>(t)];
      if (n.kind == CopyGroup::Kind::commit) {
        ++groups;
      } else {
        land(static_cast<std::int32_t>(t), groups - n.pending);
      }
    }
  }

  /// The thread's copies of groups before `end` are written from here on.
  void land(std::int32_t thread, std::int64_t end) {
    std::vector<Copy>& list = copies_[static_cast<std::size_t>(thread)];
    const auto under_way = std::find_if(list.begin(), list.end(), [&](const Copy& c) { return c.group >= end; });
    for (auto c = list.begin(); c != under_way; ++c) {
      LaunchMemory& m = memory(c->to);
      const auto to = static_cast<std::size_t>(c->to_element);
      m.cells[to] = c->value;
      Shadow& s = m.shadows[to];
      s.copier = -1;
      s.written_in = run_.block;
      s.writers.add(run_.interval, thread, c->line);
      if (c->from_element < 0 || !memory(c->from).tracked) continue;
      Shadow& source = memory(c->from).shadows[static_cast<std::size_t>(c->from_element)];
      --source.copies_of;
      source.readers.add(run_.interval, thread, c->line);
    }
    list.erase(list.begin(), under_way);
  }

  void store(const Store& n, Threads on) {
    const Scratch::Frame frame(scratch_);
    const int lanes = n.value->lanes;
    Wanted active{on, nullptr};
    const bool any = !n.mask.defined() || narrow(n.mask, lanes, active);
    if (failed() || !any) return;
    const Buffer& buffer = program_.buffer(n.buffer);
    if (buffer.scope == Scope::argument && !buffer.written)
      return fail("stores to the argument '" + buffer.name + "', which it does not write");
    if (n.cross != 0 && !crosses(n, active)) return;
    BufferId source;
    const std::int64_t* const sources = n.async ? starts_copy(n, lanes, source) : nullptr;
    if (failed()) return;
    const Value value = eval(n.value, active);
    sources_ = nullptr;
    auto* at = scratch_.take<std::int64_t>(threads_ * lanes);
    if (failed() || !locate("store to", n.buffer, n.index, lanes, active, at)) return;
    LaunchMemory& m = memory(n.buffer);
    for (const std::int64_t t : order_) {
      if (!active.thread(t)) continue;
      for (int k = 0; k < lanes; ++k) {
        const std::int64_t cell = t * lanes + k;
        if (active.cells && !active.cells[cell]) continue;
        const Cell kept = stored(buffer.dtype, value.at(t ^ n.cross, k));
        write(n.buffer, m, static_cast<std::int32_t>(t), at[cell], kept, sources != nullptr);
        if (sources) copy(n.buffer, source, static_cast<std::int32_t>(t), at[cell], sources[cell], kept);
      }
    }
  }

  /// Whether whole warps take part in a store of other threads' values.
  bool crosses(const Store& n, const Wanted& active) {
    if (n.cross < 0 || n.cross >= kWarp || !memory(n.buffer).by_thread || n.async || active.cells) {
      fail("takes the value of another warp's thread, or not into registers, or under a mask of lanes: " +
           text_of(line_));
      return false;
    }
    for (std::int64_t t = 0; t < threads_; ++t) {
      if (active.thread(t) == active.thread(t / kWarp * kWarp)) continue;
      report(t, "is in a warp of which a part alone exchanges values: " + text_of(line_));
      return false;
    }
    return true;
  }

  /// From here on `read` notes by cell which element is copied; -1: none. Null after an error.
  const std::int64_t* starts_copy(const Store& n, int lanes, BufferId& source) {
    const Load* load = copied_load(program_, n.value);
    if (!load || !memory(n.buffer).in_block) {
      fail("an asynchronous store is no copy into block memory: " + text_of(line_));
      return nullptr;
    }
    source = BufferId(load->source.value);
    sources_ = scratch_.take<std::int64_t>(threads_ * lanes);
    std::fill_n(sources_, threads_ * lanes, -1);
    return sources_;
  }

  void write(BufferId id, LaunchMemory& m, std::int32_t thread, std::int64_t element, Cell value, bool async) {
    if (m.by_thread) {
      const auto place = static_cast<std::size_t>(element * threads_ + thread);
      m.cells[place] = value;
      m.written_in[place] = run_.block;
      return;
    }
    Shadow& s = m.shadows[static_cast<std::size_t>(element)];
    check_store(id, s, element, thread);
    add_writer(id, m, s, element, thread, value);
    if (async) return;
    s.written_in = m.in_block ? run_.block : kWritten;
    put(m, element, value);
  }

  /// Begins to copy an element: it lands now or when the thread waits, and until then may hold anything.
  void copy(BufferId to, BufferId from, std::int32_t thread, std::int64_t element, std::int64_t source, Cell value) {
    LaunchMemory& m = memory(to);
    Shadow& s = m.shadows[static_cast<std::size_t>(element)];
    s.copier = thread;
    s.copy_line = line_;
    put(m, element, run_.rng.chance(0.5) ? value : poison(program_.buffer(to).dtype));
    const auto t = static_cast<std::size_t>(thread);
    copies_[t].push_back({to, from, element, source, value, line_, groups_[t]});
    if (source >= 0 && memory(from).tracked) ++memory(from).shadows[static_cast<std::size_t>(source)].copies_of;
  }

  // ---- Memory

  LaunchMemory& memory(BufferId id) { return run_.memories[id.index()]; }

  static Cell get(const LaunchMemory& m, std::int64_t element) {
    if (m.in_block) return m.cells[static_cast<std::size_t>(element)];
    if (is_float(m.tensor.dtype())) return {.f = m.tensor.get(element)};
    return {.i = m.tensor.integer(element)};
  }
  static void put(LaunchMemory& m, std::int64_t element, Cell value) {
    if (m.in_block) {
      m.cells[static_cast<std::size_t>(element)] = value;
    } else if (is_float(m.tensor.dtype())) {
      m.tensor.set(element, value.f);
    } else {
      m.tensor.set_integer(element, value.i);
    }
  }

  void check_store(BufferId id, const Shadow& s, std::int64_t element, std::int32_t thread) {
    if (failed()) return;
    const auto conflict = [&](const std::string& why, std::int32_t line) {
      this->conflict("writes", id, element, thread, why, line);
    };
    if (s.copier >= 0) return conflict(copy_of(s), s.copy_line);
    if (s.copies_of > 0) return conflict(" while a copy of it is under way", 0);
    if (const auto other = s.readers.other_than(run_.interval, thread))
      return conflict(", which thread " + std::to_string(other.who) + " has read in the same interval", other.line);
    if (const auto other = s.reading_blocks.other_than(run_.phase, run_.block))
      return conflict(", which another block has read", other.line);
  }

  /// Threads and blocks that store to one element must store the same bits, each always.
  void add_writer(BufferId id, const LaunchMemory& m, Shadow& s, std::int64_t element, std::int32_t thread,
                  Cell value) {
    const bool changes = get(m, element).i != value.i;
    s.writers.add(run_.interval, thread, line_, changes);
    if (!m.in_block) s.writing_blocks.add(run_.phase, run_.block, line_, changes);
    if (failed()) return;
    const auto thread_beside = s.writers.other_than(run_.interval, thread);
    const auto block_beside = s.writing_blocks.other_than(run_.phase, run_.block);
    if (thread_beside && s.writers.differ)
      return conflict(
          "writes", id, element, thread,
          ", to which thread " + std::to_string(thread_beside.who) + " has written another value in the same interval",
          thread_beside.line);
    if (block_beside && s.writing_blocks.differ)
      conflict("writes", id, element, thread, ", to which another block has written another value", block_beside.line);
  }

  void check_read(BufferId id, const Shadow& s, std::int64_t element, std::int32_t thread) {
    if (s.copier >= 0) return conflict("reads", id, element, thread, copy_of(s), s.copy_line);
    if (const auto other = s.writers.other_than(run_.interval, thread))
      return conflict("reads", id, element, thread,
                      ", which thread " + std::to_string(other.who) + " has written in the same interval", other.line);
    if (const auto other = s.writing_blocks.other_than(run_.phase, run_.block))
      conflict("reads", id, element, thread, ", which another block has written", other.line);
  }

  void read(BufferId id, const std::int64_t* at, int lanes, const Wanted& wanted, Cell* out) override {
    LaunchMemory& m = memory(id);
    if (sources_) wanted.each(threads_, lanes, [&](std::int64_t, int, std::int64_t c) { sources_[c] = at[c]; });
    if (m.by_thread) {
      wanted.each(threads_, lanes, [&](std::int64_t t, int, std::int64_t c) {
        const auto place = static_cast<std::size_t>(at[c] * threads_ + t);
        out[c] = m.written_in[place] == run_.block ? m.cells[place] : unwritten(id, at[c], t);
      });
      return;
    }
    wanted.each(threads_, lanes, [&](std::int64_t t, int, std::int64_t c) {
      if (m.tracked) {
        const auto thread = static_cast<std::int32_t>(t);
        Shadow& s = m.shadows[static_cast<std::size_t>(at[c])];
        check_read(id, s, at[c], thread);
        s.readers.add(run_.interval, thread, line_);
        if (!m.in_block) s.reading_blocks.add(run_.phase, run_.block, line_);
        const bool written =
            program_.buffer(id).scope == Scope::argument || s.written_in == (m.in_block ? run_.block : kWritten);
        out[c] = written ? get(m, at[c]) : unwritten(id, at[c], t);
      } else {
        out[c] = get(m, at[c]);
      }
    });
  }

  Cell unwritten(BufferId id, std::int64_t element, std::int64_t thread) {
    const Buffer& b = program_.buffer(id);
    if (b.gaps) return poison(b.dtype);
    if (b.padding > 0 && element % b.extents.back() >= b.extents.back() - b.padding) return poison(b.dtype);
    if (!failed())
      report(thread, "reads " + element_text(id, element) + ", which nothing has written: " + text_of(line_));
    return {.i = 0};
  }

  // ---- Messages

  std::string place_of(std::int64_t thread) const override {
    return "launch " + std::to_string(number_) + ", block " + std::to_string(block_) + ", interval " +
           std::to_string(run_.interval - first_interval_) + ": thread " + std::to_string(thread);
  }

  void report(std::int64_t thread, const std::string& does) {
    if (!failed()) error_ = place_of(thread) + " " + does;
  }

  void conflict(const char* does, BufferId id, std::int64_t element, std::int32_t thread, const std::string& why,
                std::int32_t line) {
    if (failed()) return;
    const std::string other = line > 0 ? " after " + text_of(line) : "";
    report(thread, std::string(does) + " " + element_text(id, element) + why + ": " + text_of(line_) + other);
  }

  static std::string copy_of(const Shadow& s) {
    return " while thread " + std::to_string(s.copier) + "'s copy to it is under way";
  }

  /// "u[1, 5, 2]"
  std::string element_text(BufferId id, std::int64_t element) const {
    const Buffer& b = program_.buffer(id);
    const std::vector<std::int64_t> strides = row_major_strides(b.extents);
    std::string text = b.name + "[";
    for (std::size_t d = 0; d < strides.size(); ++d)
      text += (d > 0 ? ", " : "") + std::to_string(element / strides[d] % b.extents[d]);
    return text + "]";
  }

  /// Numbers the statements as the text of the program's body has them.
  void number(const Stmt& s) {
    if (!s.defined()) return;
    if (const auto* n = std::get_if<Block>(&s->kind)) {
      for (const Stmt& inner : n->body) number(inner);
      return;
    }
    statements_.push_back(s);
    lines_.emplace(&*s, static_cast<std::int32_t>(statements_.size()));
    if (const auto* n = std::get_if<Loop>(&s->kind)) number(n->body);
    if (const auto* n = std::get_if<Let>(&s->kind)) number(n->body);
    if (const auto* n = std::get_if<If>(&s->kind)) {
      number(n->then_body);
      if (n->else_body.defined()) statements_.emplace_back();
      number(n->else_body);
    }
  }

  /// "line 12 `u[0, t] = x[t]`"
  std::string text_of(std::int32_t line) const {
    if (line == 0) return "the launch";
    const std::string text = to_text(program_, statements_[static_cast<std::size_t>(line) - 1]);
    return "line " + std::to_string(line) + " `" + text.substr(0, std::min<std::size_t>(text.find('\n'), 120)) + "`";
  }

  const LaunchNest& launch_;
  const int number_;
  Run& run_;
  std::int64_t block_ = 0;
  std::int32_t first_interval_ = 0;
  std::vector<Stmt> statements_;  ///< by line, from line 1; undefined: "else"
  std::unordered_map<const StmtNode*, std::int32_t> lines_;
  std::int32_t line_ = 0;  ///< of the statement that runs
  std::vector<std::int64_t> order_, thread_index_;
  std::vector<std::vector<Copy>> copies_;  ///< by thread, the oldest first
  std::vector<std::int64_t> groups_;       ///< committed, by thread
  std::int64_t* sources_ = nullptr;        ///< where `read` notes its elements, by cell; null: nowhere
};

/// The memory of all buffers, or an error where one is too large.
Result<std::vector<LaunchMemory>> make_memories(const Program& program, std::vector<Tensor>& arguments) {
  std::vector<LaunchMemory> memories(program.buffers.size());
  std::vector<bool> stored(program.buffers.size(), false);
  for_each(program.body,
           [&](const Stmt& s) {
             const auto* n = std::get_if<Store>(&s->kind);
             if (n && n->buffer.valid() && n->buffer.index() < stored.size()) stored[n->buffer.index()] = true;
           },
           {});
  for (std::size_t k = 0; k < memories.size(); ++k) {
    const Buffer& b = program.buffers[k];
    LaunchMemory& m = memories[k];
    m.by_thread = b.scope == Scope::local || b.scope == Scope::registers;
    m.in_block = b.scope == Scope::block;
    const bool legal = std::all_of(b.extents.begin(), b.extents.end(), [](std::int64_t e) { return e >= 0; });
    const std::int64_t size = legal ? num_elements(b.extents) : 0;
    if (!legal || size > kMostCells / (m.by_thread ? kMostThreads : 1))
      return Error{"program '" + program.name + "': the buffer '" + b.name + "' of " + to_string(b.extents) +
                   " elements is too large to interpret"};
    m.tracked = !m.by_thread && (stored[k] || b.scope != Scope::argument);
    if (m.in_block) m.cells.assign(static_cast<std::size_t>(size), Cell{.i = 0});
    if (b.scope == Scope::argument) m.tensor = arguments[static_cast<std::size_t>(b.argument)];
    if (b.scope == Scope::workspace) m.tensor = Tensor(b.dtype, {size});
    if (m.tracked) m.shadows.resize(static_cast<std::size_t>(size));
  }
  return memories;
}

std::vector<std::int64_t> order_of_blocks(std::int64_t grid, InterpretOptions::BlockOrder order, Rng& rng) {
  std::vector<std::int64_t> blocks(static_cast<std::size_t>(grid));
  std::iota(blocks.begin(), blocks.end(), 0);
  if (order == InterpretOptions::BlockOrder::backward) std::reverse(blocks.begin(), blocks.end());
  if (order == InterpretOptions::BlockOrder::shuffled)
    for (std::size_t k = blocks.size(); k > 1; --k)
      std::swap(blocks[k - 1], blocks[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(k)))]);
  return blocks;
}

}  // namespace

Status interpret_launches(const Program& program, std::vector<Tensor>& arguments, const InterpretOptions& options) {
  const auto error = [&](const std::string& what) { return Error{"program '" + program.name + "': " + what}; };
  WHET_TRY(std::vector<LaunchMemory> memories, make_memories(program, arguments));
  Run run{std::move(memories), Rng(options.seed)};
  int number = 0;
  for (const Stmt& s : top_statements(program)) {
    if (const auto* barrier = std::get_if<Barrier>(&s->kind); barrier && barrier->reach == Barrier::Reach::grid) {
      ++run.phase;
      continue;
    }
    const std::optional<LaunchNest> launch = launch_nest(s);
    if (!launch) return error("a statement beside launches is neither a launch nor a grid barrier");
    if (launch->grid > kMostCells) return error("a grid is too large to interpret");
    LaunchInterpreter interpreter(program, *launch, number++, run);
    for (const std::int64_t block : order_of_blocks(launch->grid, options.blocks, run.rng))
      if (!interpreter.block(block)) return error(interpreter.error());
  }
  return ok_status();
}

}  // namespace whet
