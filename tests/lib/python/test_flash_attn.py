"""pip's flash-attn, unmodified and built without CUDA, over our flash_attn_2_cuda: its functions,
forward and backward, against ours, which test_torch.py holds against double precision."""

import copy
import inspect
import os
import sys
import warnings

import torch

import aothip
import flash_attn_2_cuda as module
from checks import done, flash_attn_for_host, ok, raises

warnings.simplefilter("ignore")
assert module.__file__.endswith(os.path.join("lib", "python", "flash_attn_2_cuda.py"))
flash_attn = flash_attn_for_host()
if flash_attn is not None:
    from flash_attn import bert_padding, flash_attn_interface

torch.manual_seed(20261122)
CU = torch.tensor([0, 4, 9, 20], dtype=torch.int32)


def random(*shape, grad=True):
    return torch.randn(shape).half().requires_grad_(grad)


def results(function, inputs):
    x = [a.detach().clone().requires_grad_(a.requires_grad) for a in inputs]
    torch.manual_seed(3)
    got = function(*x)
    got = got if isinstance(got, tuple) else (got,)
    torch.manual_seed(4)
    got[0].backward(torch.randn(got[0].shape).half())
    return [g.detach() for g in got] + [a.grad for a in x]


def same(name, got, want, tolerance=0.0):
    error = max(float((a.double() - b.double()).abs().max()) for a, b in zip(got, want))
    good = len(got) == len(want) and all(a.shape == b.shape for a, b in zip(got, want))
    ok(good and error <= tolerance, name)
    if not (good and error <= tolerance):
        print(f"#   error {error}", [tuple(a.shape) for a in got], [tuple(b.shape) for b in want])


def both(function, *inputs, **options):
    """The package's function and ours of the same name."""
    theirs, ours = getattr(flash_attn, function), getattr(aothip, function)
    same(f"{function} {options}", results(lambda *x: theirs(*x, **options), inputs),
         results(lambda *x: ours(*x, **options), inputs))


def test_package():
    if flash_attn is None:
        ok(True, "flash-attn # SKIP the package is not installed")
        return
    q, k, v = random(2, 9, 4, 64), random(2, 14, 2, 64), random(2, 14, 2, 64)
    for options in ({}, {"causal": True}, {"window_size": (3, 2)}, {"softcap": 4.0},
                    {"softmax_scale": 0.3}, {"alibi_slopes": torch.rand(4)},
                    {"deterministic": True}):
        both("flash_attn_func", q, k, v, **options)
    both("flash_attn_func", *(random(1, 7, 2, 40) for _ in "qkv"), causal=True)
    both("flash_attn_qkvpacked_func", random(2, 9, 3, 2, 64), causal=True)
    both("flash_attn_kvpacked_func", q, random(2, 14, 2, 2, 64), causal=True)
    packed = [random(20, h, 64) for h in (4, 2, 2)]

    def varlen(function, **options):
        return lambda *x: function(*x, CU, CU, 11, 11, **options)

    for options in ({}, {"causal": True}, {"window_size": (2, 0), "softcap": 3.0}):
        same(f"flash_attn_varlen_func {options}",
             results(varlen(flash_attn.flash_attn_varlen_func, **options), packed),
             results(varlen(aothip.flash_attn_varlen_func, **options), packed))


def test_package_dropout():
    if flash_attn is None:
        return
    q, k, v = random(1, 9, 2, 64), random(1, 14, 2, 64), random(1, 14, 2, 64)
    want = results(lambda *x: aothip.flash_attn_func(*x, dropout_p=0.5, return_attn_probs=True),
                   (q, k, v))
    got = results(lambda *x: flash_attn.flash_attn_func(*x, dropout_p=0.5, return_attn_probs=True),
                  (q, k, v))
    ok(got[2].shape == (1, 2, 128, 128), "S_dmask is as big as the package says")
    got[2] = got[2][:, :, :9, :14]
    same("dropout: the same seed makes the same mask, forward and backward", got, want)


