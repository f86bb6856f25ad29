#include "program/launch_memory.h"

#include <algorithm>
#include <utility>

#include "program/launch.h"
#include "program/warp_tile.h"

namespace whet {
namespace {

constexpr std::int32_t kWritten = 0;  ///< blocks are counted from 1

std::string copy_of(std::int32_t thread) {
  return " while thread " + std::to_string(thread) + "'s copy to it is under way";
}

std::vector<bool> stored_buffers(const Program& program) {
  std::vector<bool> stored(program.buffers.size(), false);
  for_each(program.body,
           [&](const Stmt& s) {
             const auto* n = std::get_if<Store>(&s->kind);
             if (n && n->buffer.valid() && n->buffer.index() < stored.size()) stored[n->buffer.index()] = true;
           },
           {});
  return stored;
}

}  // namespace

Result<LaunchMemory> LaunchMemory::make(const Program& program, const StatementLines& lines,
                                        std::vector<Tensor>& arguments, Rng& rng) {
  LaunchMemory made(program, lines, rng);
  const std::vector<bool> stored = stored_buffers(program);
  for (std::size_t k = 0; k < program.buffers.size(); ++k) {
    const Buffer& b = program.buffers[k];
    Memory& m = made.memories_[k];
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
  return made;
}

// ---- Time

void LaunchMemory::begin_launch(std::int64_t threads, Report report) {
  threads_ = threads;
  report_ = std::move(report);
  copies_.assign(static_cast<std::size_t>(threads), {});
  groups_.assign(static_cast<std::size_t>(threads), 0);
  for (std::size_t k = 0; k < memories_.size(); ++k) {
    if (!memories_[k].by_thread) continue;
    const auto cells = static_cast<std::size_t>(num_elements(program_.buffers[k].extents) * threads);
    memories_[k].cells.assign(cells, Cell{.i = 0});
    memories_[k].written_in.assign(cells, -1);
  }
}

void LaunchMemory::begin_block() {
  ++block_;
  first_interval_ = ++interval_;
  std::fill(groups_.begin(), groups_.end(), 0);
  line_ = 0;
}

void LaunchMemory::end_block() {
  for (std::size_t t = 0; t < copies_.size() && !reported_; ++t) {
    if (copies_[t].empty()) continue;
    const Copy& c = copies_[t].front();
    report(static_cast<std::int64_t>(t),
           "ends while its copy to " + text_of(c.to, c.to_element) + " is under way: " + lines_.text_of(c.line));
  }
}

// ---- Accesses

void LaunchMemory::Access::add(std::int32_t now, std::int32_t who, std::int32_t line, bool changes) {
  const bool again = when == now;
  if (!again) *this = {now, who, -1, line, 0, false};
  if (first != who) second = who, second_line = line;
  differ = differ || (again && changes);
}

LaunchMemory::Access::Other LaunchMemory::Access::other_than(std::int32_t now, std::int32_t who) const {
  if (when != now) return {-1, 0};
  return first != who ? Other{first, first_line} : Other{second, second_line};
}

Cell LaunchMemory::Memory::get(std::int64_t element) const {
  if (in_block) return cells[static_cast<std::size_t>(element)];
  if (is_float(tensor.dtype())) return {.f = tensor.get(element)};
  return {.i = tensor.integer(element)};
}

void LaunchMemory::Memory::put(std::int64_t element, Cell value) {
  if (in_block) {
    cells[static_cast<std::size_t>(element)] = value;
  } else if (is_float(tensor.dtype())) {
    tensor.set(element, value.f);
  } else {
    tensor.set_integer(element, value.i);
  }
}

std::size_t LaunchMemory::own_place(BufferId id, std::int64_t element, std::int64_t thread) const {
  const std::int64_t owner = program_.buffer(id).quad ? thread / kQuadLanes * kQuadLanes : thread;
  return static_cast<std::size_t>(element * threads_ + owner);
}

void LaunchMemory::check_lane(const char* does, BufferId id, std::int64_t element, std::int64_t thread) {
  const Buffer& b = program_.buffer(id);
  if (!b.quad || reported_ || quad_lane(element % b.extents.back()) == thread % kQuadLanes) return;
  report(thread, std::string(does) + " " + text_of(id, element) +
                     ", which another lane of the row has: " + lines_.text_of(line_));
}

Cell LaunchMemory::read(BufferId id, std::int64_t element, std::int64_t thread, bool in_tile) {
  Memory& m = memory(id);
  if (m.by_thread) {
    if (!in_tile) check_lane("reads", id, element, thread);
    const std::size_t place = own_place(id, element, thread);
    return m.written_in[place] == block_ ? m.cells[place] : unwritten(id, element, thread);
  }
  if (!m.tracked) return m.get(element);
  const auto reader = static_cast<std::int32_t>(thread);
  Shadow& s = m.shadows[static_cast<std::size_t>(element)];
  check_read(id, s, element, reader);
  s.readers.add(interval_, reader, line_);
  if (!m.in_block) s.reading_blocks.add(phase_, block_, line_);
  const bool written = program_.buffer(id).scope == Scope::argument || s.written_in == (m.in_block ? block_ : kWritten);
  return written ? m.get(element) : unwritten(id, element, thread);
}

Cell LaunchMemory::unwritten(BufferId id, std::int64_t element, std::int64_t thread) {
  const Buffer& b = program_.buffer(id);
  if (b.gaps) return poison(b.dtype);
  if (b.padding > 0 && element % b.extents.back() >= b.extents.back() - b.padding) return poison(b.dtype);
  if (!reported_)
    report(thread, "reads " + text_of(id, element) + ", which nothing has written: " + lines_.text_of(line_));
  return {.i = 0};
}

void LaunchMemory::store(BufferId id, std::int64_t element, std::int64_t thread, Cell value) {
  Memory& m = memory(id);
  if (m.by_thread) {
    check_lane("writes", id, element, thread);
    const std::size_t place = own_place(id, element, thread);
    m.cells[place] = value;
    m.written_in[place] = block_;
    return;
  }
  Shadow& s = m.shadows[static_cast<std::size_t>(element)];
  add_writer(id, m, s, element, static_cast<std::int32_t>(thread), value);
  s.written_in = m.in_block ? block_ : kWritten;
  m.put(element, value);
}

void LaunchMemory::start_copy(BufferId to, std::int64_t element, BufferId from, std::int64_t source,
                              std::int64_t thread, Cell value) {
  Memory& m = memory(to);
  Shadow& s = m.shadows[static_cast<std::size_t>(element)];
  const auto copier = static_cast<std::int32_t>(thread);
  add_writer(to, m, s, element, copier, value);
  s.copier = copier;
  s.copy_line = line_;
  m.put(element, rng_.chance(0.5) ? value : poison(program_.buffer(to).dtype));
  const auto t = static_cast<std::size_t>(thread);
  copies_[t].push_back({to, from, element, source, value, line_, groups_[t]});
  if (source >= 0 && memory(from).tracked) ++memory(from).shadows[static_cast<std::size_t>(source)].copies_of;
}

void LaunchMemory::wait(std::int64_t thread, std::int64_t pending) {
  const auto t = static_cast<std::size_t>(thread);
  std::vector<Copy>& list = copies_[t];
  const auto under_way =
      std::find_if(list.begin(), list.end(), [&](const Copy& c) { return c.group >= groups_[t] - pending; });
  for (auto c = list.begin(); c != under_way; ++c) land(*c, static_cast<std::int32_t>(thread));
  list.erase(list.begin(), under_way);
}

/// It is written from here on.
void LaunchMemory::land(const Copy& c, std::int32_t thread) {
  Memory& m = memory(c.to);
  const auto to = static_cast<std::size_t>(c.to_element);
  m.cells[to] = c.value;
  Shadow& s = m.shadows[to];
  s.copier = -1;
  s.written_in = block_;
  s.writers.add(interval_, thread, c.line);
  if (c.from_element < 0 || !memory(c.from).tracked) return;
  Shadow& source = memory(c.from).shadows[static_cast<std::size_t>(c.from_element)];
  --source.copies_of;
  source.readers.add(interval_, thread, c.line);
}

// ---- What is wrong

void LaunchMemory::check_store(BufferId id, const Shadow& s, std::int64_t element, std::int32_t thread) {
  const auto wrong = [&](const std::string& why, std::int32_t line) {
    conflict("writes", id, element, thread, why, line);
  };
  if (s.copier >= 0) return wrong(copy_of(s.copier), s.copy_line);
  if (s.copies_of > 0) return wrong(" while a copy of it is under way", 0);
  if (const auto other = s.readers.other_than(interval_, thread))
    return wrong(", which thread " + std::to_string(other.who) + " has read in the same interval", other.line);
  if (const auto other = s.reading_blocks.other_than(phase_, block_))
    return wrong(", which another block has read", other.line);
}

/// Threads and blocks that store to one element must store the same bits, each always.
void LaunchMemory::add_writer(BufferId id, const Memory& m, Shadow& s, std::int64_t element, std::int32_t thread,
                              Cell value) {
  if (!reported_) check_store(id, s, element, thread);
  const bool changes = m.get(element).i != value.i;
  s.writers.add(interval_, thread, line_, changes);
  if (!m.in_block) s.writing_blocks.add(phase_, block_, line_, changes);
  if (reported_) return;
  const auto thread_beside = s.writers.other_than(interval_, thread);
  const auto block_beside = s.writing_blocks.other_than(phase_, block_);
  if (thread_beside && s.writers.differ)
    return conflict(
        "writes", id, element, thread,
        ", to which thread " + std::to_string(thread_beside.who) + " has written another value in the same interval",
        thread_beside.line);
  if (block_beside && s.writing_blocks.differ)
    conflict("writes", id, element, thread, ", to which another block has written another value", block_beside.line);
}

void LaunchMemory::check_read(BufferId id, const Shadow& s, std::int64_t element, std::int32_t thread) {
  if (s.copier >= 0) return conflict("reads", id, element, thread, copy_of(s.copier), s.copy_line);
  if (const auto other = s.writers.other_than(interval_, thread))
    return conflict("reads", id, element, thread,
                    ", which thread " + std::to_string(other.who) + " has written in the same interval", other.line);
  if (const auto other = s.writing_blocks.other_than(phase_, block_))
    conflict("reads", id, element, thread, ", which another block has written", other.line);
}

void LaunchMemory::conflict(const char* does, BufferId id, std::int64_t element, std::int32_t thread,
                            const std::string& why, std::int32_t line) {
  if (reported_) return;
  const std::string other = line > 0 ? " after " + lines_.text_of(line) : "";
  report(thread, std::string(does) + " " + text_of(id, element) + why + ": " + lines_.text_of(line_) + other);
}

void LaunchMemory::report(std::int64_t thread, const std::string& does) {
  if (!std::exchange(reported_, true)) report_(thread, does);
}

/// "u[1, 5, 2]"
std::string LaunchMemory::text_of(BufferId id, std::int64_t element) const {
  const Buffer& b = program_.buffer(id);
  const std::vector<std::int64_t> strides = row_major_strides(b.extents);
  std::string text = b.name + "[";
  for (std::size_t d = 0; d < strides.size(); ++d)
    text += (d > 0 ? ", " : "") + std::to_string(element / strides[d] % b.extents[d]);
  return text + "]";
}

}  // namespace whet
