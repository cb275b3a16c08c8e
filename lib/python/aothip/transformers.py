"""
Hugging Face's transformers on aothip: after register(), models take attn_implementation="aothip".

What the library's registry hands to an attention function is what "sdpa" gets, and so are the
masks; soft-capping, attention sinks and relative position biases are computed besides.
"""

import functools
import inspect
import re
import sys

import torch
from transformers import AttentionInterface, PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from .attention import attend

_NAME = "aothip"


def attention(module, query, key, value, attention_mask, dropout=0.0, scaling=None, is_causal=None,
              softcap=None, s_aux=None, position_bias=None, cache=None, **others):
    """What models call: (batch, heads, rows, dim) to (batch, rows, heads, dim), and no matrix."""
    if others.get("output_attentions"):
        raise ValueError("aothip: output_attentions needs attn_implementation=\"eager\"; the "
                         "attention matrix is never made")
    if cache is not None:
        raise NotImplementedError("aothip: paged caches of continuous batching are not known")
    fields = {}
    if attention_mask is not None and attention_mask.dtype == torch.bool:
        fields["keep"] = attention_mask
    elif attention_mask is not None:
        position_bias = attention_mask if position_bias is None else attention_mask + position_bias
    if position_bias is not None:
        fields["bias"] = position_bias
    if is_causal is None:
        is_causal = getattr(module, "is_causal", True)
    # As for "sdpa": without a mask rows are causal, but for one alone, which sees all keys.
    causal = bool(is_causal) and attention_mask is None and query.shape[2] > 1
    fields.update(scale=scaling, causal=causal, top_left=True, softcap=softcap, sinks=s_aux,
                  dropout_p=dropout)
    o = attend(query, key, value, "bhsd", fields, with_lse=False)[0]
    return o.transpose(1, 2).contiguous(), None


def _asks_registry(model):
    """Whether the code of a model class leaves attention to the registry; else it would compute
    its own, on masks that were made for another."""
    try:
        code = inspect.getsource(sys.modules[model.__module__])
    except (KeyError, OSError, TypeError):
        return True
    own = re.search(r"^class \w*Attention\w*\((nn\.)?Module\)", code, re.MULTILINE)
    return not own or "ALL_ATTENTION_FUNCTIONS" in code


def _refusing(own):
    @functools.wraps(own)
    def get_correct_attn_implementation(self, requested_attention, *arguments, **named):
        if requested_attention == _NAME and not _asks_registry(type(self)):
            raise ValueError(f"aothip: {type(self).__name__} computes attention by itself, "
                             "whatever attn_implementation says, and the masks made for \"aothip\" "
                             "would be wrong for it; aothip.enable() serves what calls PyTorch's")
        return own(self, requested_attention, *arguments, **named)

    get_correct_attn_implementation.aothip = True
    return get_correct_attn_implementation


def register():
    """Makes "aothip" a value of attn_implementation, refused by models that would ignore it."""
    AttentionInterface.register(_NAME, attention)
    AttentionMaskInterface.register(_NAME, sdpa_mask)
    own = PreTrainedModel.get_correct_attn_implementation
    if not hasattr(own, "aothip"):
        PreTrainedModel.get_correct_attn_implementation = _refusing(own)
