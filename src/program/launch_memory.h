#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "program/evaluate_expr.h"
#include "program/program.h"
#include "program/statement_lines.h"
#include "tensor/tensor.h"

namespace whet {

constexpr std::int64_t kMostCells = std::int64_t{1} << 28;  ///< of local memory of one block: 2 GiB here

/// The memory of a program's launches, with a shadow of each element that tells who has accessed it. It finds the errors of
/// reads, stores and copies that interpret_launches has. Accesses come one at a time; whether they are wrong does not depend
/// on the order in which the threads of an interval, or the blocks of a phase, make them.
class LaunchMemory {
 public:
  /// Hears of the first error: `thread` "reads u[1, 5], which nothing has written: line 12 `...`".
  using Report = std::function<void(std::int64_t thread, const std::string& does)>;

  /// Errors: a buffer is too large to interpret. The references outlive the memory; `rng` decides when copies land.
  static Result<LaunchMemory> make(const Program&, const StatementLines&, std::vector<Tensor>& arguments, Rng& rng);

  // Time. Accesses are those of the statement of the last `begin_line`; a report names it.
  void begin_launch(std::int64_t threads, Report);
  void begin_block();
  void begin_line(std::int32_t line) { line_ = line; }
  std::int32_t line() const { return line_; }
  /// All threads of the block have met.
  void barrier() { ++interval_; }
  /// All blocks have.
  void grid_barrier() { ++phase_; }
  /// Since the block began.
  std::int32_t interval() const { return interval_ - first_interval_; }
  /// Reports a copy for which its thread has not waited.
  void end_block();

  // Accesses
  ///   in_tile  of a tile that the warp computes together, which reads what the row's four lanes have
  Cell read(BufferId, std::int64_t element, std::int64_t thread, bool in_tile = false);
  void store(BufferId, std::int64_t element, std::int64_t thread, Cell);
  /// Copies an element into block memory: it lands now or when the thread waits, and until then may hold anything.
  ///   source  the element of `from`; -1: a zero is copied
  void start_copy(BufferId to, std::int64_t element, BufferId from, std::int64_t source, std::int64_t thread, Cell);
  /// Ends the thread's group of copies.
  void commit(std::int64_t thread) { ++groups_[static_cast<std::size_t>(thread)]; }
  /// The thread's copies have landed, except those of the last `pending` groups.
  void wait(std::int64_t thread, std::int64_t pending);

 private:
  /// Who has accessed an element in an interval (threads) or between two grid barriers (blocks). Two different members
  /// tell for every member whether there is another one.
  struct Access {
    std::int32_t when = -1;
    std::int32_t first = -1, second = -1;
    std::int32_t first_line = 0, second_line = 0;
    bool differ = false;  ///< they have written different bits

    void add(std::int32_t now, std::int32_t who, std::int32_t line, bool changes = false);
    struct Other {
      std::int32_t who, line;
      explicit operator bool() const { return who >= 0; }
    };
    /// A member other than `who`.
    Other other_than(std::int32_t now, std::int32_t who) const;
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
  /// Of a buffer. Elements of local memory and registers lie by element, then by thread.
  struct Memory {
    bool by_thread = false;
    bool in_block = false;
    bool tracked = false;  ///< has shadows
    Tensor tensor;         ///< of arguments and workspace
    std::vector<Cell> cells;
    std::vector<std::int32_t> written_in;  ///< the block that wrote the cell; of memory by thread
    std::vector<Shadow> shadows;

    Cell get(std::int64_t element) const;
    void put(std::int64_t element, Cell);
  };
  /// A copy under way.
  struct Copy {
    BufferId to, from;
    std::int64_t to_element, from_element;  ///< from_element -1: it writes 0
    Cell value;
    std::int32_t line;
    std::int64_t group;
  };

  LaunchMemory(const Program& program, const StatementLines& lines, Rng& rng)
      : program_(program), lines_(lines), rng_(rng), memories_(program.buffers.size()) {}

  Memory& memory(BufferId id) { return memories_[id.index()]; }
  /// Where the thread's element is, of a buffer of threads. What four lanes have together is the first one's.
  std::size_t own_place(BufferId, std::int64_t element, std::int64_t thread) const;
  /// Reports an access of a part of a row that another of its four lanes has.
  void check_lane(const char* does, BufferId, std::int64_t element, std::int64_t thread);
  void check_store(BufferId, const Shadow&, std::int64_t element, std::int32_t thread);
  void check_read(BufferId, const Shadow&, std::int64_t element, std::int32_t thread);
  /// A store, or the start of a copy.
  void add_writer(BufferId, const Memory&, Shadow&, std::int64_t element, std::int32_t thread, Cell);
  void land(const Copy&, std::int32_t thread);
  Cell unwritten(BufferId, std::int64_t element, std::int64_t thread);
  void conflict(const char* does, BufferId, std::int64_t element, std::int32_t thread, const std::string& why,
                std::int32_t line);
  void report(std::int64_t thread, const std::string& does);
  std::string text_of(BufferId, std::int64_t element) const;

  const Program& program_;
  const StatementLines& lines_;
  Rng& rng_;
  Report report_;
  bool reported_ = false;
  std::vector<Memory> memories_;  ///< by buffer
  std::int64_t threads_ = 0;
  std::int32_t phase_ = 0, interval_ = 0, block_ = 0;  ///< counted over all launches
  std::int32_t first_interval_ = 0;                    ///< of the block
  std::int32_t line_ = 0;
  std::vector<std::vector<Copy>> copies_;  ///< by thread, the oldest first
  std::vector<std::int64_t> groups_;       ///< committed, by thread
};

}  // namespace whet
