"""
Sequences shared out over processes, each with a GPU of its own kind: ring-flash-attn's forms,
unmodified, PyTorch's context parallelism, Ulysses' all-to-all, and a ring by aothip.merge(),
forward and backward, against attention in double precision over the whole. The processes talk over
gloo on this machine.
"""

import contextlib
import datetime
import importlib.util
import math
import os
import subprocess
import sys
import tempfile
import types
import warnings

import torch
import torch.distributed as dist

warnings.simplefilter("ignore")
WORLDS = (2, 4)
HEADS, HEADS_K, DIM = 4, 4, 64
SEED = 20261122
TOLERANCE = 4e-3  # of the largest element; gradients have four times that


# Shares of a process: a list of what belongs to it, along `axis`.


def chunks(x, rank, world, axis=1):
    return x.chunk(world, axis)[rank]


def zigzag(x, rank, world, axis=1):
    parts = x.chunk(2 * world, axis)
    return torch.cat([parts[rank], parts[2 * world - 1 - rank]], axis)


def stripes(x, rank, world, axis=1):
    return x.unflatten(axis, (-1, world)).select(axis + 1, rank)


def of_each(share, lengths):
    """The share of every one of the sequences that lie behind each other."""
    return lambda x, rank, world: torch.cat([share(part, rank, world, 0)
                                             for part in x.split(lengths, 0)], 0)


def band(rows, causal):
    seen = torch.ones(rows, rows, dtype=torch.bool)
    return seen.tril() if causal else seen


def reference(q, k, v, seen):
    """(..., rows, heads, dim) in double."""
    group = q.shape[-2] // k.shape[-2]
    k, v = k.repeat_interleave(group, -2), v.repeat_interleave(group, -2)
    s = torch.einsum("...mhd,...nhd->...hmn", q, k) / math.sqrt(q.shape[-1])
    p = torch.softmax(s.masked_fill(~seen, -torch.inf), -1)
    return torch.einsum("...hmn,...nhd->...mhd", p, v)


class Checked:
    """One form of sharing, on this process."""

    def __init__(self, rank, world):
        self.rank, self.world, self.lines = rank, world, []

    def compare(self, name, shape, shape_k, share, seen, function, around=contextlib.nullcontext):
        """function on the shares of q, k, v, against the reference's shares."""
        torch.manual_seed(SEED)
        whole = [torch.randn(s).half() for s in (shape, shape_k, shape_k, shape)]
        exact = [x.double().requires_grad_() for x in whole[:3]]
        o = reference(*exact, seen)
        o.backward(whole[3].double())
        *mine, d_o = (share(x, self.rank, self.world).contiguous() for x in whole)
        for x in mine:
            x.requires_grad_()
        with around():
            got = function(*mine)
            got = got[0] if isinstance(got, tuple) else got
            got.backward(d_o)
        found = [got.detach()] + [x.grad for x in mine]
        for letter, x, y in zip(("o", "dq", "dk", "dv"), found, [o.detach()] +
                                [x.grad for x in exact]):
            limit = (1 if letter == "o" else 4) * TOLERANCE * float(y.abs().max())
            y = share(y, self.rank, self.world)
            error = float((x.double() - y).abs().max())
            self.lines.append((x.shape == y.shape and error <= limit,
                               f"{name}, {self.world} processes: {letter}", error, limit))


