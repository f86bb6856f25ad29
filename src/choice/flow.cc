#include "choice/flow.h"

#include <algorithm>
#include <utility>

namespace whet {
namespace {

constexpr double kNothing = 1e-9;

}  // namespace

void Flow::add_edge(int from, int to, double capacity) {
  edges_[from].push_back({to, capacity, static_cast<int>(edges_[to].size())});
  edges_[to].push_back({from, 0, static_cast<int>(edges_[from].size()) - 1});
}

double Flow::send(double most) {
  double flow = 0;
  while (flow < most) {
    const double more = send_path();
    if (more <= kNothing) break;
    flow += more;
  }
  return flow;
}

/// Sends along a shortest path that has capacity left.
double Flow::send_path() {
  std::vector<std::pair<int, int>> from(edges_.size(),
                                        {-1, -1});  // for each node: the one before it, and the place of the edge there
  std::vector<int> open = {0};
  for (std::size_t at = 0; at < open.size() && from[1].first < 0; ++at) {
    const int node = open[at];
    for (std::size_t edge = 0; edge < edges_[node].size(); ++edge) {
      const auto& [to, left, back] = edges_[node][edge];
      if (left <= kNothing || to == 0 || from[to].first >= 0) continue;
      from[to] = {node, static_cast<int>(edge)};
      open.push_back(to);
    }
  }
  if (from[1].first < 0) return 0;
  double flow = edges_[from[1].first][from[1].second].left;
  for (int node = 1; node != 0; node = from[node].first)
    flow = std::min(flow, edges_[from[node].first][from[node].second].left);
  for (int node = 1; node != 0; node = from[node].first) {
    Edge& edge = edges_[from[node].first][from[node].second];
    edge.left -= flow;
    edges_[node][edge.back].left += flow;
  }
  return flow;
}

std::vector<char> Flow::reached() const {
  std::vector<char> reached(edges_.size(), 0);
  std::vector<int> open = {0};
  reached[0] = 1;
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    for (const Edge& edge : edges_[node]) {
      if (edge.left > kNothing && !std::exchange(reached[edge.to], 1)) open.push_back(edge.to);
    }
  }
  return reached;
}

}  // namespace whet
