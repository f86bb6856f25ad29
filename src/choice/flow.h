#pragma once

#include <vector>

namespace whet {

/// The largest flow from the source to the sink of a graph with few nodes.
class Flow {
 public:
  static constexpr int kSource = 0, kSink = 1;

  int add_node() { return edges_.emplace_back(), static_cast<int>(edges_.size()) - 1; }
  void add_edge(int from, int to, double capacity);

  /// Sends what fits, up to `most` and a little more; the flow.
  double send(double most);

  /// For each node: more could flow there from the source. After `send`, the edges from such nodes to others are a smallest cut.
  std::vector<char> reached() const;

 private:
  struct Edge {
    int to;
    double left;  // capacity that is not used
    int back;     // the place of the reverse edge among those of `to`
  };

  double send_path();

  std::vector<std::vector<Edge>> edges_ = std::vector<std::vector<Edge>>(2);
};

}  // namespace whet
