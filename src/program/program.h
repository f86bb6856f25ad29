#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "compute/expr.h"
#include "compute/size.h"
#include "program/intrinsic.h"
#include "tensor/shape.h"

namespace whet {

/// A buffer of a Program. It is the same number as the SourceId of loads from it.
using BufferId = Id<struct BufferTag>;

/// Where a buffer lives.
///   argument   a tensor of the caller
///   workspace  one piece of memory that all workers of the kernel see
///   block      memory that the threads of one block share (GPUs alone; a program for a CPU has no such buffer)
///   local      memory of one worker or thread
///   registers  SSA values where every index is a constant after lowering (accumulators, small tiles); else as `local`
enum class Scope : std::uint8_t { argument, workspace, block, local, registers };

struct Buffer {
  std::string name;
  DType dtype = DType::f32;
  Shape extents;  ///< elements, row-major; a flattened Program indexes the product
  Scope scope = Scope::argument;
  int argument = -1;         ///< position among the kernel's arguments, for scope `argument`
  bool constant = false;     ///< an argument that the caller never changes (packed weights)
  bool written = false;      ///< an argument that the kernel stores to (outputs)
  std::int64_t padding = 0;  ///< of the last extent: elements behind each row that may hold any value (registers)
  /// Partial results, one a value of the last index, which a loop bound to threads numbers (lower/gpu/thread_sums.h).
  bool partial = false;
  /// GPU: elements that nothing has written may be read and hold any value. No result that is stored depends on them
  /// (lower/gpu/unguard_registers.h).
  bool gaps = false;
  /// GPU, registers: the threads 4g to 4g + 3 have a row of the last extent, a multiple of 8, together. Thread 4g + q has the elements
  /// 8a + 2q and 8a + 2q + 1 of it, and alone reads and writes them; a tile of a warp reads its left operand from all four.
  bool quad = false;
  /// GPU, of block memory: bytes of the pieces of a row whose 16-byte parts change places with the row (program/swizzle.h), and bytes of
  /// a row. Nothing but the banks of memory depends on it. 0: none.
  std::int64_t swizzle = 0, row_bytes = 0;
  /// Of an argument: the extents as functions of the program's sizes, undefined where an extent is the same at all sizes; empty: none
  /// changes. `extents` are the largest.
  std::vector<Expr> sizes = {};
};
/// Extent `d` at run time: a constant, or an expression of sizes.
Expr extent_of(const Buffer&, std::size_t d);
/// The extents where the sizes have these values.
Shape shape_at(const Buffer&, const SizeValues&);

/// block, thread, virtual_thread and warp are bound to those of a GPU; on a CPU such loops run as serial loops.
enum class LoopKind : std::uint8_t { serial, parallel, vectorized, unrolled, block, thread, virtual_thread, warp };
/// Bound to what runs inside one block of a GPU.
constexpr bool is_of_threads(LoopKind kind) {
  return kind == LoopKind::thread || kind == LoopKind::virtual_thread || kind == LoopKind::warp;
}
/// The word that begins such a loop in the text of programs and of loop trees: "for", "parallel", "vector", ...
std::string_view word_of(LoopKind);

struct StmtNode;
/// An immutable statement; copying shares the nodes.
class Stmt {
 public:
  Stmt() = default;
  explicit Stmt(std::shared_ptr<const StmtNode> node) : node_(std::move(node)) {}
  bool defined() const { return node_ != nullptr; }
  const StmtNode& operator*() const { return *node_; }
  const StmtNode* operator->() const { return node_.get(); }

 private:
  std::shared_ptr<const StmtNode> node_;
};

/// Runs `body` with `index` = min, min + 1, ..., min + extent - 1, in the order and place given by `kind`.
/// Invariants: `index` is bound nowhere else; extent <= 0 runs nothing; unrolled and vectorized loops have constant
/// extents; a parallel loop is outermost in its phase (no loop around it), and worker w of W runs a contiguous share.
struct Loop {
  VarId index;
  std::string name;
  Expr min, extent;
  LoopKind kind = LoopKind::serial;
  Stmt body;
  /// This loop and those inside it are that intrinsic's tile. It is a hint: code generation checks the loops.
  Intrinsic intrinsic = Intrinsic::none;
  /// GPU, of a launch's block loop: the number of blocks that an SM is to hold at once, which bounds the registers of a
  /// thread. 0: no bound.
  std::int64_t min_blocks = 0;
};
/// Computes `value` once, before `body`.
struct Let {
  VarId var;
  std::string name;
  Expr value;
  Stmt body;
};
/// buffer[index] = value. A mask (boolean, same lanes; undefined means all true) leaves lanes unwritten.
struct Store {
  BufferId buffer;
  std::vector<Expr> index;
  Expr value;
  Expr mask;
  /// GPU: a copy into a block buffer that may land at any time until this thread waits for its group (CopyGroup). Until
  /// then nobody may read or write its destination, nor write its source.
  bool async = false;
  /// GPU: the stored value is the one that thread `t ^ cross` of the block computes here. Below 32; 0: the thread's own.
  int cross = 0;

