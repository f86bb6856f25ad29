#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "import/site.h"

/// Rows of a format's table name an operator's operands and attributes in the order in which a C++ function takes them. The site of
/// a node reads each as the type of the parameter, so that parts can be rows as they are:
///
///   {"Trilu", 14, "x diagonal=0 @upper=1", call<trilu>}     Result<ValueId> trilu(NodeSite&, ValueId x, std::int64_t k, bool upper)
///
///   x            an operand. One that must be known has its name in messages: number_of_bands
///   x?  x=0      one that may be left out; with the value that a known one then has
///   x[]          one that may be a sequence
///   values...    all operands that are left, at least one; values...? at least none
///   @k           an attribute. @k? may be left out; @k=1 then has this value; @k=0,2,3 this list
///   @axis(x)=0   one that counts the dimensions of x, and is given counted from 0 (a list: sorted, each once)
///   @mode:a|b=a  a text among these, given as its place
///   ~seed        an attribute that is allowed and means nothing for inference
///
/// Words behind those that are parameters are for the function itself, which reads them by their names.
namespace whet {

/// One word of a row.
struct Word {
  std::string_view name;
  bool is_operand = false, is_rest = false, may_be_sequence = false, is_optional = false, is_ignored = false;
  std::size_t place = 0;  ///< of an operand
  std::string_view axis_of;
  std::vector<std::string_view> choices;
  std::optional<std::string_view> usual;

  bool must_be_given() const { return !is_optional && !usual && !is_ignored; }
  /// What an operand is called that must be known.
  std::string what() const;
  /// The value of one that is left out; 0 or "" where the row has none.
  double usual_number() const;
  std::int64_t usual_integer() const;
  std::vector<std::int64_t> usual_integers() const;
  std::string usual_text() const { return std::string(usual.value_or("")); }
};
std::vector<Word> words_of(std::string_view row);

/// How many words of a row can be parameters.
constexpr std::size_t count_parameters(std::string_view row) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < row.size(); ++i)
    if (row[i] != ' ' && row[i] != '~' && (i == 0 || row[i - 1] == ' ')) ++count;
  return count;
}

/// A function as the last entry of a row.
template <auto function>
struct RowFunction {};
template <auto function>
constexpr RowFunction<function> call = {};

template <typename Given, typename Where, typename... Parameters>
constexpr std::size_t parameters_of(Given (*)(Where&, Parameters...)) {
  return sizeof...(Parameters);
}

/// Reads the parameters of `function` from the words of the site's row, in order, and gives the value that it returns, if it does
/// not give its results itself. `Site::read(word, parameter)` reads one.
template <typename Site, typename Given, typename Where, typename... Parameters>
Status called(Site& site, Given (*function)(Where&, Parameters...)) {
  std::tuple<std::remove_cvref_t<Parameters>...> parameters;
  Status status = ok_status();
  std::size_t word = 0;
  std::apply([&](auto&... each) { (void)((status = site.read(word++, each)).ok() && ...); }, parameters);
  if (!status.ok()) return status;
  const auto given = std::apply([&](auto&... each) { return function(site, std::move(each)...); }, parameters);
  if constexpr (std::is_same_v<Given, Status>)
    return given;
  else
    return site.give(given);
}

}  // namespace whet
