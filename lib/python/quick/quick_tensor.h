#ifndef QUICK_TENSOR_H
#define QUICK_TENSOR_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03080000
#include <Python.h>

#include <stddef.h>
#include <stdint.h>

#include "aothip/aothip.h"

/* What is asked of torch; made once by quick_tensor_setup(), never freed. */
struct quick_torch {
    PyObject *tensor, *parameter;               /* types */
    PyObject *f32, *f16, *bf16, *boolean, *i32, *u8; /* of torch.dtype */
    PyObject *e4m3, *e5m2, *e4m3_fnuz, *e5m2_fnuz;
    PyObject *data_ptr, *shape, *stride, *dtype, *device, *new_zeros,
        *new_empty_strided; /* names */
    PyObject *empty_like;   /* the function */
    PyObject *as_f32;       /* {"dtype": torch.float32} */
};
extern struct quick_torch quick_torch;

/* From the module torch. 0, or -1 with an exception. */
int quick_tensor_setup(PyObject *torch);

/* A torch tensor as it lies in memory. */
struct quick_tensor {
    PyObject *object; /* borrowed */
    PyObject *dtype;  /* borrowed: torch keeps its own */
    void *data;
    int64_t size[4], stride[4];
    int dims;
};

/* Whether x is a plain tensor (no subclass but Parameter) of 1 to 4 dimensions, none of them 0, on
 * `device` (NULL: any). Nothing raises: what cannot be read is no plain tensor. */
int quick_tensor_read(struct quick_tensor *t, PyObject *x, PyObject *device);

/* Whether x, a tensor of the type, shape and device of t, lies where t does. Nothing raises. */
int quick_tensor_unmoved(const struct quick_tensor *t, PyObject *x);

/* enum aothip_dtype of a floating type, FP8 included, or of bool; 0 of any other. */
int32_t quick_tensor_dtype(const struct quick_tensor *t);

/* As the C API wants it; axis[i] is the axis that becomes number i, -1 a new one of size 1. */
struct aothip_tensor quick_tensor_view(const struct quick_tensor *t, const int axis[4]);

/* Strides as if its elements lay behind each other. */
void quick_tensor_pack(struct quick_tensor *t);

/* Whether its elements lie behind each other. */
int quick_tensor_packed(const struct quick_tensor *t);

/* like.new_empty(shape), or of zeros; dtype: NULL, quick_torch.as_f32. New reference,
 * or NULL with an exception. */
PyObject *quick_tensor_new(PyObject *like, PyObject *shape, PyObject *dtype, int zeros);

/* torch.empty_like(x), which takes half as long; x must be packed. New reference, or NULL. */
PyObject *quick_tensor_same(PyObject *x);

/* x.data_ptr(). 0, or -1 with an exception. */
int quick_tensor_address(PyObject *x, void **address);

#endif