def ring_forms(check):
    """ring-flash-attn over pip's flash-attn over our flash_attn_2_cuda."""
    from flash_attn import flash_attn_interface

    # The package declares its operators for GPUs; here the same functions serve host tensors.
    for name in ("_flash_attn_forward", "_flash_attn_varlen_forward", "_flash_attn_backward",
                 "_flash_attn_varlen_backward"):
        operator = getattr(flash_attn_interface, name)
        if hasattr(operator, "register_kernel"):
            operator.register_kernel("cpu")(operator._init_fn)
    # Its adapter to transformers is for versions before 5, and nothing here.
    adapters = types.ModuleType("ring_flash_attn.adapters")
    adapters.substitute_hf_flash_attn = adapters.update_ring_flash_attn_params = None
    sys.modules[adapters.__name__] = adapters
    import ring_flash_attn as ring

    rank, world = check.rank, check.world
    rows = 16 * world
    q, k = (2, rows, HEADS, DIM), (2, rows, HEADS_K, DIM)
    for name, share, causals in (("ring", chunks, (False, True)), ("zigzag_ring", zigzag, (True,)),
                                 ("stripe", stripes, (True,))):
        function = getattr(ring, f"{name}_flash_attn_func")
        for causal in causals:
            check.compare(f"{name}{', causal' * causal}", q, k, share, band(rows, causal),
                          lambda *x: function(*x, causal=causal))

    lengths = [2 * world, 8 * world, 6 * world]
    cu = torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)
    seen = torch.block_diag(*(torch.ones(n, n) for n in lengths)).bool() & band(sum(lengths), True)
    q, k = (sum(lengths), HEADS, DIM), (sum(lengths), HEADS_K, DIM)
    for name, share in (("ring", chunks), ("zigzag_ring", zigzag)):
        function = getattr(ring, f"{name}_flash_attn_varlen_func")
        check.compare(f"{name}, varlen", q, k, of_each(share, lengths), seen,
                      lambda *x: function(*x, cu // world, max(lengths) // world, causal=True))
    where = ring.llama3_flash_attn_prepare_cu_seqlens(cu, True, rank, world)
    check.compare("llama3, varlen", q, k, lambda x, r, w: chunks(x, r, w, 0), seen,
                  lambda *x: ring.llama3_flash_attn_varlen_func(
                      *x, *where[:4], heads_k_stride=2, local_k_slice=where[4], causal=True))


class AllToAll(torch.autograd.Function):
    """(batch, rows / world, heads, dim) to (batch, rows, heads / world, dim), or back."""

    @staticmethod
    def forward(ctx, x, gather):
        ctx.gather, world = gather, dist.get_world_size()
        parts = x.chunk(world, 2 if gather else 1)
        sent = torch.stack([part.contiguous() for part in parts])
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent)
        return torch.cat(list(received), 1 if gather else 2)

    @staticmethod
    def backward(ctx, d):
        return AllToAll.apply(d.contiguous(), not ctx.gather), None


def ulysses(check):
    import aothip

    rows = 8 * check.world

    def attention(q, k, v):
        q, k, v = (AllToAll.apply(x, True) for x in (q, k, v))
        return AllToAll.apply(aothip.flash_attn_func(q, k, v, causal=True), False)

    check.compare("Ulysses", (2, rows, HEADS, DIM), (2, rows, HEADS_K, DIM), chunks,
                  band(rows, True), attention)


def passed_on(*tensors):
    """The same tensors of the process before this one."""
    rank, world, received = dist.get_rank(), dist.get_world_size(), []
    for x in tensors:
        received.append(torch.empty_like(x))
        wait = dist.isend(x.contiguous(), (rank + 1) % world)
        dist.recv(received[-1], (rank - 1) % world)
        wait.wait()
    return received


class Ring(torch.autograd.Function):
    """Causal attention of one's rows, in chunks, over keys that go around."""

    @staticmethod
    def forward(ctx, q, k, v):
        import aothip

        ctx.save_for_backward(q, k, v)
        rank, world = dist.get_rank(), dist.get_world_size()
        o = q.new_empty(q.shape, dtype=torch.float32)
        lse = q.new_full((q.shape[0], q.shape[2], q.shape[1]), torch.inf, dtype=torch.float32)
        for step in range(world):
            if step <= rank:
                aothip.merge(o, lse, *aothip.Problem(q, k, v, "bshd", causal=step == 0).forward())
            k, v = passed_on(k, v)
        ctx.results = o.to(q.dtype), lse
        return ctx.results[0]

    @staticmethod
    def backward(ctx, d_o):
        import aothip

        q, k, v = ctx.saved_tensors
        rank, world = dist.get_rank(), dist.get_world_size()
        dq, dk, dv = (torch.zeros_like(x, dtype=torch.float32) for x in (q, k, v))
        for step in range(world):
            if step <= rank:
                d = aothip.Problem(q, k, v, "bshd", causal=step == 0).backward(d_o, *ctx.results)
                for total, name in ((dq, "dq"), (dk, "dk"), (dv, "dv")):
                    total += d[name]
            k, v, dk, dv = passed_on(k, v, dk, dv)
        return tuple(x.to(q.dtype) for x in (dq, dk, dv))


def ring_of_ours(check):
    rows = 16 * check.world
    check.compare("a ring by merge()", (2, rows, HEADS, DIM), (2, rows, HEADS_K // 2, DIM), chunks,
                  band(rows, True), Ring.apply)


def context_parallel(check):
    """PyTorch's own ring. On a GPU scaled_dot_product_attention() calls the operator for flash
    attention; here a line calls it, and it has our kernel for a GPU, for tensors of the host."""
    import torch.nn.functional as F
    from aothip import pytorch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.experimental import context_parallel as shared

    flash = torch.ops.aten._scaled_dot_product_flash_attention
    library = torch.library.Library("aten", "IMPL")
    library.impl("_scaled_dot_product_flash_attention", pytorch._flash_fwd, "CPU")
    library.impl("_scaled_dot_product_flash_attention_backward", pytorch._flash_bwd, "CPU")

    def scaled_dot_product_attention(query, key, value, is_causal=False):
        return flash(query, key, value, 0.0, is_causal)[0]

    own = F.scaled_dot_product_attention
    mesh = init_device_mesh("cpu", (check.world,))
    rows = 16 * check.world
    share_of = []

    @contextlib.contextmanager
    def around():
        positions = torch.arange(rows)[None]  # what the context itself shares out
        with shared(mesh, buffers=[positions], buffer_seq_dims=[1]):
            share_of.append(positions.clone())
            yield

    def attention(*tensors):
        o = F.scaled_dot_product_attention(*(x.transpose(1, 2) for x in tensors), is_causal=True)
        return o.transpose(1, 2)

    F.scaled_dot_product_attention = scaled_dot_product_attention
    try:
        check.compare("PyTorch's context_parallel", (2, rows, HEADS, DIM), (2, rows, HEADS, DIM),
                      zigzag, band(rows, True), attention, around)
    finally:
        F.scaled_dot_product_attention = own
        library._destroy()
    mine = zigzag(torch.arange(rows)[None], check.rank, check.world)
    check.lines.append((torch.equal(share_of[0], mine), "its shares are as ours", 0, 0))


def work(rank, world, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world,
                            timeout=datetime.timedelta(seconds=600))
    check = Checked(rank, world)
    skipped = []
    for form, needs in ((ulysses, ()), (ring_of_ours, ()),
                        (ring_forms, ("flash_attn", "ring_flash_attn")),
                        (context_parallel, ("torch.distributed.tensor.experimental",))):
        try:
            for module in needs:
                if not importlib.util.find_spec(module):
                    raise ImportError(f"no {module}")
        except ImportError as why:
            skipped.append(f"{form.__name__} # SKIP {why}")
            continue
        form(check)
    for good, name, error, limit in check.lines:
        print("ok" if good else "not ok", f"{name} of process {rank} on "
              f"{os.environ['AOTHIP_EMU_GPU']}" + ("" if good else f": {error} > {limit}"))
    for line in skipped if rank == 0 else ():
        print("ok", line)
    dist.destroy_process_group()


def main():
    gpus = os.environ.get("GPU_ARCHS", os.environ["AOTHIP_EMU_GPU"]).split()
    count = failed = 0
    for world in WORLDS:
        with tempfile.TemporaryDirectory() as directory:
            started = []
            for rank in range(world):
                environment = dict(os.environ, AOTHIP_EMU_GPU=gpus[rank % len(gpus)],
                                   GLOO_SOCKET_IFNAME="lo", AOTHIP_EMU_THREADS="1")
                started.append(subprocess.Popen(
                    [sys.executable, __file__, str(rank), str(world),
                     os.path.join(directory, "store")], env=environment, text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
            for rank, process in enumerate(started):
                text, _ = process.communicate()
                lines = [line for line in text.splitlines() if line.startswith(("ok ", "not ok "))]
                if process.returncode or not lines:
                    lines.append(f"not ok process {rank} of {world} ended with "
                                 f"{process.returncode}")
                    print("#", text.replace("\n", "\n# "))
                for line in lines:
                    count += 1
                    good, name = line.split("ok ", 1)
                    failed += bool(good)
                    print(f"{good}ok {count} - {name}")
    print(f"1..{count}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(work(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]) if len(sys.argv) == 4
             else main())
