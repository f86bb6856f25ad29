#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "import/call.h"
#include "import/define.h"
#include "import_torch/program.h"

/// Rows of torch's table name an operator's arguments in the order in which a C++ function takes them, as the other formats' rows do
/// (call.h). A node's TorchSite reads each as the type of the parameter:
///
///   {"aten.elu", "default", "self alpha=1 scale=1 input_scale=1", calls<import_elu>, kWide}
///
///   name         an argument, by its name or place. One number is a list of one. Numbers may be computed, and must be known; sizes
///                (Size, Sizes) may be decided by values
///   name?        one that may be left out, or none
///   name=1       one that may be left out, with the value that it then has: a number, true, false, a text or [], an empty list
///   =2           what the function gets there, behind all arguments
///   name...      all arguments that are left, as a list
///   ~name        one that is no parameter
///   name:a|b=a   a text among these, given as its place
///   dim(x)       an axis of x, counted from 0; a scalar has axis 0. As a list: each once; none or an empty list are all
///   dim(x!)      the same of x that is no scalar
///   value(x)     a tensor or a number in the type of x, a tensor or a type; of x|y in that of the first that is given
///   x:floats     a tensor, integers as f32
///   x:common     a tensor or a number in the type that torch computes in for all that are marked so. One that is read as a number
///                counts for that type too
///   x:ratio      the same, integers as f32
///   x:number     the same for numbers that are computed from sizes: i64 or f64
///   x:bool x:f32 x:f64 x:i32 x:i64   a tensor or a number in that type
///
/// A function may read words that are no parameters, or are behind them, by their names.
namespace whet::torch {

struct TorchRow;
using Sizes = std::vector<Size>;
using Program = std::shared_ptr<const TorchProgram>;
using OptionalId = std::optional<ValueId>;
using OptionalIds = std::vector<OptionalId>;

/// The parts of complex numbers, which are a list of two values while importing.
struct ComplexParts {
  ValueId real, imaginary;
};

/// The type that holds both.
DType wider(DType a, DType b);

/// The site of a node of PyTorch, whose arguments are called as its row calls them. Results and steps: see NodeSite.
class TorchSite : public NodeSite {
 public:
  /// All that the node reads is defined. `program`: the nodes before it, perhaps with itself and those behind.
  TorchSite(GrowingGraph& graph, const TorchNode& node, const TorchProgram& program, bool is_inner = false)
      : NodeSite(graph, node.label, node.outputs, is_inner), node_(node), program_(program) {}

  /// Imports the node; every result that something reads is given.
  Status import();

  // ---- Results: see NodeSite. Those that are computed in f32 for f16 are rounded, and those that are integers of 16 bits wrap.
  using NodeSite::give, NodeSite::give_constant;
  Status give(ValueId x, std::size_t i = 0) override;
  Status give(const Operator&, std::vector<ValueId> inputs, std::size_t i = 0) override;

  // ---- Words of the row.
  bool is_given(std::size_t word) const { return !given_[parameters_.at(word)].is_none(); }
  /// The word as a parameter of a function.
  template <typename T>
  Result<T> parameter(std::size_t word);

  // ---- Arguments by the names of the row.
  bool has(std::string_view name) const { return !argument(name).is_none(); }
  Result<ValueId> tensor(std::string_view name);
  /// None where the tensor is not complex; every other access refuses complex numbers.
  std::optional<ComplexParts> complex(std::string_view name) const;
  /// The rank that the file gives the tensor; none where it says nothing.
  std::optional<std::size_t> said_rank(std::string_view name) const;
  /// An argument that is a type, as the file has it; a type of no number where it is none.
  ScalarType said_type(std::string_view name) const;
  /// torch's type of a tensor, by the file where that says it; else that of its elements here.
  Result<ScalarType> torch_type(std::string_view name);
  /// Whether of the only result nothing reads more than the first `count` entries, as slices show.
  bool only_first_are_read(std::int64_t count) const;
  /// Whether the tensor is all of its memory, row by row (layout.h). Inputs of bodies are not known to be.
  bool lies_row_by_row(std::string_view name) const;
  Result<bool> flag(std::string_view name);
  Result<std::int64_t> integer(std::string_view name);
  Result<double> number(std::string_view name);
  Result<std::string> text(std::string_view name);
  Result<Ints> integers(std::string_view name);
  /// `count` entries, of which one stands for all; each in low .. kMaxElements.
  Result<Ints> entries(std::string_view name, std::size_t count, std::int64_t low);
  /// A tensor or a number as a tensor of `dtype`.
  Result<ValueId> operand(std::string_view name, DType dtype);

  /// Refuses numbers that are dropped at random.
  Status expect_no_dropout(double p, bool train = true) const;
  using NodeSite::dtype, NodeSite::sizes;
  std::int64_t extent(ValueId x, std::int64_t d) const { return shape(x)[static_cast<std::size_t>(d)]; }
  /// Complex numbers, or real ones as they are.
  Result<ComplexParts> as_complex(std::string_view name);
  Status give_complex(ValueId real, ValueId imaginary) { return give_sequence(dtype(real), {real, imaginary}); }
  /// Imports a program where the node is, its inputs being `inputs`, and gives its outputs.
  Result<ValueIds> inlined(const TorchProgram&, const ValueIds& inputs);

