#include "lower/copy_groups.h"

namespace whet {

Stmt without_copy_groups(const Stmt& s) {
  return rewrite(
      s,
      [](const Stmt& part) -> Stmt {
        const Block* list = std::get_if<Block>(&part->kind);
        if (!list) return Stmt();
        std::vector<Stmt> kept;
        for (const Stmt& each : list->body)
          if (!std::holds_alternative<CopyGroup>(each->kind)) kept.push_back(without_copy_groups(each));
        return block(std::move(kept));
      },
      nullptr);
}

}  // namespace whet
