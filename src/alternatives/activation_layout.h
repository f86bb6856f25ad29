#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace whet {

/// In which type an activation is stored that the fused graph has as f32.
enum class StoredAs : std::uint8_t {
  usual,  ///< as it is
  bf16,   ///< rounded: channels last, of any rank
  i16,    ///< the same as whole numbers of 16 bits with a scale (stored_numbers.h)
  u8,     ///< the same as bytes with a scale and a zero point
};
/// All but the usual one.
constexpr StoredAs kLoweredTypes[] = {StoredAs::bf16, StoredAs::i16, StoredAs::u8};
/// f32 of the usual one.
DType dtype_of(StoredAs);

/// How an activation that the fused graph has as [N, spatial..., C] is stored: in blocks of neighbouring channels.
///   nhwc     [N, spatial..., C]          one block
///   nchw     [N, C, spatial...]          blocks of one channel
///   nchw16c  [N, C/16, spatial..., 16]; where 16 does not divide C, the last block is padded with channels that hold any
///            finite numbers, as long as all values are finite. From an infinite value they become NaN (0 times infinity), and
///            so do all channels of the convolution that reads them
///   bf16     as nhwc, each number rounded
///   i16, u8  as nhwc, each number as a multiple of the value's scale
/// The graph tuner of AutoTVM has the same family: Liu et al., "Optimizing CNN Model Inference on CPUs", USENIX ATC 2019.
struct ActivationLayout {
  std::int64_t block = 0;  ///< channels of a block; 0: all of them
  int wide = 0;  ///< other than 0: some channels of the tensor that merged kernel number `wide` writes (merge.h)
  StoredAs stored = StoredAs::usual;  ///< other than usual: `block` and `wide` are 0
  friend auto operator<=>(const ActivationLayout&, const ActivationLayout&) = default;
};
constexpr ActivationLayout kChannelsLast{0}, kChannelsFirst{1};

/// "nhwc", "nchw", "nchw16c", "bf16", "i16", "u8"; "merged tensor 3", which is read by no one
std::string to_text(ActivationLayout);
std::optional<ActivationLayout> parse_activation_layout(std::string_view text);

/// The channels that a form stores of `channels`: whole blocks.
std::int64_t stored_channels(std::int64_t channels, ActivationLayout);
/// The form stores channels that the value does not have.
bool pads(const Shape& shape, ActivationLayout);
/// At most a third more channels are stored, in blocks of 32 at most: kernels that read them multiply by zeros as often.
bool pads_little(const Shape& shape, ActivationLayout);
/// The shape of a value of `shape` [N, spatial..., C] as the form stores it. Nothing where it has no such form: other
/// ranks than 3 to 5, channels of a merged tensor.
std::optional<Shape> stored_shape(const Shape& shape, ActivationLayout);
/// `add_transform` can turn one form of a value of `shape` into the other: both are of the usual type, and the blocks of one are whole
/// blocks of the other.
bool nests(const Shape& shape, ActivationLayout, ActivationLayout);
/// The nodes that turn `value`, a picture of `shape` [N, spatial..., C] that is stored as `from`, into the form `to`: reshapes
/// and one transpose, before it a padding or behind it a slice where one of them stores more channels. `name` is the result's.
Result<ValueId> add_transform(Graph&, ValueId value, const Shape& shape, ActivationLayout from, ActivationLayout to,
                              const std::string& name);

}  // namespace whet
