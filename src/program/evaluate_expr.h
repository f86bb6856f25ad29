#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "program/program.h"

namespace whet {

/// One lane of a value: `f` of floats, `i` of integers and booleans.
union Cell {
  double f;
  std::int64_t i;
};

/// Memory for temporaries. A Frame gives back what was taken during its life; addresses stay valid until then.
class Scratch {
 public:
  template <typename T>
  T* take(std::int64_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= alignof(std::uint64_t));
    const std::size_t words = (static_cast<std::size_t>(count) * sizeof(T) + 7) / 8;
    while (chunk_ < chunks_.size() && chunks_[chunk_].size - used_ < words) ++chunk_, used_ = 0;
    if (chunk_ == chunks_.size()) add_chunk(words);
    T* const taken = reinterpret_cast<T*>(chunks_[chunk_].words.get() + used_);
    used_ += words;
    return taken;
  }

  class [[nodiscard]] Frame {
   public:
    explicit Frame(Scratch& scratch) : scratch_(scratch), chunk_(scratch.chunk_), used_(scratch.used_) {}
    ~Frame() { scratch_.chunk_ = chunk_, scratch_.used_ = used_; }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    Scratch& scratch_;
    std::size_t chunk_, used_;
  };

 private:
  struct Chunk {
    std::unique_ptr<std::uint64_t[]> words;
    std::size_t size;
  };
  void add_chunk(std::size_t words);

  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0, used_ = 0;
};

/// Evaluates the expressions of a Program for a number of threads at once: a node is visited once, and its value has a
/// cell for each lane of each thread. A program for a CPU has one thread. The derived class has the memory.
/// Arithmetic is that of `interpret`. After an error, which `fail` notes, every value is 0.
/// It is long by a function for each kind of expression; all of them evaluate each other.
class ExprEvaluator {
 protected:
  ExprEvaluator(const Program& program, std::int64_t threads)
      : program_(program), threads_(threads), vars_(static_cast<std::size_t>(program.vars)) {}
  virtual ~ExprEvaluator() = default;

  /// Lane k of thread t is cells[t * step + k]. Step 0: the value is the same for all threads.
  struct Value {
    const Cell* cells;
    std::int64_t step;
    Cell at(std::int64_t thread, std::int64_t lane = 0) const { return cells[thread * step + lane]; }
  };
  /// The threads, and their lanes, that need a value. Null: all. The cell of lane k of thread t is t * lanes + k. Scalars
  /// have no `cells`. At least one thread needs it.
  struct Wanted {
    const std::uint8_t* threads = nullptr;
    const std::uint8_t* cells = nullptr;

    Wanted as_scalar() const { return {threads, nullptr}; }
    bool thread(std::int64_t t) const { return !threads || threads[t]; }
    /// `visit(thread, lane, cell)`
    template <typename F>
    void each(std::int64_t all, int lanes, const F& visit) const {
      for (std::int64_t t = 0, cell = 0; t < all; ++t) {
        if (threads && !threads[t]) {
          cell += lanes;
          continue;
        }
        for (int k = 0; k < lanes; ++k, ++cell)
          if (!cells || cells[cell]) visit(t, k, cell);
      }
    }
  };

  /// The wanted cells of a value. They are valid until the next `bind` or the end of the frame of `scratch_`.
  Value eval(const Expr&, const Wanted&);
  /// The value of a scalar where there is one thread.
  std::int64_t integer(const Expr& e) {
    WHET_CHECK(e->lanes == 1 && threads_ == 1, "bounds and conditions of statements are scalars");
    const Scratch::Frame frame(scratch_);
    return eval(e, {}).cells->i;
  }
  void bind(VarId, const Expr& value, const Wanted&);
  void bind(VarId, std::int64_t value);
  void bind(VarId, const std::int64_t* value_by_thread);

  /// Removes the cells where the mask is false. Returns whether any is left.
  bool narrow(const Expr& mask, int lanes, Wanted&);
  /// Writes to `at` the row-major element that each wanted cell accesses; false after an error. `access`: "store to".
  bool locate(const char* access, BufferId, const std::vector<Expr>& index, int lanes, const Wanted&, std::int64_t* at);

  /// Loads the elements `at` into the wanted cells of `out`.
  virtual void read(BufferId, const std::int64_t* at, int lanes, const Wanted&, Cell* out) = 0;
  /// Names the thread in messages; empty where there is one.
  virtual std::string place_of(std::int64_t) const { return ""; }

  bool failed() const { return !error_.empty(); }
  void fail(const std::string& what, std::int64_t thread = 0) {
    if (failed()) return;
    const std::string place = place_of(thread);
    error_ = place + (place.empty() ? "" : ": ") + what;
  }

  const Program& program_;
  const std::int64_t threads_;
  SizeValues sizes_;  ///< of the program's sizes
  std::string error_;
  Scratch scratch_;

 private:
  struct Variable {
    std::vector<Cell> cells;
    std::int64_t step = 0;
    int lanes = 0;  ///< 0: not bound
  };

  Variable& variable(VarId);
  Cell* take(int lanes) { return scratch_.take<Cell>(threads_ * lanes); }
  Value zeros(int lanes);
  Value constant(Cell, int lanes);
  Value variable(const Var&, int lanes);
  Value unary_value(const Expr&, const Unary&, const Wanted&);
  Value binary_value(const Expr&, const Binary&, const Wanted&);
  Value integers(BinaryOp, DType operands, Value a, Value b, int lanes, const Wanted&, Cell* out);
  Value floats(BinaryOp, DType operands, Value a, Value b, int lanes, const Wanted&, Cell* out);
  Value divided(BinaryOp, DType operands, Value a, Value b, int lanes, const Wanted&, Cell* out);
  Value select_value(const Expr&, const Select&, const Wanted&);
  Value cast_value(const Expr&, const Cast&, const Wanted&);
  Value call_value(const Expr&, const Call&, const Wanted&);
  Value load_value(const Expr&, const Load&, const Wanted&);
  Value spread(Value base, int lanes, std::int64_t stride, const Expr&, const Wanted&, Cell* out);
  template <typename F>
  Value combine(Value a, Value b, int lanes, const Wanted&, Cell* out, const F&);

  std::vector<Variable> vars_;
};

/// A value as a load returns it after a store to a buffer of that dtype: rounded, or wrapped around.
Cell stored(DType, Cell);
/// An element of padding, or of a copy that has not landed: NaN or -1.
Cell poison(DType);

}  // namespace whet
