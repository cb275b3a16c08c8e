/* Reads and makes torch tensors by their attributes: of any torch, and linked with none. */
#include "quick_tensor.h"

#include <string.h>

struct quick_torch quick_torch;

static PyObject *keyword_dtype(PyObject *dtype)
{
    PyObject *keywords = PyDict_New();
    if (keywords && PyDict_SetItemString(keywords, "dtype", dtype))
        Py_CLEAR(keywords);
    return keywords;
}

int quick_tensor_setup(PyObject *torch)
{
    struct quick_torch *t = &quick_torch;
    PyObject *nn = PyObject_GetAttrString(torch, "nn");
    const struct {
        PyObject **to;
        PyObject *from;
        const char *name;
    } attributes[] = {
        {&t->tensor, torch, "Tensor"},
        {&t->parameter, nn, "Parameter"},
        {&t->f32, torch, "float32"},
        {&t->f16, torch, "float16"},
        {&t->bf16, torch, "bfloat16"},
        {&t->boolean, torch, "bool"},
        {&t->empty_like, torch, "empty_like"},
        {&t->i32, torch, "int32"},
        {&t->u8, torch, "uint8"},
        {&t->e4m3, torch, "float8_e4m3fn"},
        {&t->e5m2, torch, "float8_e5m2"},
        {&t->e4m3_fnuz, torch, "float8_e4m3fnuz"},
        {&t->e5m2_fnuz, torch, "float8_e5m2fnuz"},
        {&t->data_ptr, NULL, "data_ptr"},
        {&t->shape, NULL, "shape"},
        {&t->stride, NULL, "stride"},
        {&t->dtype, NULL, "dtype"},
        {&t->device, NULL, "device"},
        {&t->new_zeros, NULL, "new_zeros"},
        {&t->new_empty_strided, NULL, "new_empty_strided"},
    };
    for (size_t i = 0; nn && i < sizeof(attributes) / sizeof(*attributes); i++) {
        const char *name = attributes[i].name;
        PyObject *from = attributes[i].from;
        *attributes[i].to =
            from ? PyObject_GetAttrString(from, name) : PyUnicode_InternFromString(name);
        if (!*attributes[i].to)
            Py_CLEAR(nn);
    }
    if (!nn)
        return -1;
    Py_DECREF(nn);
    t->as_f32 = keyword_dtype(t->f32);
    return t->as_f32 ? 0 : -1;
}

/* The integers of a tuple, of which there are 1 to 4; their number, or 0. */
static int read_integers(PyObject *tuple, int64_t to[4])
{
    Py_ssize_t count = tuple && PyTuple_Check(tuple) ? PyTuple_Size(tuple) : 0;
    if (count < 1 || count > 4)
        return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        to[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
        if (to[i] < 0)
            return 0;
    }
    return (int)count;
}

int quick_tensor_address(PyObject *x, void **address)
{
    PyObject *number = PyObject_CallMethodObjArgs(x, quick_torch.data_ptr, NULL);
    *address = number ? PyLong_AsVoidPtr(number) : NULL;
    Py_XDECREF(number);
    return *address || !PyErr_Occurred() ? 0 : -1;
}

static int on_device(PyObject *x, PyObject *device)
{
    PyObject *own = PyObject_GetAttr(x, quick_torch.device);
    const int same = own && PyObject_RichCompareBool(own, device, Py_EQ) == 1;
    Py_XDECREF(own);
    return same;
}

static int is_plain(PyObject *x)
{
    PyObject *const type = (PyObject *)Py_TYPE(x);
    return type == quick_torch.tensor || type == quick_torch.parameter;
}

int quick_tensor_unmoved(const struct quick_tensor *t, PyObject *x)
{
    PyObject *stride = is_plain(x) ? PyObject_CallMethodObjArgs(x, quick_torch.stride, NULL) : NULL;
    int64_t strides[4];
    void *data;
    const int same = stride && read_integers(stride, strides) == t->dims &&
                     !memcmp(strides, t->stride, (size_t)t->dims * sizeof(*strides)) &&
                     !quick_tensor_address(x, &data) && data == t->data;
    Py_XDECREF(stride);
    if (!same)
        PyErr_Clear();
    return same;
}

