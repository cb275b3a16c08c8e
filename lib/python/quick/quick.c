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

/* Memory for a call, as a tensor of the type of `like`, which takes less time to make than one of
 * bytes. NULL with an exception. */
static PyObject *scratch(const struct quick_tensor *like, size_t size, void **address)
{
    const size_t element = like->dtype == quick_torch.f32 ? 4 : 2;
    PyObject *shape = Py_BuildValue("(n)", (Py_ssize_t)((size + element - 1) / element));
    PyObject *made = shape ? quick_tensor_new(like->object, shape, NULL, 0) : NULL;
    Py_XDECREF(shape);
    if (made && quick_tensor_address(made, address))
        Py_CLEAR(made);
    return made;
}

/* A new tensor for o, whose sizes c has. NULL with an exception. */
static PyObject *make_o(const struct quick_problem *c)
{
    const struct quick_tensor *const o = &c->o;
    PyObject *shape, *made;
    /* Behind each other, sequences may leave rows between them that no kernel writes. */
    if (!c->packed && o->size[o->dims - 1] == c->q.size[o->dims - 1] && quick_tensor_packed(&c->q))
        return quick_tensor_same(c->q.object);
    shape = PyTuple_New(o->dims);
    for (int i = 0; shape && i < o->dims; i++) {
        PyObject *n = PyLong_FromLongLong(o->size[i]);
        if (!n || PyTuple_SetItem(shape, i, n))
            Py_CLEAR(shape);
    }
    made = shape ? quick_tensor_new(c->q.object, shape, NULL, c->packed) : NULL;
    Py_XDECREF(shape);
    return made;
}

/* A new tensor for lse, and what it is in c. NULL with an exception. */
static PyObject *make_lse(struct quick_problem *c)
{
    const long long *size = (const long long *)c->p.q.size;
    PyObject *made, *shape = c->packed ? Py_BuildValue("(LL)", size[1], size[2])
                                       : Py_BuildValue("(LLL)", size[0], size[1], size[2]);
    c->lse.dims = c->packed ? 2 : 3;
    memcpy(c->lse.size, c->p.q.size + c->packed, (size_t)c->lse.dims * sizeof(*c->lse.size));
    quick_tensor_pack(&c->lse);
    made = shape ? quick_tensor_new(c->q.object, shape, quick_torch.as_f32, c->packed) : NULL;
    Py_XDECREF(shape);
    if (made && quick_tensor_address(made, &c->lse.data))
        Py_CLEAR(made);
    c->p.lse = c->lse.data;
    return made;
}

/* New tensors for o and, unless it is None already, lse. 0, or -1 with an exception. */
static int make_results(struct quick_problem *c, PyObject **o, PyObject **lse)
{
    c->o = c->q;
    c->o.size[c->q.dims - 1] = c->v.size[c->v.dims - 1];
    quick_tensor_pack(&c->o);
    *o = make_o(c);
    if (!*o || quick_tensor_address(*o, &c->o.data))
        return -1;
    c->p.o = quick_tensor_view(&c->o, c->axes);
    if (!*lse)
        *lse = make_lse(c);
    return *lse ? 0 : -1;
}

static int launch_forward(struct quick_problem *c, void *stream)
{
    PyObject *workspace = NULL;
    enum aothip_status status;
    size_t size = 0;
    if (check(quick.fwd_size(quick.context, &c->p, stream, &size)))
        return -1;
    if (size) {
        workspace = scratch(&c->q, size, &c->p.workspace);
        if (!workspace)
            return -1;
        c->p.workspace_size = size;
    }
    Py_BEGIN_ALLOW_THREADS status = quick.fwd(quick.context, &c->p, stream);
    Py_END_ALLOW_THREADS Py_XDECREF(workspace);
    return check(status);
}

static const char KEPT[] = "aothip_quick: a problem and its results";

static void free_kept(PyObject *capsule)
{
    struct quick_problem *kept = PyCapsule_GetPointer(capsule, KEPT);
    quick_problem_clear(kept);
    PyMem_Free(kept);
}

/* What backward_kept() is to be given. New reference, or NULL with an exception. */
static PyObject *keep(const struct quick_problem *c)
{
    struct quick_problem *kept = PyMem_Malloc(sizeof(*kept));
    PyObject *capsule;
    if (!kept)
        return PyErr_NoMemory();
    *kept = *c;
    kept->p.workspace = NULL;
    kept->p.workspace_size = 0;
    Py_INCREF(kept->device);
    capsule = PyCapsule_New(kept, KEPT, free_kept);
    if (!capsule) {
        quick_problem_clear(kept);
        PyMem_Free(kept);
    }
    return capsule;
}

