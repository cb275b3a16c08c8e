"""flash-attention's functions: same names, arguments, layouts and meanings (Dao et al. 2022).

Layouts are (batch, seq, heads, dim), and (total, heads, dim) for the varlen ones. causal and window
are aligned at the bottom right: query i sees keys i + seq_k - seq_q - left .. i + seq_k - seq_q +
right; a row that sees no key gives 0, and infinity in softmax_lse. Head dims go up to 512, float32
works too. window_size and softcap may be None, for none. return_attn_probs gives softmax_lse, which
carries gradients for torch, and S_dmask: P / (1 - dropout_p), negative where dropped; without
dropout, an empty array, and nothing of that size is made (Problem(...)(True) always makes it).
Gradients are the same bits in every run where `deterministic` is set or PyTorch is told to be
(torch.use_deterministic_algorithms); else dq's last bits may vary where that is faster, see atomics
in aothip.h. AOTHIP_ATOMICS overrides both.

flash-attention 3's further keywords are taken where they mean something here: return_softmax_lse,
s_aux (a sink a head, of any float type), out (written and returned, without gradients),
num_splits, page_table for block_table, and of cu_seqlens_k either that or seqused_k, for keys
(batch, rows, heads, dim) or in pages; and for arrays of FP8 q_descale, k_descale and v_descale,
float32, what their elements are multiplied by: one number, or (batch, heads of k), or (heads of k).
k and v alone may be of FP8, or q, too, where the GPU multiplies that type: then out is bfloat16,
and float16 for NumPy. FP8 carries no gradients.
"""

import numbers

from ._arrays import float32_of, int32_like, library_of
from .attention import attend


def _results(probs, lse, q, k, v, order, fields, s_aux=None, out=None, descale=(None,) * 3):
    """out, and what else is asked for: probs is return_attn_probs, lse return_softmax_lse."""
    for name, scale in zip("qkv", descale):
        if scale is not None:
            fields[name + "_scale"] = scale
    dropped = bool(probs) and fields["dropout_p"] != 0
    if s_aux is not None:
        fields["sinks"] = float32_of(s_aux)
    result = attend(q, k, v, order, fields, dropped, out, probs or lse)
    if probs:
        return result if dropped else (*result, result[1].reshape(-1)[:0])
    return result[:2] if lse else result[0]


def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1),
                    softcap=0.0, alibi_slopes=None, deterministic=False, return_attn_probs=False,
                    *, return_softmax_lse=False, s_aux=None, out=None, num_splits=0,
                    q_descale=None, k_descale=None, v_descale=None):
    """out, or (out, softmax_lse (batch, heads, seq_q), S_dmask) with return_attn_probs, or (out,
    softmax_lse) with return_softmax_lse."""
    fields = {"scale": softmax_scale, "causal": causal, "window": window_size, "softcap": softcap,
              "alibi_slopes": alibi_slopes, "dropout_p": dropout_p, "splits": num_splits,
              "atomics": not deterministic}
    return _results(return_attn_probs, return_softmax_lse, q, k, v, "bshd", fields, s_aux, out,
                    (q_descale, k_descale, v_descale))


def flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
                           dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1),
                           softcap=0.0, alibi_slopes=None, deterministic=False,
                           return_attn_probs=False, block_table=None, seqused_k=None,
                           *, return_softmax_lse=False, s_aux=None, out=None, num_splits=0,
                           page_table=None, q_descale=None, k_descale=None, v_descale=None):
    """out (total_q, heads, dim), or with softmax_lse (heads, total_q) and S_dmask."""
    fields = {"scale": softmax_scale, "causal": causal, "window": window_size, "softcap": softcap,
              "alibi_slopes": alibi_slopes, "dropout_p": dropout_p, "splits": num_splits,
              "atomics": not deterministic,
              "cu_seqlens_q": cu_seqlens_q, "cu_seqlens_k": cu_seqlens_k,
              "max_seqlen_q": max_seqlen_q, "max_seqlen_k": max_seqlen_k,
              "block_table": block_table if page_table is None else
              _one_table(block_table, page_table), "seqused_k": seqused_k}
    return _results(return_attn_probs, return_softmax_lse, q, k, v, "shd", fields, s_aux, out,
                    (q_descale, k_descale, v_descale))


def _one_table(block_table, page_table):
    if block_table is not None:
        raise ValueError("aothip: block_table and page_table are the same; give one of them")
    return page_table


def flash_attn_qkvpacked_func(qkv, dropout_p=0.0, softmax_scale=None, causal=False,
                              window_size=(-1, -1), softcap=0.0, alibi_slopes=None,
                              deterministic=False, return_attn_probs=False):
    """qkv (batch, seq, 3, heads, dim); the rest as flash_attn_func."""
    return flash_attn_func(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], dropout_p, softmax_scale,
                           causal, window_size, softcap, alibi_slopes, deterministic,
                           return_attn_probs)


