#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace whet {

/// A user's tensors that a task is measured with, where values decide what a kernel reads.
struct TaskInputs {
  std::vector<std::uint64_t>
      contents;      ///< by placeholder: the number of its contents (runner/given.h); 0: they are made from a seed
  std::string hash;  ///< of all, hexadecimal, which records keep; "": all are made from seeds
  friend bool operator==(const TaskInputs&, const TaskInputs&) = default;

  std::uint64_t number(std::size_t placeholder) const {
    return placeholder < contents.size() ? contents[placeholder] : 0;
  }
};

}  // namespace whet