/*
 * forward(q, k, v, order, fields): (o, lse), or None; with True as one argument more, (o, lse,
 * kept); with False, (o, None), in less time
 */
static PyObject *forward(PyObject *self, PyObject *arguments)
{
    PyObject *tensors[3], *order, *fields, *more = NULL, *o = NULL, *lse = NULL;
    PyObject *results = NULL, *kept = NULL;
    struct quick_problem c;
    void *stream;
    (void)self;
    if (!PyArg_UnpackTuple(arguments, "forward", 5, 6, &tensors[0], &tensors[1], &tensors[2],
                           &order, &fields, &more))
        return NULL;
    if (more == Py_False) {
        Py_INCREF(Py_None);
        lse = Py_None;
    }
    if (!quick_problem_describe(&c, tensors, order, fields) || !stream_of(&c, &stream)) {
        quick_problem_clear(&c);
        Py_XDECREF(lse);
        if (PyErr_Occurred())
            return NULL;
        Py_RETURN_NONE;
    }
    if (!make_results(&c, &o, &lse) && !launch_forward(&c, stream)) {
        if (more != Py_True)
            results = PyTuple_Pack(2, o, lse);
        else if ((kept = keep(&c)))
            results = PyTuple_Pack(3, o, lse, kept);
    }
    Py_XDECREF(o);
    Py_XDECREF(lse);
    Py_XDECREF(kept);
    quick_problem_clear(&c);
    return results;
}

/* d_o as an input of backward; 0 if it is not of the type and shape of o, or has no contiguous
 * rows: a copy takes less time than kernels for any strides. */
static int take_d_o(const struct quick_problem *c, struct aothip_attn_bwd_params *b, PyObject *x)
{
    const int last = c->o.dims - 1;
    struct quick_tensor d_o;
    if (!quick_tensor_read(&d_o, x, c->device) || d_o.dtype != c->q.dtype ||
        d_o.dims != c->o.dims ||
        memcmp(d_o.size, c->o.size, (size_t)d_o.dims * sizeof(*d_o.size)) ||
        (d_o.stride[last] != 1 && d_o.size[last] != 1))
        return 0;
    b->d_o = quick_tensor_view(&d_o, c->axes);
    return 1;
}

/* o and lse as inputs of backward; 0 if they are not as forward() left them. */
static int take_results(struct quick_problem *c, PyObject *o, PyObject *lse)
{
    const int last = c->q.dims - 1;
    if (!quick_tensor_read(&c->o, o, c->device) || !quick_tensor_read(&c->lse, lse, c->device) ||
        c->o.dtype != c->q.dtype || c->o.dims != c->q.dims ||
        memcmp(c->o.size, c->q.size, (size_t)last * sizeof(*c->o.size)) ||
        c->o.size[last] != c->v.size[c->v.dims - 1] ||
        (c->o.stride[last] != 1 && c->o.size[last] != 1) || c->lse.dtype != quick_torch.f32 ||
        !quick_tensor_packed(&c->lse) || c->lse.dims != (c->packed ? 2 : 3) ||
        memcmp(c->lse.size, c->p.q.size + c->packed, (size_t)c->lse.dims * sizeof(*c->lse.size)))
        return 0;
    c->p.o = quick_tensor_view(&c->o, c->axes);
    c->p.lse = c->lse.data;
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
    quick_tensor_pack(&like);
    *to = quick_tensor_view(&like, axes);
    return made;
}

static int launch_backward(struct quick_problem *c, struct aothip_attn_bwd_params *b, void *stream)
{
    /* Like lse, delta takes less time to make than a workspace that has it. */
    PyObject *delta = quick_tensor_same(c->lse.object), *workspace = NULL;
    enum aothip_status status;
    size_t size = 0;
    int result = -1;
    if (!delta || quick_tensor_address(delta, (void **)&b->delta) ||
        check(quick.bwd_size(quick.context, b, stream, &size)))
        goto out;
    if (size) {
        workspace = scratch(&c->q, size, &b->workspace);
        if (!workspace)
            goto out;
        b->workspace_size = size;
    }
    Py_BEGIN_ALLOW_THREADS status = quick.bwd(quick.context, b, stream);
    Py_END_ALLOW_THREADS result = check(status);
out:
    Py_XDECREF(delta);
    Py_XDECREF(workspace);
    return result;
}

