/*
 * aothip_quick: attention on torch tensors of the GPU in a few microseconds of the host. It knows
 * what Problem.forward() and Problem.backward() of the module aothip do, for arguments that need
 * nothing but being passed on, and returns None for all others.
 *
 * Nothing is linked: setup() gets the addresses of the library's functions, so that there is one
 * library in the process, and tensors are asked for their attributes. Stable ABI of Python 3.8.
 */
#include "quick_problem.h"

#include <string.h>

typedef enum aothip_status (*fwd_function)(struct aothip_context *,
                                           const struct aothip_attn_fwd_params *, void *);
typedef enum aothip_status (*fwd_size_function)(struct aothip_context *,
                                                const struct aothip_attn_fwd_params *, void *,
                                                size_t *);
typedef enum aothip_status (*bwd_function)(struct aothip_context *,
                                           const struct aothip_attn_bwd_params *, void *);
typedef enum aothip_status (*bwd_size_function)(struct aothip_context *,
                                                const struct aothip_attn_bwd_params *, void *,
                                                size_t *);

static struct {
    struct aothip_context *context;
    fwd_function fwd;
    fwd_size_function fwd_size;
    bwd_function bwd;
    bwd_size_function bwd_size;
    PyObject *check; /* raises for a status */
    PyObject *place; /* of a device: its stream as an integer, or None */
} quick;

static PyObject *setup(PyObject *self, PyObject *arguments)
{
    PyObject *torch;
    unsigned long long context, functions[4];
    (void)self;
    if (!PyArg_ParseTuple(arguments, "OOOKKKKK:setup", &torch, &quick.check, &quick.place, &context,
                          &functions[0], &functions[1], &functions[2], &functions[3]) ||
        quick_tensor_setup(torch) || quick_problem_setup())
        return NULL;
    Py_INCREF(quick.check);
    Py_INCREF(quick.place);
    quick.context = (struct aothip_context *)(uintptr_t)context;
    quick.fwd = (fwd_function)(uintptr_t)functions[0];
    quick.fwd_size = (fwd_size_function)(uintptr_t)functions[1];
    quick.bwd = (bwd_function)(uintptr_t)functions[2];
    quick.bwd_size = (bwd_size_function)(uintptr_t)functions[3];
    Py_RETURN_NONE;
}

/* torch's current stream on the device of c. 1; 0 where its tensors cannot be used as they are. */
static int stream_of(const struct quick_problem *c, void **stream)
{
    PyObject *number = PyObject_CallFunctionObjArgs(quick.place, c->device, NULL);
    const int good = number && number != Py_None;
    *stream = good ? PyLong_AsVoidPtr(number) : NULL;
    Py_XDECREF(number);
    return good && !PyErr_Occurred();
}

/* 0, or -1 with the exception that belongs to the status. */
static int check(enum aothip_status status)
{
    PyObject *done;
    if (status == AOTHIP_OK)
        return 0;
    done = PyObject_CallFunction(quick.check, "i", (int)status);
    Py_XDECREF(done);
    return -1;
}

/* Memory for a call, as a tensor: NULL with an exception. */
static PyObject *scratch(PyObject *like, size_t size, void **address)
{
    PyObject *shape = Py_BuildValue("(n)", (Py_ssize_t)size);
    PyObject *made = shape ? quick_tensor_new(like, shape, quick_torch.as_byte, 0) : NULL;
    Py_XDECREF(shape);
    if (made && quick_tensor_address(made, address))
        Py_CLEAR(made);
    return made;
}

/* A new tensor for o, of the sizes of `like`. NULL with an exception. */
static PyObject *make_o(const struct quick_problem *c, const struct quick_tensor *like)
{
    PyObject *shape, *made;
    /* Behind each other, sequences may leave rows between them that no kernel writes. */
    if (!c->packed && like->size[like->dims - 1] == c->q.size[like->dims - 1] &&
        quick_tensor_packed(&c->q))
        return quick_tensor_same(c->q.object);
    shape = PyTuple_New(like->dims);
    for (int i = 0; shape && i < like->dims; i++) {
        PyObject *n = PyLong_FromLongLong(like->size[i]);
        if (!n || PyTuple_SetItem(shape, i, n))
            Py_CLEAR(shape);
    }
    made = shape ? quick_tensor_new(c->q.object, shape, NULL, c->packed) : NULL;
    Py_XDECREF(shape);
    return made;
}

