#include "lower/cpu/join_cases.h"

#include "program/context.h"

namespace whet {
namespace {

constexpr std::int64_t kBytes = 4;  ///< of a word

class CaseJoiner {
 public:
  explicit CaseJoiner(const Program& program) : program_(program) {}

  Stmt visit(const Stmt& s) const {
    return rewrite(
        s,
        [&](const Stmt& part) -> Stmt {
          const Block* n = std::get_if<Block>(&part->kind);
          return n ? joined(n->body) : Stmt();
        },
        nullptr);
  }

 private:
  Stmt joined(const std::vector<Stmt>& body) const {
    std::vector<Stmt> out;
    for (std::size_t k = 0; k < body.size();) {
      const std::size_t end = end_of_cases(body, k);
      if (end == k) {
        out.push_back(visit(body[k++]));
        continue;
      }
      std::vector<Stmt> then_body, else_body;
      Expr condition;
      for (; k < end; ++k) {
        const If* choice = std::get_if<If>(&body[k]->kind);
        if (choice) condition = choice->condition;
        then_body.push_back(choice ? choice->then_body : body[k]);
        else_body.push_back(choice ? choice->else_body : body[k]);
      }
      out.push_back(make_stmt(If{condition, block(std::move(then_body)), block(std::move(else_body))}));
    }
    return block(std::move(out));
  }

  /// Behind the last of the statements from `first` on that are such stores to one buffer; `first` where no two choose, or none
  /// is a vector.
  std::size_t end_of_cases(const std::vector<Stmt>& body, std::size_t first) const {
    const If* choice = nullptr;
    int choices = 0;
    BufferId buffer;
    bool vectors = false;
    const auto is_of_words = [&](const Stmt& s) {
      const Store* store = s.defined() ? std::get_if<Store>(&s->kind) : nullptr;
      if (!store || (buffer.valid() && store->buffer != buffer) || !writes_bytes_apart(*store)) return false;
      buffer = store->buffer;
      vectors = vectors || store->index[0]->lanes > 1;
      return true;
    };
    std::size_t end = first;
    for (; end < body.size(); ++end) {
      const If* n = body[end].defined() ? std::get_if<If>(&body[end]->kind) : nullptr;
      if (n) {
        if (has_load(n->condition) || (choice && !same(choice->condition, n->condition))) break;
        if (!is_of_words(n->then_body) || !is_of_words(n->else_body)) break;
        choice = n, ++choices;
      } else if (!is_of_words(body[end])) {
        break;
      }
    }
    return choices > 1 && vectors ? end : first;
  }

  bool writes_bytes_apart(const Store& store) const {
    const Buffer& buffer = program_.buffer(store.buffer);
    if (size_of(buffer.dtype) != 1 || buffer.scope == Scope::registers || store.mask.defined() ||
        store.index.size() != 1)
      return false;
    const Ramp* ramp = std::get_if<Ramp>(&store.index[0]->kind);
    if (store.index[0]->lanes > 1 && (!ramp || ramp->stride != kBytes)) return false;
    bool reads = false;
    for_each(store.value, [&](const Expr& e) {
      const Load* load = std::get_if<Load>(&e->kind);
      reads = reads || (load && load->source.value == store.buffer.value);
    });
    return !reads;
  }

  const Program& program_;
};

}  // namespace

Program join_cases(Program program) {
  if (program.body.defined()) program.body = CaseJoiner(program).visit(program.body);
  return program;
}

}  // namespace whet