  /// The same store of another value to another place.
  Store with(std::vector<Expr> new_index, Expr new_value, Expr new_mask) const {
    return {buffer, std::move(new_index), std::move(new_value), std::move(new_mask), async, cross};
  }
};
struct If {
  Expr condition;
  Stmt then_body;
  Stmt else_body;
};  ///< else_body may be undefined
struct Block {
  std::vector<Stmt> body;
};
/// A hint that buffer[index] will be read soon. Nothing is read, so the index may be outside of the buffer.
struct Prefetch {
  BufferId buffer;
  std::vector<Expr> index;  ///< scalars without loads
};
/// The workers or threads that run the program wait for each other.
///   grid   all workers of a CPU; on a GPU the border between two launches. At the top level alone, between phases.
///   block  all threads of a GPU's block. Inside a launch alone, under control flow that is the same for all threads.
struct Barrier {
  enum class Reach : std::uint8_t { grid, block } reach = Reach::grid;
};
/// GPU: the asynchronous stores of a thread, in groups (PTX: cp.async.commit_group, cp.async.wait_group).
///   commit  the copies that the thread has issued since its last commit are a group, maybe an empty one
///   wait    until at most `pending` of the thread's groups, the youngest, are under way. Other threads see the copies
///           behind the next barrier.
struct CopyGroup {
  enum class Kind : std::uint8_t { commit, wait } kind = Kind::commit;
  int pending = 0;
};
using StmtKind = std::variant<Loop, Let, Store, If, Block, Barrier, CopyGroup, Prefetch>;
struct StmtNode {
  StmtKind kind;
};

Stmt make_stmt(StmtKind);
Stmt block(std::vector<Stmt>);  ///< flattens nested blocks, drops undefined ones; undefined when nothing is left

/// A lowered kernel.
/// On a CPU all workers run `body` together: a parallel loop is divided among them, and worker 0 alone runs every other
/// top-level statement. There is a Barrier between two phases where the second reads results of another worker.
/// On a GPU `body` is a list of launches with a Barrier between two that depend on each other. A launch is one block loop
/// around one thread loop around the statements of a thread. Both loops begin at 0 and have constant extents; that of the
/// thread loop is a multiple of the warp's 32. Inside, loops are serial, vectorized or unrolled, and all digits of blocks,
/// threads and warps are functions of the two indices. So a barrier, an idle thread and a lane of a warp are defined once.
/// A program may have sizes: integers that are known when it starts. Their values are the elements of argument 0, an i64 tensor, and
/// are within the ranges: who calls the kernel sees to that. Every expression may use their variables (size_var).
struct Program {
  std::string name;
  std::vector<Buffer> buffers;
  std::int32_t vars = 0;  ///< VarIds 0 .. vars-1 are taken
  Stmt body;
  std::vector<SizeRange> sizes = {};  ///< empty: the program is of one size

  const Buffer& buffer(BufferId id) const { return buffers[id.index()]; }
  VarId fresh_var() { return VarId(vars++); }
  BufferId add(Buffer b) {
    buffers.push_back(std::move(b));
    return BufferId(static_cast<std::int64_t>(buffers.size()) - 1);
  }
};

std::string to_text(const Program&);
std::string to_text(const Program&, const Stmt&);

/// Rebuilds a statement. `on_stmt` is asked first, top down; an undefined answer means: go inside. `on_expr` maps each
/// whole expression (index, value, bound, condition). Either may be empty.
Stmt rewrite(const Stmt&, const std::function<Stmt(const Stmt&)>& on_stmt,
             const std::function<Expr(const Expr&)>& on_expr);
void for_each(const Stmt&, const std::function<void(const Stmt&)>& on_stmt,
              const std::function<void(const Expr&)>& on_expr);

}  // namespace whet
