  .section .rodata.whet_board_programs, "a"
  .balign 64
  .global whet_board_x86_64_begin
whet_board_x86_64_begin:
  .incbin WHET_BOARD_X86_64
  .global whet_board_x86_64_end
whet_board_x86_64_end:
  .byte 0
  .balign 64
  .global whet_board_aarch64_begin
whet_board_aarch64_begin:
  .incbin WHET_BOARD_AARCH64
  .global whet_board_aarch64_end
whet_board_aarch64_end:
  .byte 0
  .global whet_board_x86_64_hash
whet_board_x86_64_hash:
  .incbin WHET_BOARD_X86_64_HASH
  .global whet_board_aarch64_hash
whet_board_aarch64_hash:
  .incbin WHET_BOARD_AARCH64_HASH
  .section .note.GNU-stack, "", %progbits