def test_package_cache():
    if flash_attn is None:
        return
    q, k, v = (random(2, 1, h, 64, grad=False) for h in (4, 2, 2))
    caches = [random(2, 32, 2, 64, grad=False) for _ in range(2)]
    angles = torch.rand(32, 16).half()
    for name, options in (
            ("plain", {}), ("appended", {"k": k, "v": v}),
            ("rotary", {"k": k, "v": v, "rotary_cos": angles, "rotary_sin": angles}),
            ("left padding", {"cache_leftpad": torch.tensor([2, 0], dtype=torch.int32)}),
            ("batch index", {"cache_batch_idx": torch.tensor([1, 0], dtype=torch.int32)})):
        made = []
        for function in (flash_attn.flash_attn_with_kvcache, aothip.flash_attn_with_kvcache):
            own = [c.clone() for c in caches]
            lengths = torch.tensor([7, 19], dtype=torch.int32)
            made.append([*function(q, *own, cache_seqlens=lengths, causal=True,
                                   return_softmax_lse=True, **options), *own])
        same(f"flash_attn_with_kvcache, {name}", *made)
    table = torch.tensor([[1, 0], [2, 3]], dtype=torch.int32)
    pages = [random(4, 256, 2, 64, grad=False) for _ in range(2)]
    lengths = torch.tensor([300, 40], dtype=torch.int32)
    made = [function(q, *pages, cache_seqlens=lengths, block_table=table) for function in (
        flash_attn.flash_attn_with_kvcache, aothip.flash_attn_with_kvcache)]
    same("flash_attn_with_kvcache, paged", made[:1], made[1:])


def test_package_helpers():
    if flash_attn is None:
        return
    x, mask = random(2, 6, 128, grad=False), torch.tensor([[1] * 6, [1] * 4 + [0] * 2])
    rows, at, cu, longest, *_ = bert_padding.unpad_input(x, mask)
    rows = rows.view(-1, 2, 64)
    o = flash_attn.flash_attn_varlen_func(rows, rows, rows, cu, cu, longest, longest)
    got = bert_padding.pad_input(o.flatten(1), at, 2, 6).view(2, 6, 2, 64)
    y = x.view(2, 6, 2, 64)
    want = torch.zeros_like(y)
    for b, n in enumerate((6, 4)):
        want[b:b + 1, :n] = aothip.flash_attn_func(*(y[b:b + 1, :n],) * 3)
    same("the package's helpers for padding", [got], [want], 2e-3)

    def function(*x):
        return flash_attn.flash_attn_func(*x, causal=True)

    inputs = [random(1, 9, 2, 64) for _ in "qkv"]
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    same("compiled", results(compiled, inputs), results(function, inputs))
    values = tuple(x.detach() for x in inputs) + (0.0, 0.125, True, -1, -1, 0.0, None, False)
    try:
        torch.library.opcheck(torch.ops.flash_attn._flash_attn_forward.default, values)
        ok(True, "opcheck of the package's operator")
    except Exception as why:
        ok(False, f"opcheck of the package's operator: {why}")


def test_transformers():
    """attn_implementation="flash_attention_2", which transformers offers on GPUs alone: told that
    this is one, it runs over the package, and so over us."""
    try:
        import transformers
        from transformers import modeling_flash_attention_utils as utilities
    except ImportError:
        transformers = None
    if flash_attn is None or transformers is None:
        return
    utilities.is_flash_attn_2_available = lambda: True
    transformers.PreTrainedModel._flash_attn_can_dispatch = lambda *_, **__: True
    config = transformers.LlamaConfig(
        vocab_size=99, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0)
    eager, flash = (transformers.LlamaForCausalLM._from_config(
        copy.deepcopy(config), attn_implementation=name, dtype=torch.float16).eval()
                    for name in ("eager", "flash_attention_2"))
    flash.load_state_dict(eager.state_dict())
    ids, calls, own = torch.randint(2, 90, (2, 12)), [], module.varlen_fwd
    mask = torch.ones_like(ids)
    mask[0, :4] = 0
    module.varlen_fwd = lambda *x: calls.append(x) or own(*x)
    try:
        made = [results(lambda: model(input_ids=ids, attention_mask=mask).logits[mask.bool()], ())
                + [model.model.layers[0].self_attn.q_proj.weight.grad] for model in (eager, flash)]
    finally:
        module.varlen_fwd = own
    ok(len(calls) == 2, "transformers' flash_attention_2 comes to our module")
    for name, got, want in zip(("logits", "a gradient"), made[1], made[0]):
        same(f"transformers' flash_attention_2: {name}", [got], [want],
             1e-2 * float(want.abs().max()))