/* The gradients; for autograd, behind those of two arguments that have none. NULL with an
 * exception. */
static PyObject *run_backward(struct quick_problem *c, struct aothip_attn_bwd_params *b,
                              void *stream, int for_autograd)
{
    PyObject *d[3], *results = NULL;
    c->p.splits = 0; /* forward alone has them */
    d[0] = make_gradient(c, &c->q, c->axes, &b->dq);
    d[1] = d[0] ? make_gradient(c, &c->k, c->key_axes, &b->dk) : NULL;
    d[2] = d[1] ? make_gradient(c, &c->v, c->key_axes, &b->dv) : NULL;
    if (d[2] && !launch_backward(c, b, stream))
        results = for_autograd ? PyTuple_Pack(5, Py_None, Py_None, d[0], d[1], d[2])
                               : PyTuple_Pack(3, d[0], d[1], d[2]);
    for (int i = 0; i < 3; i++)
        Py_XDECREF(d[i]);
    return results;
}

/* backward(q, k, v, order, fields, d_o, o, lse): (dq, dk, dv), or None */
static PyObject *backward(PyObject *self, PyObject *arguments)
{
    PyObject *tensors[3], *order, *fields, *d_o, *o, *lse, *results = NULL;
    struct quick_problem c;
    struct aothip_attn_bwd_params b = {.struct_size = sizeof(b), .fwd = &c.p};
    void *stream;
    (void)self;
    if (!PyArg_UnpackTuple(arguments, "backward", 8, 8, &tensors[0], &tensors[1], &tensors[2],
                           &order, &fields, &d_o, &o, &lse))
        return NULL;
    if (quick_problem_describe(&c, tensors, order, fields) && take_results(&c, o, lse) &&
        take_d_o(&c, &b, d_o) && stream_of(&c, &stream))
        results = run_backward(&c, &b, stream, 0);
    quick_problem_clear(&c);
    if (results || PyErr_Occurred())
        return results;
    Py_RETURN_NONE;
}

/*
 * backward_kept(kept, saved, d_o): (None, None, dq, dk, dv), as autograd wants it; or None, where
 * `saved`, (q, k, v, o, lse), are not where forward() had them, as where hooks had put them
 * elsewhere.
 */
static PyObject *backward_kept(PyObject *self, PyObject *arguments)
{
    PyObject *capsule, *saved, *d_o, *results = NULL;
    struct aothip_attn_bwd_params b = {.struct_size = sizeof(b)};
    const struct quick_problem *kept;
    struct quick_problem c;
    void *stream;
    (void)self;
    if (!PyArg_UnpackTuple(arguments, "backward_kept", 3, 3, &capsule, &saved, &d_o) ||
        !(kept = PyCapsule_GetPointer(capsule, KEPT)))
        return NULL;
    c = *kept;
    b.fwd = &c.p;
    if (PyTuple_Check(saved) && PyTuple_Size(saved) == 5 &&
        quick_tensor_unmoved(&c.q, c.q.object = PyTuple_GetItem(saved, 0)) &&
        quick_tensor_unmoved(&c.k, c.k.object = PyTuple_GetItem(saved, 1)) &&
        quick_tensor_unmoved(&c.v, c.v.object = PyTuple_GetItem(saved, 2)) &&
        quick_tensor_unmoved(&c.o, PyTuple_GetItem(saved, 3)) &&
        quick_tensor_unmoved(&c.lse, c.lse.object = PyTuple_GetItem(saved, 4)) &&
        take_d_o(&c, &b, d_o) && stream_of(&c, &stream))
        results = run_backward(&c, &b, stream, 1);
    if (results || PyErr_Occurred())
        return results;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"setup", setup, METH_VARARGS, "Where everything is: see _quick.py."},
    {"forward", forward, METH_VARARGS,
     "forward(q, k, v, order, fields[, True or False]): (o, lse), (o, lse, kept) or (o, None); or "
     "None."},
    {"backward_kept", backward_kept, METH_VARARGS,
     "backward_kept(kept, (q, k, v, o, lse), d_o): (None, None, dq, dk, dv), or None."},
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
