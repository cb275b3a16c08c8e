"""Models of transformers, tiny and random, with attn_implementation="aothip": logits, gradients and
what they generate are those of "eager", in float32."""

import copy
import sys
import warnings

import torch
import transformers

import aothip.transformers
from checks import Launches, close, done, each_model, ok, raises

warnings.simplefilter("ignore")
transformers.logging.set_verbosity_error()
aothip.transformers.register()
launches = Launches()

TEXT = dict(vocab_size=99, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
            num_attention_heads=4, max_position_embeddings=64)
GQA = dict(TEXT, num_key_value_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=98)
T5 = dict(vocab_size=99, d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4, pad_token_id=0,
          eos_token_id=98, decoder_start_token_id=0)
BART = dict(vocab_size=99, d_model=64, encoder_layers=1, decoder_layers=1,
            encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=96,
            decoder_ffn_dim=96, max_position_embeddings=64, pad_token_id=0, bos_token_id=1,
            eos_token_id=98, decoder_start_token_id=1, forced_eos_token_id=None)
VISION = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
              image_size=32, patch_size=8)
EXPERTS = dict(num_local_experts=2, num_experts_per_tok=1)
DEEPSEEK = dict(GQA, num_key_value_heads=4, q_lora_rank=32, kv_lora_rank=32, qk_nope_head_dim=128,
                qk_rope_head_dim=64, v_head_dim=128, moe_intermediate_size=32, n_routed_experts=2,
                num_experts_per_tok=1, n_group=1, topk_group=1, n_shared_experts=1,
                first_k_dense_replace=2)

# config class, model class, options, inputs
MODELS = (
    ("LlamaConfig", "LlamaForCausalLM", GQA, "text"),
    ("MistralConfig", "MistralForCausalLM", dict(GQA, sliding_window=5), "text"),
    ("Gemma2Config", "Gemma2ForCausalLM", dict(GQA, head_dim=32, sliding_window=5,
                                               attn_logit_softcapping=5.0), "text"),
    ("Gemma3TextConfig", "Gemma3ForCausalLM", dict(GQA, head_dim=32, sliding_window=5), "text"),
    ("GptOssConfig", "GptOssForCausalLM", dict(GQA, head_dim=32, sliding_window=5, **EXPERTS),
     "text"),
    ("Qwen3Config", "Qwen3ForCausalLM", dict(GQA, head_dim=32), "text"),
    ("GPT2Config", "GPT2LMHeadModel", dict(
        vocab_size=99, n_embd=64, n_layer=2, n_head=4, n_positions=64, bos_token_id=1,
        eos_token_id=98), "text"),
    ("DeepseekV3Config", "DeepseekV3ForCausalLM", DEEPSEEK, "text"),
    ("BertConfig", "BertModel", TEXT, "encoder"),
    ("ModernBertConfig", "ModernBertModel", dict(
        TEXT, pad_token_id=0, bos_token_id=1, eos_token_id=98, cls_token_id=1, sep_token_id=98,
        local_attention=6, global_attn_every_n_layers=2), "encoder"),
    ("T5Config", "T5ForConditionalGeneration", T5, "both"),
    ("BartConfig", "BartForConditionalGeneration", BART, "both"),
    ("ViTConfig", "ViTModel", VISION, "image"),
    ("SiglipVisionConfig", "SiglipVisionModel", dict(VISION, hidden_size=288), "image"),  # 72
    ("WhisperConfig", "WhisperForConditionalGeneration", dict(
        BART, num_mel_bins=16, max_source_positions=20, max_target_positions=30,
        suppress_tokens=None, begin_suppress_tokens=None), "audio"),
)


def inputs_of(kind):
    ids = torch.randint(2, 90, (2, 12))
    mask = torch.ones_like(ids)
    if kind == "text":
        mask[0, :4] = 0  # padded at the left, as for generation
        return {"input_ids": ids, "attention_mask": mask}
    mask[1, 9:] = 0
    if kind == "encoder":
        return {"input_ids": ids, "attention_mask": mask}
    if kind == "both":
        return {"input_ids": ids, "attention_mask": mask,
                "decoder_input_ids": torch.randint(2, 90, (2, 7))}
    if kind == "image":
        return {"pixel_values": torch.randn(2, 3, 32, 32)}
    return {"input_features": torch.randn(2, 16, 40),
            "decoder_input_ids": torch.randint(2, 90, (2, 7))}