def test_module():
    """What the package never asks for, but others who call the module do."""
    q, k, v = (random(2, 9, 2, 64, grad=False) for _ in "qkv")
    plain = (None, 0.0, 0.125, True, -1, -1, 0.0, False, None)
    out = torch.empty_like(q)
    o, lse, s, seed = module.fwd(q, k, v, out, *plain)
    ok(o is out and s.numel() == 0 and seed.dtype == torch.int64 and seed.shape == (2,),
       "fwd writes into out")
    same("and computes", [o], [aothip.flash_attn_func(q, k, v, softmax_scale=0.125, causal=True)])
    d_o, places = torch.randn_like(q), [torch.full_like(x, 7) for x in (q, k, v)]
    d = module.bwd(d_o, q, k, v, o, lse, *places, None, 0.0, 0.125, True, -1, -1, 0.0, False, None,
                   seed)
    again = module.bwd(d_o, q, k, v, o, lse, None, None, None, None, 0.0, 0.125, True, -1, -1, 0.0,
                       False, None, None)
    ok(all(a is b for a, b in zip(d, places)), "bwd writes into dq, dk, dv")
    same("or makes them", d, again)
    delta = (d_o.double() * o.double()).sum(-1).transpose(1, 2)
    ok(d[3].shape == (2, 2, 128) and float((d[3][..., :9] - delta).abs().max()) < 1e-3,
       "softmax_d")
    generator = torch.Generator().manual_seed(5)
    one = module.fwd(q, k, v, None, None, 0.5, 0.125, False, -1, -1, 0.0, True, generator)
    generator.manual_seed(5)
    two = module.fwd(q, k, v, None, None, 0.5, 0.125, False, -1, -1, 0.0, True, generator)
    same("the caller's generator decides", one, two)
    raises(ValueError, "rng_state", lambda: module.bwd(
        d_o, q, k, v, o, lse, None, None, None, None, 0.5, 0.125, False, -1, -1, 0.0, False, None,
        None), "backward without the seed of forward")
    rows = [x.flatten(0, 1) for x in (q, k, v)]
    cu, pad = torch.tensor([0, 9, 18], dtype=torch.int32), torch.tensor([2, 0], dtype=torch.int32)
    o, lse, _, _ = module.varlen_fwd(*rows, None, cu, cu, None, pad, None, None, 9, 9, 0.0, 0.125,
                                     False, False, -1, -1, 0.0, False, None)
    want = [aothip.flash_attn_func(q[b:b + 1], k[b:b + 1, n:], v[b:b + 1, n:], softmax_scale=0.125)
            for b, n in enumerate((2, 0))]
    same("leftpad_k", [o], [torch.cat(want).flatten(0, 1)], 2e-3)
    out = torch.full_like(q, 7)
    o, _ = module.fwd_kvcache(q, k.clone(), v.clone(), *[None] * 9, out, 0.125, True, -1, -1, 0.0,
                              True, 0)
    ok(o is out and not (o == 7).any(), "fwd_kvcache writes into out")
    for function, count in ((module.fwd, 13), (module.varlen_fwd, 21), (module.bwd, 19),
                            (module.varlen_bwd, 24), (module.fwd_kvcache, 20)):
        ok(len(inspect.signature(function).parameters) == count,
           f"{function.__name__} takes {count} arguments")


sys.exit(done(globals()))
