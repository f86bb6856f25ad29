#pragma once

#include <cstdio>
#include <string_view>

#include "cli/table.h"

namespace whet {

/// From now on no control character but ends of lines and tabs reaches standard output and standard error (`shown`): what is printed
/// holds names and messages of files, devices and brokers. For the beginning of the program.
void guard_output();

/// Sends a terminal a command of its own language, behind what was printed.
///   to  stdout or stderr
void command_terminal(std::FILE* to, std::string_view command);

/// Prints a table on standard output: on a terminal in its columns, with bold titles where it has colours and $NO_COLOR is not set; elsewhere whole.
void print(const Table&);
/// The same of one that is made to fit.
void print(const Table::Text&);

/// Writes bytes that are no text to standard output. False where they cannot be written.
bool write_bytes(std::string_view);

}  // namespace whet
