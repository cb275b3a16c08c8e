"""
The module that pip's flash-attn calls for its kernels, on aothip: so that the package as it is,
built without CUDA, runs on every GPU that aothip knows.

Five functions with the arguments and results of that package's own C++ (flash-attn 2.8): lse is the
natural logarithm, rng_state two int64 with the seed, S_dmask P / (1 - p), negative where dropped.
"""

import torch
import torch.nn.functional as F

from aothip import flash_attn_with_kvcache
from aothip.attention import Problem

_ROUND = 128  # rows and keys of S_dmask and softmax_d are multiples of it


def _up(n):
    return -(-n // _ROUND) * _ROUND


def _problem(q, k, v, order, alibi_slopes, p, scale, causal, left, right, softcap, seed, **fields):
    return Problem(q, k, v, order, scale=scale, causal=causal, window=(left, right),
                   softcap=softcap, alibi_slopes=alibi_slopes, dropout_p=p, seed=seed, **fields)


def _seed(q, p, gen):
    if p == 0:
        return torch.zeros(2, dtype=torch.int64, device=q.device)
    device = q.device if gen is None else gen.device
    return torch.randint(0, 2**63 - 1, (2,), generator=gen, device=device).to(q.device)


def _forward(problem, out, return_softmax):
    o, lse, *probs = problem.forward(bool(return_softmax), out=out)
    if probs:
        rows, keys = probs[0].shape[2:]
        p = F.pad(probs[0], (0, _up(keys) - keys, 0, _up(rows) - rows))
    else:
        p = o.new_empty(0)
    return o, lse, p, problem.seed


def _backward(problem, dout, out, softmax_lse, dq, dk, dv):
    d = problem.backward(dout, out, softmax_lse, (), dq, dk, dv)
    delta = (dout.float() * out.float()).sum(-1).transpose(-1, -2)  # (..., heads, rows)
    return d["dq"], d["dk"], d["dv"], F.pad(delta, (0, _up(delta.shape[-1]) - delta.shape[-1]))


def _seed_of(p, rng_state):
    if p > 0 and rng_state is None:
        raise ValueError("aothip: backward with dropout needs the rng_state of forward")
    return rng_state if p > 0 else (0, 0)


def fwd(q, k, v, out, alibi_slopes, p_dropout, softmax_scale, is_causal, window_size_left,
        window_size_right, softcap, return_softmax, gen):
    """(out, softmax_lse, S_dmask, rng_state)"""
    problem = _problem(q, k, v, "bshd", alibi_slopes, p_dropout, softmax_scale, is_causal,
                       window_size_left, window_size_right, softcap, _seed(q, p_dropout, gen))
    return _forward(problem, out, return_softmax)


def varlen_fwd(q, k, v, out, cu_seqlens_q, cu_seqlens_k, seqused_k, leftpad_k, block_table,
               alibi_slopes, max_seqlen_q, max_seqlen_k, p_dropout, softmax_scale, zero_tensors,
               is_causal, window_size_left, window_size_right, softcap, return_softmax, gen):
    """(out, softmax_lse, S_dmask, rng_state)"""
    if zero_tensors and out is not None:
        out.zero_()
    problem = _problem(q, k, v, "shd", alibi_slopes, p_dropout, softmax_scale, is_causal,
                       window_size_left, window_size_right, softcap, _seed(q, p_dropout, gen),
                       cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k, seqused_k=seqused_k,
                       leftpad_k=leftpad_k, block_table=block_table, max_seqlen_q=max_seqlen_q,
                       max_seqlen_k=max_seqlen_k)
    return _forward(problem, out, return_softmax)


def bwd(dout, q, k, v, out, softmax_lse, dq, dk, dv, alibi_slopes, p_dropout, softmax_scale,
        is_causal, window_size_left, window_size_right, softcap, deterministic, gen, rng_state):
    """(dq, dk, dv, softmax_d)"""
    problem = _problem(q, k, v, "bshd", alibi_slopes, p_dropout, softmax_scale, is_causal,
                       window_size_left, window_size_right, softcap,
                       _seed_of(p_dropout, rng_state), atomics=not deterministic)
    return _backward(problem, dout, out, softmax_lse, dq, dk, dv)


def varlen_bwd(dout, q, k, v, out, softmax_lse, dq, dk, dv, cu_seqlens_q, cu_seqlens_k,
               alibi_slopes, max_seqlen_q, max_seqlen_k, p_dropout, softmax_scale, zero_tensors,
               is_causal, window_size_left, window_size_right, softcap, deterministic, gen,
               rng_state):
    """(dq, dk, dv, softmax_d)"""
    for x in (dq, dk, dv):
        if zero_tensors and x is not None:
            x.zero_()
    problem = _problem(q, k, v, "shd", alibi_slopes, p_dropout, softmax_scale, is_causal,
                       window_size_left, window_size_right, softcap,
                       _seed_of(p_dropout, rng_state), cu_seqlens_q=cu_seqlens_q,
                       cu_seqlens_k=cu_seqlens_k, max_seqlen_q=max_seqlen_q,
                       max_seqlen_k=max_seqlen_k, atomics=not deterministic)
    return _backward(problem, dout, out, softmax_lse, dq, dk, dv)


def fwd_kvcache(q, kcache, vcache, k, v, seqlens_k, rotary_cos, rotary_sin, cache_batch_idx,
                leftpad_k, block_table, alibi_slopes, out, softmax_scale, is_causal,
                window_size_left, window_size_right, softcap, is_rotary_interleaved, num_splits):
    """(out, softmax_lse)"""
    o, lse = flash_attn_with_kvcache(
        q, kcache, vcache, k, v, rotary_cos, rotary_sin, seqlens_k, cache_batch_idx, leftpad_k,
        block_table, softmax_scale, is_causal, (window_size_left, window_size_right), softcap,
        is_rotary_interleaved, alibi_slopes, num_splits, return_softmax_lse=True)
    return (o if out is None else out.copy_(o)), lse
