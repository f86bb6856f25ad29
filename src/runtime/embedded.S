  .section .rodata.whet_runtime_object, "a"
  .balign 64
  .global whet_runtime_object_begin
whet_runtime_object_begin:
  .incbin WHET_RUNTIME_OBJECT
  .global whet_runtime_object_end
whet_runtime_object_end:
  .byte 0

  .section .rodata.whet_cuda_runtime_object, "a"
  .balign 64
  .global whet_cuda_runtime_object_begin
whet_cuda_runtime_object_begin:
  .incbin WHET_CUDA_RUNTIME_OBJECT
  .global whet_cuda_runtime_object_end
whet_cuda_runtime_object_end:
  .byte 0

  .section .rodata.whet_aarch64_runtime_object, "a"
  .balign 64
  .global whet_aarch64_runtime_object_begin
whet_aarch64_runtime_object_begin:
  .incbin WHET_AARCH64_RUNTIME_OBJECT
  .global whet_aarch64_runtime_object_end
whet_aarch64_runtime_object_end:
  .byte 0
  .section .note.GNU-stack, "", %progbits
