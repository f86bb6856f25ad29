#include "choice/components.h"

#include <algorithm>
#include <cstddef>

namespace whet {
namespace {

/// Tarjan's algorithm with a stack of its own: a network's graph may be deeper than the program's stack.
class ComponentSearch {
 public:
  explicit ComponentSearch(const std::vector<std::vector<int>>& edges)
      : edges_(edges), component_(edges.size(), -1), entered_(edges.size(), 0), low_(edges.size(), 0) {}

  std::vector<int> all() {
    for (int node = 0; node < static_cast<int>(edges_.size()); ++node) {
      if (entered_[node] == 0) visit(node);
    }
    return component_;
  }

 private:
  struct Visit {
    int node;
    std::size_t next = 0;  // the edge to follow
  };

  void enter(int node) {
    entered_[node] = low_[node] = ++entries_;
    open_.push_back(node);
    path_.push_back({node});
  }

  void visit(int root) {
    enter(root);
    while (!path_.empty()) {
      Visit& top = path_.back();
      if (top.next == edges_[top.node].size()) {
        leave(top.node);
        continue;
      }
      const int next = edges_[top.node][top.next++];
      if (entered_[next] == 0) {
        enter(next);
      } else if (component_[next] < 0) {
        low_[top.node] = std::min(low_[top.node], entered_[next]);
      }
    }
  }

  void leave(int node) {
    path_.pop_back();
    if (!path_.empty()) low_[path_.back().node] = std::min(low_[path_.back().node], low_[node]);
    if (low_[node] != entered_[node]) return;
    while (component_[node] < 0) {
      component_[open_.back()] = components_;
      open_.pop_back();
    }
    ++components_;
  }

  const std::vector<std::vector<int>>& edges_;
  std::vector<int> component_, entered_, low_;
  std::vector<int> open_;  // entered, in no component yet
  std::vector<Visit> path_;
  int entries_ = 0, components_ = 0;
};

}  // namespace

std::vector<int> strong_components(const std::vector<std::vector<int>>& edges) { return ComponentSearch(edges).all(); }

}  // namespace whet