/* New tensors for o and lse, and what they are in c->p. 0, or -1 with an exception. */
static int make_results(struct quick_problem *c, PyObject **o, PyObject **lse)
{
    const int last = c->q.dims - 1;
    const long long *size = (const long long *)c->p.q.size;
    struct quick_tensor like = c->q;
    PyObject *lse_shape;
    like.size[last] = c->v.size[c->v.dims - 1];
    for (int64_t i = last, elements = 1; i >= 0; i--) {
        like.stride[i] = elements;
        elements *= like.size[i];
    }
    lse_shape = c->packed ? Py_BuildValue("(LL)", size[1], size[2])
                          : Py_BuildValue("(LLL)", size[0], size[1], size[2]);
    *o = lse_shape ? make_o(c, &like) : NULL;
    *lse =
        lse_shape ? quick_tensor_new(c->q.object, lse_shape, quick_torch.as_f32, c->packed) : NULL;
    Py_XDECREF(lse_shape);
    if (!*o || !*lse || quick_tensor_address(*o, &like.data) ||
        quick_tensor_address(*lse, (void **)&c->p.lse))
        return -1;
    c->p.o = quick_tensor_view(&like, c->axes);
    return 0;
}

static int launch_forward(struct quick_problem *c, void *stream)
{
    PyObject *workspace = NULL;
    enum aothip_status status;
    size_t size = 0;
    if (check(quick.fwd_size(quick.context, &c->p, stream, &size)))
        return -1;
    if (size) {
        workspace = scratch(c->q.object, size, &c->p.workspace);
        if (!workspace)
            return -1;
        c->p.workspace_size = size;
    }
    Py_BEGIN_ALLOW_THREADS status = quick.fwd(quick.context, &c->p, stream);
    Py_END_ALLOW_THREADS Py_XDECREF(workspace);
    return check(status);
}

/* forward(q, k, v, order, fields): (o, lse), or None */
static PyObject *forward(PyObject *self, PyObject *arguments)
{
    PyObject *tensors[3], *order, *fields, *o = NULL, *lse = NULL, *results = NULL;
    struct quick_problem c;
    void *stream;
    (void)self;
    if (!PyArg_UnpackTuple(arguments, "forward", 5, 5, &tensors[0], &tensors[1], &tensors[2],
                           &order, &fields))
        return NULL;
    if (!quick_problem_describe(&c, tensors, order, fields) || !stream_of(&c, &stream)) {
        quick_problem_clear(&c);
        if (PyErr_Occurred())
            return NULL;
        Py_RETURN_NONE;
    }
    if (!make_results(&c, &o, &lse) && !launch_forward(&c, stream))
        results = PyTuple_Pack(2, o, lse);
    Py_XDECREF(o);
    Py_XDECREF(lse);
    quick_problem_clear(&c);
    return results;
}

/* o, lse and d_o as inputs of backward; 0 if they are not as forward() left them. */
static int take_results(struct quick_problem *c, struct aothip_attn_bwd_params *b,
                        PyObject *const given[3])
{
    struct quick_tensor d_o, o, lse;
    const int last = c->q.dims - 1;
    if (!quick_tensor_read(&d_o, given[0], c->device) ||
        !quick_tensor_read(&o, given[1], c->device) ||
        !quick_tensor_read(&lse, given[2], c->device) || d_o.dtype != c->q.dtype ||
        o.dtype != c->q.dtype || o.dims != c->q.dims || d_o.dims != o.dims ||
        memcmp(o.size, c->q.size, (size_t)last * sizeof(*o.size)) ||
        o.size[last] != c->v.size[c->v.dims - 1] ||
        memcmp(d_o.size, o.size, (size_t)o.dims * sizeof(*o.size)) ||
        (o.stride[last] != 1 && o.size[last] != 1) || lse.dtype != quick_torch.f32 ||
        !quick_tensor_packed(&lse) || lse.dims != (c->packed ? 2 : 3) ||
        memcmp(lse.size, c->p.q.size + c->packed, (size_t)lse.dims * sizeof(*lse.size)))
        return 0;
    b->d_o = quick_tensor_view(&d_o, c->axes);
    c->p.o = quick_tensor_view(&o, c->axes);
    c->p.lse = lse.data;
    return 1;
}

