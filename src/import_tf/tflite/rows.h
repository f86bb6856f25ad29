#pragma once

#include "import/rows.h"
#include "import_tf/rows.h"
#include "import_tf/tflite/flex.h"
#include "import_tf/tflite/site.h"

/// The operators of TensorFlow Lite that whet reads. Each family's rows are at the end of its file; rows.cc gathers them.
namespace whet::tflite {

/// How operands pass to a function: as they are stored; in floats, which the results are stored from; as they are stored if that
/// means the same in all results, else in floats; or as `as_real`, but where x, w and the result have 8 bits, x and w count from
/// their zero points, and the result is the sum of their products.
enum Passing : std::uint8_t { as_plain, as_real, as_moved, as_sum };

struct TfliteRow {
  /// `takes`: see call.h. `fields`: attributes by the fields of the options, "axis=int#1 keep_dims=bool#0": int, byte, ints, float, floats, bool
  /// (yes where true is usual), a body (graph#0), a text of two (A|B#0), the type of a result (type#0), and a list of one number for
  /// each spatial dimension of images (window#2,1; ones#2,1 where 1 is usual). "activation#0" is what is done to the result. "a=true"
  /// and "a=text" are so always.
  template <auto function>
  consteval TfliteRow(std::string_view op, Passing passing, std::string_view takes, RowFunction<function> call,
                      std::string_view fields = "")
      : op(op), passing(passing), takes(takes), fields(fields), import(CallRow<TfliteSite>(op, takes, call).import) {}
  /// `as`: TensorFlow's operator; the one of the same words where it is left out.
  constexpr TfliteRow(std::string_view op, Passing passing, std::string_view as = "", std::string_view fields = "")
      : op(op), passing(passing), as(as), fields(fields) {}

  std::string_view op;
  Passing passing;
  std::string_view as, takes, fields;
  Status (*import)(TfliteSite&) = nullptr;
};
using TfliteRows = std::span<const TfliteRow>;
/// All rows, by operator.
TfliteRows rows();
const TfliteRow* find_row(std::string_view op);
/// TensorFlow's operator that a row is; null where the row has a function of its own.
const tensorflow::TfRow* tensorflow_row(const TfliteRow&);
/// The name of an operator's number; a custom one's own name.
std::string operator_name(int code, const std::string& custom);

/// The options of custom operators that are numbers of 32 bits.
Result<Ints> custom_fields(const TfliteSite&, std::size_t count);
/// The options of others, which are maps of FlexBuffers. Errors name the option.
Result<FlexMap> custom_map(const TfliteSite&);
Result<double> custom_number(const TfliteSite&, const FlexMap&, const std::string& name);
Result<std::int64_t> custom_integer(const TfliteSite&, const FlexMap&, const std::string& name, std::int64_t low,
                                    std::int64_t high);
/// A list of 0 .. high; not empty.
Result<Ints> custom_integers(const TfliteSite&, const FlexMap&, const std::string& name, std::int64_t high);

/// Operators of the bodies of branches and loops that nothing reads.
std::vector<std::string> missing_in_bodies(const TfliteModel&);

TfliteRows control_rows(), detection_rows(), elementwise_rows(), landmarks_rows(), matrix_rows(), media_pipe_rows(),
    recurrent_rows(), shape_rows(), window_rows();

}  // namespace whet::tflite
