#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace whet {

/// The ELF machine of an x86-64 object.
constexpr std::uint16_t kElfX86_64 = 62;
/// That of an AArch64 object.
constexpr std::uint16_t kElfAArch64 = 183;

/// Where the weights begin in memory as objects know it, counted from the start of the library: behind all code that there
/// may be. link_model moves them to the end of the code that there is.
constexpr std::uint64_t kWeightsAddress = std::uint64_t{1} << 28;

/// A pointer in an image: to a read-only part, to the image itself, to a function of another object, or to the weights.
struct ImagePointer {
  enum class To { part, image, function, weights } to;
  std::uint64_t at = 0;    ///< of the pointer in the image
  std::size_t number = 0;  ///< of the part or the function
  std::uint64_t addend = 0;
};

/// The struct of a runtime that makes a library a model, and what it points to.
struct ModelObject {
  std::string symbol;                  ///< of the struct, hidden
  std::string image;                   ///< its bytes, zeros where pointers are
  std::vector<std::string> parts;      ///< read-only, each 64-byte aligned: the plan, images
  std::vector<std::string> functions;  ///< undefined symbols
  std::vector<ImagePointer> pointers;
};

/// The struct as a relocatable object. The weights are not in it: link_model puts them behind the library, and a note
/// keeps a program header free for them.
std::string write_object(const ModelObject&, std::uint16_t machine);

/// The object for models on the CPU: whet_image (runtime/model.h) over the stored plan, the kernels (undefined `symbols`,
/// in the order of the plan's entries) and `weights_bytes` of weights.
///   weights_key  not 0: they are in a file of their own, which has this number
std::string image_object(std::uint16_t machine, std::string_view plan, const std::vector<std::string>& symbols,
                         std::uint64_t weights_bytes, std::uint64_t weights_key = 0);
/// The same with the weights in it.
std::string image_object_with(std::uint16_t machine, std::string_view plan, const std::vector<std::string>& symbols,
                              std::string weights);

}  // namespace whet
