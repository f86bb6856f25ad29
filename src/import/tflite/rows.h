#pragma once

#include "import/arity.h"
#include "import/rows.h"
#include "import/tflite/flex.h"
#include "import/tflite/site.h"

/// The operators of TensorFlow Lite that whet reads. Each family's rows are at the end of its file; rows.cc gathers them.
namespace whet::tflite {

/// How an operator that TensorFlow has too passes its operands to TensorFlow's function: as they are stored; in floats, which the
/// results are stored from; or as they are stored if that means the same in all results, else in floats.
enum Passing : std::uint8_t { as_plain, as_real, as_moved };

struct TfliteRow {
  constexpr TfliteRow(std::string_view op, Arity arity, Status (*import)(TfliteSite&))
      : op(op), arity(arity), import(import) {}
  constexpr TfliteRow(std::string_view op, Status (*import)(TfliteSite&)) : TfliteRow(op, kAnyArity, import) {}
  /// `as`: TensorFlow's operator. `attributes`: its attributes by the fields of the options, "axis=int#1 keep_dims=bool#0": int, ints,
  /// float, bool, a text of two (A|B), a list of rows and columns (window#2,1), and the type of a result (type#0). "activation#0" is what
  /// is done to the result.
  constexpr TfliteRow(std::string_view op, Passing passing, std::string_view as, std::string_view attributes = "")
      : op(op), passing(passing), as(as), attributes(attributes) {}

  std::string_view op;
  Arity arity = kAnyArity;
  Status (*import)(TfliteSite&) = nullptr;
  Passing passing = as_plain;
  std::string_view as, attributes;
};
using TfliteRows = std::span<const TfliteRow>;
/// All rows, by operator.
TfliteRows rows();
const TfliteRow* find_row(std::string_view op);
/// The name of an operator's number; a custom one's own name.
std::string operator_name(int code, const std::string& custom);

/// The options of custom operators, which are maps of FlexBuffers. Errors name the option.
Result<FlexMap> custom_map(const TfliteSite&);
Result<double> custom_number(const TfliteSite&, const FlexMap&, const std::string& name);
Result<std::int64_t> custom_integer(const TfliteSite&, const FlexMap&, const std::string& name, std::int64_t low,
                                    std::int64_t high);
/// A list of 0 .. high; not empty.
Result<std::vector<std::int64_t>> custom_integers(const TfliteSite&, const FlexMap&, const std::string& name,
                                                  std::int64_t high);

/// Operators of the bodies of branches and loops that nothing reads.
std::vector<std::string> missing_in_bodies(const TfliteModel&);

TfliteRows boxes_rows(), control_rows(), detection_rows(), elementwise_rows(), landmarks_rows(), matrix_rows(),
    media_pipe_rows(), recurrent_rows(), shape_rows(), spectrum_rows(), window_rows();

}  // namespace whet::tflite