/* A new tensor for the gradient of x. NULL with an exception. */
static PyObject *make_gradient(const struct quick_problem *c, const struct quick_tensor *x,
                               const int *axes, struct aothip_tensor *to)
{
    struct quick_tensor like = *x;
    PyObject *shape = NULL, *made;
    if (c->whole && quick_tensor_packed(x)) {
        made = quick_tensor_same(x->object);
    } else {
        shape = PyObject_GetAttr(x->object, quick_torch.shape);
        made = shape ? quick_tensor_new(x->object, shape, NULL, !c->whole) : NULL;
    }
    Py_XDECREF(shape);
    if (made && quick_tensor_address(made, &like.data))
        Py_CLEAR(made);
    for (int64_t i = like.dims - 1, elements = 1; i >= 0; i--) {
        like.stride[i] = elements;
        elements *= like.size[i];
    }
    *to = quick_tensor_view(&like, axes);
    return made;
}

static int launch_backward(struct quick_problem *c, struct aothip_attn_bwd_params *b, void *stream)
{
    PyObject *workspace = NULL;
    enum aothip_status status;
    size_t size = 0;
    if (check(quick.bwd_size(quick.context, b, stream, &size)))
        return -1;
    if (size) {
        workspace = scratch(c->q.object, size, &b->workspace);
        if (!workspace)
            return -1;
        b->workspace_size = size;
    }
    Py_BEGIN_ALLOW_THREADS status = quick.bwd(quick.context, b, stream);
    Py_END_ALLOW_THREADS Py_XDECREF(workspace);
    return check(status);
}

/* backward(q, k, v, order, fields, d_o, o, lse): (dq, dk, dv), or None */
static PyObject *backward(PyObject *self, PyObject *arguments)
{
    PyObject *tensors[3], *order, *fields, *given[3], *d[3] = {NULL}, *results = NULL;
    struct quick_problem c;
    struct aothip_attn_bwd_params b = {.struct_size = sizeof(b), .fwd = &c.p};
    void *stream;
    (void)self;
    if (!PyArg_UnpackTuple(arguments, "backward", 8, 8, &tensors[0], &tensors[1], &tensors[2],
                           &order, &fields, &given[0], &given[1], &given[2]))
        return NULL;
    if (!quick_problem_describe(&c, tensors, order, fields) || !take_results(&c, &b, given) ||
        !stream_of(&c, &stream)) {
        quick_problem_clear(&c);
        if (PyErr_Occurred())
            return NULL;
        Py_RETURN_NONE;
    }
    d[0] = make_gradient(&c, &c.q, c.axes, &b.dq);
    d[1] = d[0] ? make_gradient(&c, &c.k, c.key_axes, &b.dk) : NULL;
    d[2] = d[1] ? make_gradient(&c, &c.v, c.key_axes, &b.dv) : NULL;
    if (d[2] && !launch_backward(&c, &b, stream))
        results = PyTuple_Pack(3, d[0], d[1], d[2]);
    for (int i = 0; i < 3; i++)
        Py_XDECREF(d[i]);
    quick_problem_clear(&c);
    return results;
}

static PyMethodDef methods[] = {
    {"setup", setup, METH_VARARGS, "Where everything is: see _quick.py."},
    {"forward", forward, METH_VARARGS, "forward(q, k, v, order, fields): (o, lse), or None."},
    {"backward", backward, METH_VARARGS,
     "backward(q, k, v, order, fields, d_o, o, lse): (dq, dk, dv), or None."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    "aothip_quick",
    "Attention on torch tensors, quickly.",
    -1,
    methods,
    NULL,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC PyInit_aothip_quick(void);
PyMODINIT_FUNC PyInit_aothip_quick(void)
{
    return PyModule_Create(&module);
}
