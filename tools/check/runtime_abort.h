/* When the HIP runtime ends the program (runtime_abort.c). */
#ifndef AOTHIP_CHECK_RUNTIME_ABORT_H
#define AOTHIP_CHECK_RUNTIME_ABORT_H

/* From here on an abort or crash is explained: it came in this case, from 1, on this device. */
void runtime_abort_in(int device, int number);

#endif
