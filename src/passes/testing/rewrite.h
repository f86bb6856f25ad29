#pragma once

#include <gtest/gtest.h>

#include <string>

#include "graph/graph.h"

namespace whet::testing {

/// The nodes after a pass, one a line: `name: f32[2x3] = operator(a, b) attributes`, without the comment at the end.
inline std::string nodes_of(const Graph& graph) {
  std::istringstream text(to_text(graph));
  std::string line, result;
  while (std::getline(text, line)) {
    if (line.find(" = ") != std::string::npos) result += line.substr(0, line.find("  #")) + "\n";
  }
  return result;
}

inline std::string after(Result<Graph> (*pass)(const Graph&), const Graph& graph) {
  const auto result = pass(graph);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  if (!result.ok()) return "";
  const Status status = verify(*result);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return nodes_of(*result);
}

}  // namespace whet::testing
