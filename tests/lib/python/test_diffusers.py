"""Models of diffusers, tiny and random: results and gradients under aothip.enable() are PyTorch's,
in float32, and with pip's flash-attn over our flash_attn_2_cuda as the backend, in float16."""

import sys
import warnings

import torch

import aothip
from checks import Launches, close, done, each_model, flash_attn_for_host, ok

warnings.simplefilter("ignore")
flash_attn = flash_attn_for_host()  # before diffusers looks for it
import diffusers

launches = Launches()
JOINT = dict(in_channels=4, num_layers=1, num_attention_heads=2, attention_head_dim=32)
FLUX = dict(JOINT, num_single_layers=1, joint_attention_dim=32, pooled_projection_dim=32,
            axes_dims_rope=[8, 12, 12])
QWEN = dict(JOINT, patch_size=2, out_channels=1, joint_attention_dim=32, axes_dims_rope=(8, 12, 12))
SD3 = dict(JOINT, sample_size=8, patch_size=2, joint_attention_dim=32, caption_projection_dim=64,
           pooled_projection_dim=32, out_channels=4)
WAN = dict(JOINT, patch_size=(1, 2, 2), out_channels=4, text_dim=32, freq_dim=32, ffn_dim=64,
           rope_max_seq_len=32)
DIT = dict(JOINT, sample_size=8, patch_size=2, norm_num_groups=4, num_embeds_ada_norm=8,
           norm_type="ada_norm_zero", norm_elementwise_affine=False)
UNET = dict(sample_size=8, in_channels=4, out_channels=4, block_out_channels=(32, 64),
            layers_per_block=1, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), cross_attention_dim=32,
            attention_head_dim=8, norm_num_groups=8)


def inputs_of(kind):
    step, text = torch.tensor([3.0, 7.0]), torch.randn(2, 5, 32)
    if kind == "rows":  # of patches
        return dict(hidden_states=torch.randn(2, 16, 4), encoder_hidden_states=text, timestep=step,
                    pooled_projections=torch.randn(2, 32), img_ids=torch.zeros(16, 3),
                    txt_ids=torch.zeros(5, 3))
    if kind == "masked":
        mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=torch.bool)
        return dict(hidden_states=torch.randn(2, 16, 4), encoder_hidden_states=text, timestep=step,
                    encoder_hidden_states_mask=mask, img_shapes=[[(1, 4, 4)]] * 2)
    if kind == "video":
        return dict(hidden_states=torch.randn(2, 4, 2, 8, 8), encoder_hidden_states=text,
                    timestep=step)
    image = torch.randn(2, 4, 8, 8)
    if kind == "classes":
        return dict(hidden_states=image, timestep=step.long(), class_labels=torch.tensor([1, 5]))
    if kind == "unet":
        return dict(sample=image, timestep=step, encoder_hidden_states=text)
    return dict(hidden_states=image, encoder_hidden_states=text, timestep=step,
                pooled_projections=torch.randn(2, 32))


# model, options, inputs, and the backend of flash-attn if it asks diffusers for one
MODELS = (
    ("FluxTransformer2DModel", FLUX, "rows", "flash"),
    ("QwenImageTransformer2DModel", QWEN, "masked", "flash_varlen"),
    ("WanTransformer3DModel", WAN, "video", "flash"),
    ("SD3Transformer2DModel", SD3, "image", None),
    ("DiTTransformer2DModel", DIT, "classes", None),
    ("UNet2DConditionModel", UNET, "unet", None),
)


def outcome(model, inputs):
    """The result, and gradients of the parameters."""
    model.zero_grad()
    o = model(**inputs, return_dict=False)[0]
    torch.manual_seed(3)
    (o * torch.randn_like(o)).sum().backward()
    return o.detach().float(), {n: p.grad.float() for n, p in model.named_parameters()
                                if p.grad is not None}


def same(name, got, want, tolerance):
    ok(close(got[0], want[0], tolerance), f"{name}: result")
    most = max(float(x.abs().max()) for x in want[1].values())
    wrong = [n for n in want[1] if n not in got[1] or
             float((got[1][n] - want[1][n]).abs().max()) > 10 * tolerance * most]
    ok(not wrong and got[1].keys() == want[1].keys(), f"{name}: gradients")
    if wrong:
        print("#  ", *wrong[:8])


def compare(name, options, kind, backend):
    torch.manual_seed(20261123)
    model, inputs = getattr(diffusers, name)(**options).eval(), inputs_of(kind)
    if backend is not None:
        model.set_attention_backend("native")  # what one model was told, diffusers tells the next
    want, before = outcome(model, inputs), launches.count
    with aothip.enable(everything=True):
        got = outcome(model, inputs)
    ok(launches.count > before, f"{name}: comes to aothip")
    same(name, got, want, 1e-4)
    if backend is None or flash_attn is None:
        return
    half = {n: x.half() if torch.is_tensor(x) and x.dtype == torch.float32 else x
            for n, x in inputs.items()}
    model.half().set_attention_backend(backend)
    before = launches.count
    got = outcome(model, half)
    ok(launches.count > before, f"{name}: {backend} comes to aothip")
    same(f"{name}, {backend}", got, want, 2e-2)


def test_models():
    each_model(diffusers, MODELS, compare)


sys.exit(done(globals()))
