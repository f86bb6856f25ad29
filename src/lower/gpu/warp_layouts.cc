#include "lower/gpu/warp_layouts.h"

#include <fmt/format.h>

#include <functional>
#include <vector>

#include "compute/affine.h"

namespace whet {
namespace {

const Loop* as_loop(const Stmt& s) { return s.defined() ? std::get_if<Loop>(&s->kind) : nullptr; }

bool equal_sums(const Expr& a, const Expr& b) {
  const Affine rest = sub(to_affine(a), to_affine(b));
  return rest.terms.empty() && rest.constant == 0;
}

class LayoutFinder {
 public:
  LayoutFinder(const Program& program, const Collectives& collectives) : program_(program), collectives_(collectives) {}

  Result<WarpLayouts> run(const Stmt& body) {
    visit(body);
    while (error_.empty() && learn(true)) continue;
    while (error_.empty() && learn(false)) continue;
    for (const auto& [buffer, layout] : found_) check_extents(buffer, layout);
    if (!error_.empty()) return Error{error_, ErrorKind::unsupported};
    return std::move(found_);
  }

 private:
  struct Use {
    std::size_t buffer;
    const std::vector<Expr>* index;
  };
  using Statement = std::vector<Use>;  ///< a store's accesses of memory of threads

  void fail(std::string message) {
    if (error_.empty()) error_ = std::move(message);
  }

  void visit(const Stmt& s) {
    if (!s.defined() || !error_.empty() || collectives_.is_one(s)) return;
    if (is_warp_tile(s)) return tile(s);
    if (const auto* list = std::get_if<Block>(&s->kind)) {
      for (const Stmt& part : list->body) visit(part);
    } else if (const Loop* loop = as_loop(s)) {
      visit(loop->body);
    } else if (const auto* let = std::get_if<Let>(&s->kind)) {
      visit(let->body);
    } else if (const auto* branch = std::get_if<If>(&s->kind)) {
      visit(branch->then_body), visit(branch->else_body);
    } else if (const auto* store = std::get_if<Store>(&s->kind)) {
      Statement uses;
      note(uses, store->buffer.index(), store->index);
      for_each(store->value, [&](const Expr& part) {
        if (const Load* load = std::get_if<Load>(&part->kind)) note(uses, load->source.index(), load->index);
      });
      statements_.push_back(std::move(uses));
    }
  }

  void note(Statement& uses, std::size_t buffer, const std::vector<Expr>& index) const {
    if (is_private(program_.buffers[buffer])) uses.push_back({buffer, &index});
  }

  void tile(const Stmt& s) {
    const std::optional<WarpTileNest> tile = warp_tile_nest(s);
    if (!tile) return fail("a tile of a warp-wide intrinsic has other loops than rows, columns and depth, or a guard");
    const auto dimension = [](const std::vector<Expr>& index, const Loop& loop) -> std::optional<std::size_t> {
      for (std::size_t d = index.size(); d-- > 0;)
        if (factor_in(index[d], loop.index) == 1) return d;
      return std::nullopt;
    };
    const auto rows = dimension(tile->store->index, *tile->rows),
               columns = dimension(tile->store->index, *tile->columns);
    if (!rows || !columns) return fail("a tile does not move through its sums by rows and columns");
    add(tile->store->buffer.index(), {*rows, *columns, false});
    for_each(tile->store->value, [&](const Expr& part) {
      const Load* load = std::get_if<Load>(&part->kind);
      if (!load || load->source.index() == tile->store->buffer.index() ||
          !is_private(program_.buffers[load->source.index()]))
        return;
      const auto row = dimension(load->index, *tile->rows), term = dimension(load->index, *tile->depth);
      if (!row || term != load->index.size() - 1)
        return fail(fmt::format("{} is in registers, and is no left operand that lies along the terms",
                                program_.buffers[load->source.index()].name));
      add(load->source.index(), {*row, *term, true});
    });
  }

  void add(std::size_t buffer, const WarpLayout& layout) {
    const auto [known, fresh] = found_.emplace(buffer, layout);
    if (!fresh && known->second.quad != layout.quad)
      fail(fmt::format("{} has sums of tiles, and is an operand of tiles", program_.buffers[buffer].name));
  }

  /// What is accessed at the row, and at the column, of a known buffer has those too. True where something new is known.
  bool learn(bool with_columns) {
    bool more = false;
    for (const Statement& statement : statements_)
      for (const Use& known : statement) {
        const auto layout = found_.find(known.buffer);
        if (layout == found_.end() || (with_columns && !layout->second.columns)) continue;
        for (const Use& other : statement) {
          if (found_.count(other.buffer) > 0) continue;
          const auto at = [&](std::size_t dimension) { return dimension_at(*other.index, (*known.index)[dimension]); };
          const std::optional<std::size_t> rows = at(layout->second.rows);
          const std::optional<std::size_t> columns = with_columns ? at(*layout->second.columns) : std::nullopt;
          if (!rows || (with_columns ? !columns || columns == rows : !is_row_alone(*other.index, *rows))) continue;
          found_.emplace(other.buffer, WarpLayout{*rows, columns, false});
          more = true;
        }
      }
    return more;
  }

  /// The dimension that is indexed so, by something that changes.
  static std::optional<std::size_t> dimension_at(const std::vector<Expr>& index, const Expr& wanted) {
    for (std::size_t d = index.size(); d-- > 0;)
      if (!as_int(index[d]) && equal_sums(index[d], wanted)) return d;
    return std::nullopt;
  }
  static bool is_row_alone(const std::vector<Expr>& index, std::size_t rows) {
    for (std::size_t d = 0; d < index.size(); ++d)
      if (d != rows && !as_int(index[d])) return false;
    return true;
  }

  void check_extents(std::size_t buffer, const WarpLayout& layout) {
    const Shape& extents = program_.buffers[buffer].extents;
    const std::int64_t rows = extents[layout.rows], columns = layout.columns ? extents[*layout.columns] : kWarpGroup;
    if (rows % kWarpGroup != 0 || columns % kWarpGroup != 0)
      fail(fmt::format("{} has {} rows and {} columns of sums; warps hold multiples of 8",
                       program_.buffers[buffer].name, rows, columns));
  }

  const Program& program_;
  const Collectives& collectives_;
  std::vector<Statement> statements_;
  WarpLayouts found_;
  std::string error_;
};

}  // namespace

bool is_warp_tile(const Stmt& s) {
  const Loop* loop = as_loop(s);
  return loop && is_warp_wide(loop->intrinsic);
}

std::optional<WarpTileNest> warp_tile_nest(const Stmt& s) {
  const Loop* rows = as_loop(s);
  const Loop* columns = rows ? as_loop(rows->body) : nullptr;
  const Loop* depth = columns ? as_loop(columns->body) : nullptr;
  const Store* store = depth && depth->body.defined() ? std::get_if<Store>(&depth->body->kind) : nullptr;
  if (!store) return std::nullopt;
  return WarpTileNest{rows, columns, depth, store};
}

std::int64_t factor_in(const Expr& index, VarId v) {
  const Affine sum = to_affine(index);
  for (const auto& [atom, factor] : sum.terms) {
    const Var* found = std::get_if<Var>(&atom->kind);
    if (found && found->id == v) return factor;
  }
  return 0;
}

Result<WarpLayouts> find_warp_layouts(const Program& program, const Stmt& body, const Collectives& collectives) {
  return LayoutFinder(program, collectives).run(body);
}

}  // namespace whet
