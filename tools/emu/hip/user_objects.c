/* User objects, and graphs' references to them. */
#include "user_objects.h"

#include <stdlib.h>

struct hipUserObject {
    void *thing;
    void (*destroy)(void *thing);
    unsigned references; /* of the program and of graphs */
};

enum { NO_DESTRUCTOR_SYNC = 1 }; /* HIP's only flag */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all references */

static hipError_t retain(struct hipUserObject *o, unsigned count)
{
    hipError_t e = hipSuccess;
    pthread_mutex_lock(&lock);
    if (!count || o->references > UINT32_MAX - count)
        e = emu_hip_fail(hipErrorInvalidValue, "user object: %u references more", count);
    else
        o->references += count;
    pthread_mutex_unlock(&lock);
    return e;
}

/* The last reference takes the object with it. */
static hipError_t release(struct hipUserObject *o, unsigned count)
{
    pthread_mutex_lock(&lock);
    const unsigned held = o->references;
    const bool enough = count && count <= held;
    if (enough)
        o->references -= count;
    pthread_mutex_unlock(&lock);
    if (!enough)
        return emu_hip_fail(hipErrorInvalidValue, "user object: %u of %u references", count, held);
    if (count == held) {
        emu_handle_drop(o, EMU_HANDLE_USER_OBJECT);
        o->destroy(o->thing);
        free(o);
    }
    return hipSuccess;
}

static hipError_t check(const struct hipUserObject *o)
{
    return emu_handle_live(o, EMU_HANDLE_USER_OBJECT)
               ? hipSuccess
               : emu_hip_fail(hipErrorInvalidValue, "not a live user object");
}

hipError_t hipUserObjectCreate(hipUserObject_t *object, void *thing, void (*destroy)(void *thing),
                               unsigned references, unsigned flags)
{
    EMU_BEGIN();
    if (!object || !destroy || !references || flags != NO_DESTRUCTOR_SYNC)
        return emu_hip_fail(hipErrorInvalidValue,
                            "user object: result or destructor is null, %u references, flags %u",
                            references, flags);
    struct hipUserObject *o = malloc(sizeof *o);
    if (!o || !emu_handle_add(o, EMU_HANDLE_USER_OBJECT)) {
        free(o);
        return emu_hip_fail(hipErrorOutOfMemory, "user object: out of memory");
    }
    *o = (struct hipUserObject){thing, destroy, references};
    *object = o;
    return hipSuccess;
}

hipError_t hipUserObjectRetain(hipUserObject_t object, unsigned count)
{
    EMU_BEGIN();
    hipError_t e = check(object);
    return e == hipSuccess ? retain(object, count) : e;
}

hipError_t hipUserObjectRelease(hipUserObject_t object, unsigned count)
{
    EMU_BEGIN();
    hipError_t e = check(object);
    return e == hipSuccess ? release(object, count) : e;
}

static struct emu_reference *find(const struct emu_references *r, const struct hipUserObject *o)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->list[i].object == o)
            return &r->list[i];
    return NULL;
}

/* Writes down references that are there. False when out of memory. */
static bool note(struct emu_references *r, struct hipUserObject *o, unsigned count)
{
    struct emu_reference *known = find(r, o);
    if (known) {
        known->count += count;
        return true;
    }
    void *more = realloc(r->list, (r->count + 1) * sizeof *r->list);
    if (!more)
        return false;
    r->list = more;
    r->list[r->count++] = (struct emu_reference){o, count};
    return true;
}

hipError_t emu_references_add(struct emu_references *r, struct hipUserObject *object,
                              unsigned count, bool move)
{
    hipError_t e = check(object);
    if (e == hipSuccess && !count)
        e = emu_hip_fail(hipErrorInvalidValue, "user object: no reference");
    if (e == hipSuccess && !move)
        e = retain(object, count);
    if (e != hipSuccess || note(r, object, count))
        return e;
    if (!move)
        release(object, count);
    return emu_hip_fail(hipErrorOutOfMemory, "graph: out of memory");
}

hipError_t emu_references_remove(struct emu_references *r, struct hipUserObject *object,
                                 unsigned count)
{
    hipError_t e = check(object);
    if (e != hipSuccess)
        return e;
    struct emu_reference *known = find(r, object);
    if (!count || !known || known->count < count)
        return emu_hip_fail(hipErrorInvalidValue, "user object: the graph has %u references",
                            known ? known->count : 0);
    known->count -= count;
    if (!known->count)
        *known = r->list[--r->count];
    return release(object, count);
}

bool emu_references_copy(struct emu_references *to, const struct emu_references *from)
{
    for (size_t i = 0; i < from->count; i++)
        if (emu_references_add(to, from->list[i].object, 1, false) != hipSuccess)
            return false;
    return true;
}

void emu_references_drop(struct emu_references *r)
{
    for (size_t i = 0; i < r->count; i++)
        release(r->list[i].object, r->list[i].count);
    free(r->list);
    *r = (struct emu_references){NULL, 0};
}
