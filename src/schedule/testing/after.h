#pragma once

#include <gtest/gtest.h>

#include <string>

#include "schedule/steps.h"

namespace whet::testing {

/// The forest after the steps, as text, or the refusal.
inline std::string after(const char* text, const char* steps) {
  const Result<Steps> parsed = parse_steps(steps);
  if (!parsed.ok()) return parsed.error().message;
  EXPECT_EQ(to_text(*parsed), steps) << "steps print as they parse";
  const Result<LoopTree> tree = replay(parse_dag(text).value(), *parsed);
  return tree.ok() ? to_text(*tree) : tree.error().message;
}

}  // namespace whet::testing
