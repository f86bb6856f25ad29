// whet-model inside of whet-device: board/model_client.cc.
.section .rodata
.globl whet_model_begin
.globl whet_model_end
.balign 16
whet_model_begin:
.incbin WHET_MODEL_PROGRAM
whet_model_end:
.byte 0
.section .note.GNU-stack, "", %progbits