int quick_tensor_read(struct quick_tensor *t, PyObject *x, PyObject *device)
{
    PyObject *shape = NULL, *stride = NULL;
    int good = is_plain(x);
    if (good) {
        t->object = x;
        shape = PyObject_GetAttr(x, quick_torch.shape);
        stride = shape ? PyObject_CallMethodObjArgs(x, quick_torch.stride, NULL) : NULL;
        t->dtype = stride ? PyObject_GetAttr(x, quick_torch.dtype) : NULL;
        t->dims = read_integers(shape, t->size);
        good = t->dtype && t->dims && read_integers(stride, t->stride) == t->dims &&
               !quick_tensor_address(x, &t->data) && (!device || on_device(x, device));
        Py_XDECREF(shape);
        Py_XDECREF(stride);
        Py_XDECREF(t->dtype);
    }
    for (int i = 0; good && i < t->dims; i++)
        good = t->size[i] > 0;
    if (!good)
        PyErr_Clear();
    return good;
}

int32_t quick_tensor_dtype(const struct quick_tensor *t)
{
    return t->dtype == quick_torch.f16         ? AOTHIP_F16
           : t->dtype == quick_torch.bf16      ? AOTHIP_BF16
           : t->dtype == quick_torch.f32       ? AOTHIP_F32
           : t->dtype == quick_torch.boolean   ? AOTHIP_BOOL
           : t->dtype == quick_torch.e4m3      ? AOTHIP_FP8_E4M3
           : t->dtype == quick_torch.e5m2      ? AOTHIP_FP8_E5M2
           : t->dtype == quick_torch.e4m3_fnuz ? AOTHIP_FP8_E4M3_FNUZ
           : t->dtype == quick_torch.e5m2_fnuz ? AOTHIP_FP8_E5M2_FNUZ
                                               : 0;
}

struct aothip_tensor quick_tensor_view(const struct quick_tensor *t, const int axis[4])
{
    struct aothip_tensor view = {.data = t->data, .dtype = quick_tensor_dtype(t)};
    for (int i = 0; i < 4; i++) {
        view.size[i] = axis[i] < 0 ? 1 : t->size[axis[i]];
        view.stride[i] = axis[i] < 0 ? 0 : t->stride[axis[i]];
    }
    return view;
}

void quick_tensor_pack(struct quick_tensor *t)
{
    int64_t elements = 1;
    for (int i = t->dims - 1; i >= 0; i--) {
        t->stride[i] = elements;
        elements *= t->size[i];
    }
}

int quick_tensor_packed(const struct quick_tensor *t)
{
    int64_t elements = 1;
    for (int i = t->dims - 1; i >= 0; i--) {
        if (t->size[i] != 1 && t->stride[i] != elements)
            return 0;
        elements *= t->size[i];
    }
    return 1;
}

/* The strides of a packed tensor of this shape. New reference, or NULL with an exception. */
static PyObject *packed_strides(PyObject *shape)
{
    const Py_ssize_t count = PyTuple_Size(shape);
    PyObject *strides = PyTuple_New(count);
    long long elements = 1;
    for (Py_ssize_t i = count - 1; strides && i >= 0; i--) {
        PyObject *n = PyLong_FromLongLong(elements);
        if (!n || PyTuple_SetItem(strides, i, n))
            Py_CLEAR(strides);
        elements *= PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    }
    return strides;
}

PyObject *quick_tensor_new(PyObject *like, PyObject *shape, PyObject *dtype, int zeros)
{
    /* Told its strides, a tensor takes two thirds of the time. */
    PyObject *const strides = zeros ? NULL : packed_strides(shape);
    PyObject *const name = zeros ? quick_torch.new_zeros : quick_torch.new_empty_strided;
    PyObject *method, *arguments, *made = NULL;
    if (!zeros && !strides)
        return NULL;
    if (!dtype) {
        made = PyObject_CallMethodObjArgs(like, name, shape, strides, NULL);
        Py_XDECREF(strides);
        return made;
    }
    method = PyObject_GetAttr(like, name);
    arguments = strides ? PyTuple_Pack(2, shape, strides) : PyTuple_Pack(1, shape);
    Py_XDECREF(strides);
    if (method && arguments)
        made = PyObject_Call(method, arguments, dtype);
    Py_XDECREF(method);
    Py_XDECREF(arguments);
    return made;
}

PyObject *quick_tensor_same(PyObject *x)
{
    return PyObject_CallFunctionObjArgs(quick_torch.empty_like, x, NULL);
}
