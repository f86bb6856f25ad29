#include "codegen/x86/tile_unit.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>

namespace whet {
namespace {

void call(llvm::IRBuilderBase& b, llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value*> arguments) {
  b.CreateIntrinsic(b.getVoidTy(), id, arguments);
}

/// Palette 1: bytes of a row from byte 16 on, rows from byte 48 on.
std::string shapes(std::span<const TileShape> tiles) {
  std::string bytes(64, '\0');
  bytes[0] = 1;
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    bytes[16 + 2 * t] = static_cast<char>(tiles[t].bytes);
    bytes[48 + t] = static_cast<char>(tiles[t].rows);
  }
  return bytes;
}

void configure(llvm::IRBuilderBase& b, llvm::Value* shapes) { call(b, llvm::Intrinsic::x86_ldtilecfg, {shapes}); }

void zero(llvm::IRBuilderBase& b, int tile) {
  call(b, llvm::Intrinsic::x86_tilezero, {b.getInt8(static_cast<std::uint8_t>(tile))});
}

void load(llvm::IRBuilderBase& b, int tile, llvm::Value* address, llvm::Value* stride) {
  call(b, llvm::Intrinsic::x86_tileloadd64, {b.getInt8(static_cast<std::uint8_t>(tile)), address, stride});
}

void store(llvm::IRBuilderBase& b, int tile, llvm::Value* address, llvm::Value* stride) {
  call(b, llvm::Intrinsic::x86_tilestored64, {b.getInt8(static_cast<std::uint8_t>(tile)), address, stride});
}

void multiply(llvm::IRBuilderBase& b, Intrinsic intrinsic, int sums, int left, int right) {
  const auto number = [&](int tile) { return b.getInt8(static_cast<std::uint8_t>(tile)); };
  call(b, intrinsic == Intrinsic::tile_u8 ? llvm::Intrinsic::x86_tdpbusd : llvm::Intrinsic::x86_tdpbf16ps,
       {number(sums), number(left), number(right)});
}

void release(llvm::IRBuilderBase& b) { call(b, llvm::Intrinsic::x86_tilerelease, {}); }

}  // namespace

const TileUnit kAmx = {.shapes = shapes,
                       .configure = configure,
                       .zero = zero,
                       .load = load,
                       .store = store,
                       .multiply = multiply,
                       .release = release};

}  // namespace whet