def seen(x, inputs):
    """Of the rows of the result those that are not padding."""
    mask = inputs.get("attention_mask")
    return x[mask.bool()] if mask is not None and mask.shape == x.shape[:2] else x


def outcome(model, inputs):
    """First tensor of the result, and gradients of the parameters."""
    model.zero_grad()
    o = seen(model(**inputs)[0], inputs)
    torch.manual_seed(3)
    (o * torch.randn_like(o)).sum().backward()
    return o.detach(), {n: p.grad.clone() for n, p in model.named_parameters()
                        if p.grad is not None}


def compare(config_name, model_name, options, kind):
    torch.manual_seed(20261122)
    config = getattr(transformers, config_name)(**options)
    eager = getattr(transformers, model_name)._from_config(config, attn_implementation="eager")
    ours = getattr(transformers, model_name)._from_config(copy.deepcopy(config),
                                                          attn_implementation="aothip")
    ours.load_state_dict(eager.state_dict())
    for model in (eager, ours):
        model.float().eval()
    inputs, before = inputs_of(kind), launches.count
    (want, d_want), (got, d_got) = outcome(eager, inputs), outcome(ours, inputs)
    ok(launches.count > before, f"{model_name}: comes to aothip")
    ok(close(got, want, 1e-4), f"{model_name}: result")
    wrong = [n for n in d_want if n not in d_got or not close(d_got[n], d_want[n], 1e-3)]
    ok(not wrong and d_want.keys() == d_got.keys(), f"{model_name}: gradients")
    if wrong:
        print("#  ", *wrong[:8])
    if kind in ("text", "both"):
        inputs.pop("decoder_input_ids", None)
        for name, more in (("", {}), (", static cache", {"cache_implementation": "static"})):
            if more and (kind != "text" or model_name.startswith("Deepseek")):
                continue
            with torch.no_grad():
                a, b = (m.generate(**inputs, max_new_tokens=6, do_sample=False,
                                   disable_compile=True, **more) for m in (eager, ours))
            ok(torch.equal(a, b), f"{model_name}: generate{name}")


def test_models():
    each_model(transformers, MODELS, compare, label=1)


def llama(**more):
    torch.manual_seed(20261122)
    return transformers.LlamaForCausalLM._from_config(transformers.LlamaConfig(**GQA), **more)


def test_training():
    inputs = inputs_of("text")
    plain, again = llama(attn_implementation="aothip"), llama(attn_implementation="aothip")
    again.gradient_checkpointing_enable()
    want, got = (outcome(model.train(), inputs)[1] for model in (plain, again))
    ok(all(close(got[n], want[n], 1e-5) for n in want), "gradient checkpointing")


def test_switch():
    model = llama(attn_implementation="eager").eval()
    want = model(**inputs_of("text"))[0].shape
    model.set_attn_implementation("aothip")
    before = launches.count
    ok(model(**inputs_of("text"))[0].shape == want and launches.count > before,
       "a model that exists can be switched over")


def test_refusals():
    for name in ("Bloom", "Mpt", "Falcon"):
        config = getattr(transformers, name + "Config")()
        for key, value in (("hidden_size", 64), ("d_model", 64), ("n_layer", 1), ("n_layers", 1),
                           ("n_head", 4), ("n_heads", 4), ("num_hidden_layers", 1),
                           ("num_attention_heads", 4), ("vocab_size", 99)):
            if hasattr(config, key):
                setattr(config, key, value)
        model = getattr(transformers, name + "ForCausalLM")
        raises(ValueError, "computes attention by itself",
               lambda: model._from_config(config, attn_implementation="aothip"), f"{name} refuses")
    model = llama(attn_implementation="aothip")
    raises(ValueError, "output_attentions", lambda: aothip.transformers.attention(
        model, None, None, None, None, output_attentions=True), "attention matrices are refused")
    raises(NotImplementedError, "paged", lambda: aothip.transformers.attention(
        model, None, None, None, None, cache=object()), "so are paged caches")


sys.exit(done(globals()))