def flash_attn_kvpacked_func(q, kv, dropout_p=0.0, softmax_scale=None, causal=False,
                             window_size=(-1, -1), softcap=0.0, alibi_slopes=None,
                             deterministic=False, return_attn_probs=False):
    """kv (batch, seq, 2, heads_k, dim); the rest as flash_attn_func."""
    return flash_attn_func(q, kv[:, :, 0], kv[:, :, 1], dropout_p, softmax_scale, causal,
                           window_size, softcap, alibi_slopes, deterministic, return_attn_probs)


def flash_attn_varlen_qkvpacked_func(qkv, cu_seqlens, max_seqlen, dropout_p=0.0,
                                     softmax_scale=None, causal=False, window_size=(-1, -1),
                                     softcap=0.0, alibi_slopes=None, deterministic=False,
                                     return_attn_probs=False):
    """qkv (total, 3, heads, dim); the rest as flash_attn_varlen_func."""
    return flash_attn_varlen_func(qkv[:, 0], qkv[:, 1], qkv[:, 2], cu_seqlens, cu_seqlens,
                                  max_seqlen, max_seqlen, dropout_p, softmax_scale, causal,
                                  window_size, softcap, alibi_slopes, deterministic,
                                  return_attn_probs)


def flash_attn_varlen_kvpacked_func(q, kv, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
                                    dropout_p=0.0, softmax_scale=None, causal=False,
                                    window_size=(-1, -1), softcap=0.0, alibi_slopes=None,
                                    deterministic=False, return_attn_probs=False):
    """kv (total_k, 2, heads_k, dim); the rest as flash_attn_varlen_func."""
    return flash_attn_varlen_func(q, kv[:, 0], kv[:, 1], cu_seqlens_q, cu_seqlens_k, max_seqlen_q,
                                  max_seqlen_k, dropout_p, softmax_scale, causal, window_size,
                                  softcap, alibi_slopes, deterministic, return_attn_probs)


def flash_attn_with_kvcache(q, k_cache, v_cache, k=None, v=None, rotary_cos=None, rotary_sin=None,
                            cache_seqlens=None, cache_batch_idx=None, cache_leftpad=None,
                            block_table=None, softmax_scale=None, causal=False,
                            window_size=(-1, -1), softcap=0.0, rotary_interleaved=True,
                            alibi_slopes=None, num_splits=0, return_softmax_lse=False, *,
                            s_aux=None, out=None, page_table=None, q_descale=None, k_descale=None,
                            v_descale=None, fp8=None):
    """
    Decoding: q (batch, seq_q, heads, dim) against a cache (batch, rows, heads_k, dim), or (pages,
    page rows, heads_k, dim) with block_table. k and v (batch, seq_new, heads_k, dim) are first
    written into k_cache and v_cache, in place, at row cache_seqlens of each sequence. rotary_cos
    and rotary_sin (rows, rotary_dim / 2), of q's type, rotate k, and q if causal or with a window,
    at positions cache_seqlens and on; else q at position cache_seqlens alone. A cache of FP8 may be
    of type uint8, too, where fp8 names its type, as "float8_e4m3fn"; what is written into it is
    divided by k_descale and v_descale. Has no backward.
    """
    if (k is None) != (v is None):
        raise ValueError("aothip: k and v must both be given, or none of them")
    if k is not None and cache_seqlens is None:
        raise ValueError("aothip: k needs cache_seqlens, the rows at which it is written")
    if (rotary_cos is None) != (rotary_sin is None):
        raise ValueError("aothip: rotary_cos and rotary_sin must both be given, or none of them")
    if not hasattr(q, "data_ptr"):
        library_of(q, k_cache, v_cache)
    lengths = cache_seqlens
    if not hasattr(lengths, "data_ptr") and isinstance(lengths, numbers.Integral):
        lengths = [lengths] * q.shape[0]
    if lengths is not None and not hasattr(lengths, "data_ptr"):  # tensors as they are
        lengths = int32_like(q, lengths)
    if cache_leftpad is not None:
        if lengths is None:
            lengths = int32_like(q, [k_cache.shape[1]] * q.shape[0])
        lengths, cache_leftpad = int32_like(q, lengths), int32_like(q, cache_leftpad)
        if cache_leftpad.shape != lengths.shape:
            raise ValueError(f"aothip: cache_leftpad has shape {tuple(cache_leftpad.shape)}, but "
                             f"cache_seqlens {tuple(lengths.shape)}")
        lengths = lengths - cache_leftpad
    rotary = None if rotary_cos is None else (rotary_cos, rotary_sin, rotary_interleaved)
    fields = {"scale": softmax_scale, "causal": causal, "window": window_size, "softcap": softcap,
              "alibi_slopes": alibi_slopes, "dropout_p": 0.0, "splits": num_splits,
              "lengths": lengths, "starts": cache_leftpad,
              "block_table": block_table if page_table is None else
              _one_table(block_table, page_table), "batch_index": cache_batch_idx,
              "k_new": k, "v_new": v, "rotary": rotary}
    if fp8 is not None:
        fields["fp8"] = fp8
    return _results(False, return_softmax_lse, q, k_cache, v_cache, "bshd", fields, s_aux, out,
                    (q_descale, k_descale, v_descale))