 private:
  Status import_defined(const OperatorDefinition&);
  Status bind();
  /// The name of argument `i`; scripts give most of them by their places.
  std::string_view argument_name(std::size_t i) const;
  /// Whether the node reads complex numbers, or asks for them.
  bool reads_complex() const;
  bool asks_for_complex() const;
  /// An argument with one part of its complex numbers. `is_whole`: real numbers stay in both; else they have no imaginary part.
  Result<Argument> part_of(const Argument&, std::string_view name, bool imaginary, bool is_whole);
  /// The results of the node with such arguments. `turned`: of which of two complex operands the imaginary parts are taken.
  Result<ValueIds> part_results(bool imaginary, bool is_whole, int turned = -1);
  /// What moves elements of complex numbers moves both parts; what multiplies them multiplies the parts.
  Status import_parts();
  Status import_products();
  /// The type of its floats, of 16 bits, where torch computes the operator in f32.
  std::optional<DType> widened_type() const;
  std::size_t place_of(std::string_view name) const;
  const Argument& argument(std::string_view name) const { return given_[place_of(name)]; }
  Error wrong_kind(const Argument&, std::string_view name, const char* expected) const;
  /// Whether result `i` is of integers of 16 bits, which are held in i32, and perhaps leaves their range; by the file, or by an argument
  /// that is its type.
  bool may_wrap(std::size_t i) const;
  /// torch's type of result `i`, as far as it is said.
  ScalarType type_of_result(std::size_t i) const;
  /// What the name stands for, before floats of 16 bits become f32.
  Result<ValueId> found(const Name&) const;
  /// The one entry of what a value holds.
  template <typename T>
  Result<T> only_one(const std::vector<T>& values, std::string_view name) const;
  Result<ValueId> as_tensor(const Argument&, std::string_view name);
  Result<OptionalId> as_optional(const Argument&, std::string_view name);
  Result<std::int64_t> as_integer(const Argument&, std::string_view name);
  Result<double> as_number(const Argument&, std::string_view name);
  Result<Size> as_size(const Argument&, std::string_view name);
  /// `read` of each of a list, or of an argument that is no list.
  template <typename T>
  Result<std::vector<T>> each(std::string_view name, Result<T> (TorchSite::*read)(const Argument&, std::string_view));
  /// Of a tensor.
  Result<DType> type_of(std::string_view name);
  /// Of all that are marked as the word is.
  Result<DType> common_type(const Word&) const;

  // ---- One word as a parameter.
  Result<ValueId> value(const Word&);
  Result<std::int64_t> integer(const Word&);
  Result<Ints> integers(const Word&);
  Result<DType> dtype(const Word&) const;
  Result<Program> program(const Word&) const;
  Result<ComplexParts> complex(const Word&);

  const TorchNode& node_;
  const TorchProgram& program_;
  const TorchRow* row_ = nullptr;
  std::optional<DType> wide_;  ///< floats of this type are read as f32, and results are rounded to it
  std::vector<Word> words_;
  Arguments given_;                      ///< for each word
  std::vector<std::size_t> parameters_;  ///< the words that are
};

template <typename T>
Result<std::vector<T>> TorchSite::each(std::string_view name,
                                       Result<T> (TorchSite::*read)(const Argument&, std::string_view)) {
  const Argument& given = argument(name);
  const auto* list = std::get_if<Arguments>(&given.value);
  std::vector<T> values;
  for (const Argument& one : list != nullptr ? *list : Arguments{given}) {
    WHET_TRY(T value, (this->*read)(one, name));
    values.push_back(std::move(value));
  }
  return values;
}

template <typename T>
Result<T> TorchSite::parameter(std::size_t i) {
  const Word& word = words_[parameters_.at(i)];
  if constexpr (std::is_arithmetic_v<T>)
    if (word.name.empty()) return static_cast<T>(word.usual_number());
  if constexpr (std::is_same_v<T, ValueId>) return value(word);
  if constexpr (std::is_same_v<T, ValueIds>) return each(word.name, &TorchSite::as_tensor);
  if constexpr (std::is_same_v<T, OptionalIds>) return each(word.name, &TorchSite::as_optional);
  if constexpr (std::is_same_v<T, ComplexParts>) return complex(word);
  if constexpr (std::is_same_v<T, Program>) return program(word);
  if constexpr (std::is_same_v<T, Size>) return as_size(argument(word.name), word.name);
  if constexpr (std::is_same_v<T, Sizes>) return each(word.name, &TorchSite::as_size);
  if constexpr (std::is_same_v<T, bool>) return flag(word.name);
  if constexpr (std::is_same_v<T, std::int64_t>) return integer(word);
  if constexpr (std::is_same_v<T, double>) return number(word.name);
  if constexpr (std::is_same_v<T, std::string>) return text(word.name);
  if constexpr (std::is_same_v<T, DType>) return dtype(word);
  if constexpr (std::is_same_v<T, Ints>) return integers(word);
  if constexpr (std::is_same_v<T, Numbers>) return each(word.name, &TorchSite::as_number);
}

/// Compares a node's results with the types that the file has of them.
Status check_types(const GrowingGraph&, const TorchNode&, const TorchProgram&);

}  // namespace whet::torch
