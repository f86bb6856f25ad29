  .section .rodata.whet_bases, "a"
  .global whet_base_512_begin
whet_base_512_begin:
  .incbin WHET_BASE_512
  .global whet_base_512_end
whet_base_512_end:
  .byte 0
  .global whet_base_256_begin
whet_base_256_begin:
  .incbin WHET_BASE_256
  .global whet_base_256_end
whet_base_256_end:
  .byte 0
  .section .note.GNU-stack, "", %progbits
