#include "codegen/cpu/byte_sums.h"

#include <algorithm>
#include <map>
#include <optional>

namespace whet {
namespace {

/// sums += i32(x) * i32(w).
struct ByteProduct {
  ExprRef x, w;
  Linear from;  ///< where x lies
};

class SumFinder {
 public:
  SumFinder(Analysis& analysis, const Program& program, int lanes, std::size_t most)
      : analysis_(analysis), program_(program), lanes_(lanes), most_(most) {}

  ByteSums find(const std::vector<const Store*>& run) {
    for (const Store* store : run)
      if (std::optional<ByteProduct> product = product_of(*store))
        add(*store, std::move(*product));
      else
        open_.clear();  // it may read sums
    return std::move(sums_);
  }

 private:
  struct Open {
    std::size_t sum;
    Linear last;  ///< the product that was added last
  };

  const ExprInfo& info(const Expr& e) { return analysis_.table()[analysis_.table().intern(e)]; }

  void add(const Store& store, ByteProduct product) {
    const auto key = std::pair(store.buffer, analysis_.table().intern(store.index[0]));
    const auto found = open_.find(key);
    const bool goes_on = found != open_.end() && sums_.all[found->second.sum].x.size() < most_ &&
                         is_next(found->second.last, product.from);
    Open& open = goes_on ? found->second : open_[key] = {sums_.all.size(), {}};
    if (!goes_on) sums_.all.emplace_back();
    ByteSum& sum = sums_.all[open.sum];
    open.last = std::move(product.from);
    sum.x.push_back(product.x), sum.w.push_back(product.w);
    sum.last = &store;
    sums_.of[&store] = open.sum;
  }

  /// As far behind the one before as the second product of all is behind the first: the taps of one column stay together.
  bool is_next(const Linear& before, const Linear& next) {
    if (before.terms != next.terms) return false;
    const std::int64_t step = next.constant - before.constant;
    return step == step_.value_or(step) && (step_ = step, true);
  }

  std::optional<ByteProduct> product_of(const Store& store) {
    const Buffer& sums = program_.buffer(store.buffer);
    const bool in_registers = sums.scope == Scope::registers && analysis_.in_slots(store.buffer);
    if (!in_registers || store.mask.defined() || store.value->dtype != DType::i32 || store.value->lanes != lanes_)
      return std::nullopt;
    const Binary* sum = std::get_if<Binary>(&store.value->kind);
    if (!sum || sum->op != BinaryOp::add) return std::nullopt;
    const Load* old = std::get_if<Load>(&sum->a->kind);
    if (!old || old->source.value != store.buffer.value || old->mask.defined() || !same(old->index[0], store.index[0]))
      return std::nullopt;
    const Binary* product = std::get_if<Binary>(&sum->b->kind);
    if (!product || product->op != BinaryOp::mul) return std::nullopt;
    for (const auto& [x, w] : {std::pair(product->a, product->b), std::pair(product->b, product->a)}) {
      const Expr from = row_of(x, DType::u8), by = row_of(w, DType::i8);
      if (!from.defined() || !by.defined()) continue;
      return ByteProduct{analysis_.table().intern(from), analysis_.table().intern(by),
                         info(std::get<Load>(from->kind).index[0]).linear};
    }
    return std::nullopt;
  }

  /// The load of neighbouring bytes that nothing in the kernel changes, which `wide` is in i32; undefined for another expression.
  Expr row_of(const Expr& wide, DType dtype) {
    const Cast* cast = std::get_if<Cast>(&wide->kind);
    const Load* load = cast && cast->a->dtype == dtype ? std::get_if<Load>(&cast->a->kind) : nullptr;
    if (!load || load->mask.defined() || load->index.size() != 1 || cast->a->lanes != lanes_) return {};
    const Buffer& buffer = program_.buffer(BufferId(load->source.value));
    const ExprInfo& index = info(load->index[0]);
    const bool is_row = index.is_linear && index.linear.lane_stride == 1;
    return buffer.scope == Scope::argument && !buffer.written && is_row ? cast->a : Expr();
  }

  Analysis& analysis_;
  const Program& program_;
  int lanes_;
  std::size_t most_;
  std::optional<std::int64_t> step_;
  ByteSums sums_;
  std::map<std::pair<BufferId, ExprRef>, Open> open_;  ///< by place
};

}  // namespace

ByteSums find_byte_sums(const std::vector<const Store*>& run, Analysis& analysis, const Program& program, int lanes,
                        std::size_t most) {
  return SumFinder(analysis, program, lanes, most).find(run);
}

}  // namespace whet
