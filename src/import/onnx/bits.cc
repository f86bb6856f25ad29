#include "import/onnx/importers.h"

// Bits of integers by arithmetic.

namespace whet {
namespace {

/// 2 to the power of 0 .. 255 as `dtype`, in which the powers from 8 on are `beyond`.
Tensor powers(DType dtype, std::int64_t beyond) {
  Tensor table(dtype, {256});
  for (std::int64_t i = 0; i < 256; ++i) table.set_integer(i, i < 8 ? std::int64_t{1} << i : beyond);
  return table;
}

}  // namespace

/// A product or a quotient with a power of two.
Status import_bit_shift(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_RETURN_IF_ERROR(site.expect_attribute("direction"));
  WHET_TRY(const std::size_t direction, site.choice("direction", "", {"LEFT", "RIGHT"}));
  if (site.dtype(0) != DType::u8 || site.dtype(1) != DType::u8) {
    return site.error("shifts " + to_string(site.type(site.in(0))) + " by " + to_string(site.type(site.in(1))) +
                      "; expected u8");
  }
  WHET_TRY(const ValueId bits, site.add("bits", CastOperator{DType::i32}, {site.in(1)}));
  if (direction == 0) {
    const ValueId table = site.add_constant("powers", powers(DType::u8, 0));
    WHET_TRY(const ValueId factor, site.add("factor", GatherOperator{0}, {table, bits}));
    return site.give(BinaryOperator{BinaryKind::mul}, {site.in(0), factor});
  }
  const ValueId table = site.add_constant("powers", powers(DType::i32, 256));
  WHET_TRY(const ValueId divisor, site.add("divisor", GatherOperator{0}, {table, bits}));
  WHET_TRY(const ValueId wide, site.add("wide", CastOperator{DType::i32}, {site.in(0)}));
  WHET_TRY(const ValueId shifted, site.add("shifted", BinaryOperator{BinaryKind::div}, {wide, divisor}));
  return site.give(CastOperator{DType::u8}, {shifted});
}

/// What is missing to a number whose bits are all set.
Status import_bitwise_not(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  const DType dtype = site.dtype(0);
  if (is_float(dtype) || dtype == DType::boolean) {
    return site.error("the input is " + to_string(site.type(site.in(0))) + "; expected integers");
  }
  const ValueId ones = site.add_scalar("ones", dtype, dtype == DType::u8 ? 255 : -1);
  return site.give(BinaryOperator{BinaryKind::sub}, {ones, site.in(0)});
}

}  // namespace whet
