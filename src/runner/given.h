#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runner/messages.h"

/// Contents of arguments that somebody gives, where those that a seed makes would show other times: indices of sparse rows. A process keeps
/// what it was given by a number that the contents have; specs name the number (ArgumentSpec::is_given). For several threads.
namespace whet {

/// The number of these contents, the same in all runs; never 0.
std::uint64_t number_of_contents(std::string_view bytes);
/// Keeps them as long as the process lives, and gives their number.
std::uint64_t keep_given(std::string bytes);
/// The contents of that number; null where this process was given none.
std::shared_ptr<const std::string> given_contents(std::uint64_t number);
/// A spec whose contents are given, of as many bytes.
ArgumentSpec given_spec(ArgumentSpec, std::uint64_t number);

/// A frame that gives a runner contents: their number and bytes.
std::string given_message(std::uint64_t number);
/// Keeps what such a frame has. False: it is none.
bool take_given(std::string_view message);
/// Whether this process has the contents of all arguments that are given.
bool has_given(const KernelJob&);

}  // namespace whet
