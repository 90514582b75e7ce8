"""Families of models: folders of Hugging Face of each architecture, and options of `gradlab generate`."""

import json
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attempt import Attempt, argv, copy_damaged
from damage import VALUES, value
from sound import GENERATORS

_SIZES = [0, -1, 1, 3, 2**31, 2**40, 2**63, 10**30, 1.5, "8", None, True, [], {}, float("nan")]
_WORDS = ["", "gelu", "relu", "nothing", None, 5, [], "\x1b[31m", "a" * 5000, True]


def foreign_models(rng: random.Random, home: Path, here: Path) -> Attempt:
    """A folder of Hugging Face, of any architecture, with one file that is damaged or made to do harm."""
    name = rng.choice(sorted(path.name for path in (home / "models").iterdir()))
    if rng.random() < 0.4:
        file = copy_damaged(rng, home / "models" / name, here / "m").name
    else:
        shutil.copytree(home / "models" / name, here / "m")
        file = rng.choice([_change_config, _change_config, _change_weights, _change_tokenizer])(rng, here / "m")
    if rng.random() < 0.5 and name.startswith(("gpt2", "llama")):
        return Attempt(f"{file} of {name}", ("generate", "m", "--prompt=the cat", "--max-tokens=2"))
    return Attempt(f"{file} of {name}", call=_read)


def _read() -> None:
    import gradlab as gl

    gl.from_pretrained("m")


def _change_config(rng: random.Random, folder: Path) -> str:
    """Other sizes, names and kinds in config.json, some of which no machine has room for."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    for key in rng.choices(sorted(config), k=rng.choice([1, 1, 3])):
        known = config[key]
        config[key] = rng.choice(_SIZES if isinstance(known, int | float) else [*_WORDS, *VALUES])
    if rng.random() < 0.2:
        config[rng.choice(["rope_scaling", "rope_parameters", "quantization_config", "auto_map", "torch_dtype"])] = (
            rng.choice([{}, {"type": "yarn"}, {"rope_type": "llama3", "factor": -1}, 5, "x", [], {"factor": 10**30}])
        )
    path.write_text(json.dumps(config), errors="surrogatepass")
    return f"config.json {str(config)[:80]!r}"


def _change_weights(rng: random.Random, folder: Path) -> str:
    """Headers of safetensors that promise what the file does not hold, and indices that lead elsewhere."""
    index = folder / "model.safetensors.index.json"
    if index.is_file() and rng.random() < 0.6:
        content = json.loads(index.read_text())
        places = content["weight_map"]
        places[rng.choice(sorted(places))] = rng.choice(
            ["../m/model-00001-of-00002.safetensors", "/etc/passwd", "", ".", "missing.safetensors",
            "config.json", None, 5,
             "\x00", "a" * 400, [], "model-00001-of-00002.safetensors"]
        )  # fmt: skip
        index.write_text(json.dumps(content))
        return index.name
    path = rng.choice(sorted(folder.glob("*.safetensors")))
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header, tensors = json.loads(content[8 : 8 + length]), content[8 + length :]
    name = rng.choice([key for key in header if key != "__metadata__"])
    header[name] |= rng.choice(_HEADERS)
    if rng.random() < 0.3:
        header[rng.choice(["extra", "", "a" * 5000, "\x1b[31m"])] = header.pop(name)
    written = json.dumps(header).encode()
    promised = rng.choice([len(written)] * 4 + [0, 2**62, len(written) + 5])
    path.write_bytes(struct.pack("<Q", promised) + written + tensors)
    return path.name


_HEADERS: list[dict[str, Any]] = [
    {"shape": [2**40, 2**40]}, {"shape": []}, {"shape": [-1]}, {"shape": [0]}, {"shape": "x"}, {"dtype": "F8_E4M3"},
    {"dtype": "I64"}, {"dtype": "nothing"}, {"data_offsets": [0, 2**62]}, {"data_offsets": [8, 0]},
    {"data_offsets": []},
    {"shape": [1.5]}, {"dtype": None}, {"data_offsets": [-8, 8]}, {"dtype": "F64"}, {},
]  # fmt: skip
_GROWING = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 1000}
_SLOW = {"Regex": "(a+)+$"}
_NORMALIZERS: list[Any] = [
    {"type": "Sequence", "normalizers": [_GROWING] * 4}, {"type": "Replace", "pattern": _SLOW, "content": ""},
    {"type": "Replace", "pattern": {"Regex": "("}, "content": ""}, {"type": "Precompiled",
    "precompiled_charsmap": "AAAA"},
    {"type": "Nothing"}, {"type": "Sequence", "normalizers": []}, {"type": "Prepend", "prepend": "a" * 10**6}, 5,
]  # fmt: skip
_PRE_TOKENIZERS: list[Any] = [
    {"type": "Split", "pattern": _SLOW, "behavior": "Isolated", "invert": False},
    {"type": "Split", "pattern": {"Regex": "(?<=a"}, "behavior": "Isolated", "invert": False},
    {"type": "Split", "pattern": {"String": ""}, "behavior": "Nothing", "invert": True}, {"type": "Whitespace"},
    {"type": "Sequence", "pretokenizers": []}, {"type": "Metaspace", "replacement": "", "prepend_scheme": "x"}, [],
]  # fmt: skip
_DECODERS: list[Any] = [
    {"type": "Replace", "pattern": {"String": "t"}, "content": "t" * 10**6}, {"type": "ByteLevel"},
    {"type": "Strip", "content": " ", "start": 2**31, "stop": 2**31}, {"type": "WordPiece", "prefix": "",
    "cleanup": True},
]  # fmt: skip
_POST_PROCESSORS: list[Any] = [
    {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x", "type_id": 0}}], "pair": [],
     "special_tokens": {}},
    {"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {"x": {"id": "x", "ids": [2**31],
    "tokens": []}}},
    {"type": "BertProcessing", "sep": ["a", 2**31], "cls": ["b", -1]},
]  # fmt: skip


def _change_tokenizer(rng: random.Random, folder: Path) -> str:
    """Tokenizers that grow their text, search it for ever, or name tokens that the model does not have."""
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    kind = rng.randrange(6)
    if kind == 0:
        content["normalizer"] = rng.choice(_NORMALIZERS)
    elif kind == 1:
        content["pre_tokenizer"] = rng.choice(_PRE_TOKENIZERS)
    elif kind == 2:
        content["decoder"] = rng.choice(_DECODERS)
    elif kind == 3:
        content["post_processor"] = rng.choice(_POST_PROCESSORS)
    elif kind == 4:
        content["added_tokens"] = [
            {"id": rng.choice([0, 39, 40, 2**31, -1]), "content": rng.choice(["", "the", "\x1b[31m", "\x00"]),
             "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": rng.random() < 0.5}
        ]  # fmt: skip
    else:
        _change_vocabulary(rng, content["model"])
    path.write_text(json.dumps(content), errors="surrogatepass")
    return f"tokenizer.json, kind {kind}"


def _change_vocabulary(rng: random.Random, model: dict[str, Any]) -> None:
    vocabulary = model.get("vocab")
    if isinstance(vocabulary, dict) and vocabulary and rng.random() < 0.6:
        vocabulary[rng.choice(sorted(vocabulary))] = rng.choice([0, 39, 40, 2**31, 2**40, -1, 1.5, None])
    else:
        model[rng.choice(sorted(model))] = rng.choice([*VALUES, [["a", "b"]], ["a b"], [["", ""]], [["x y", "z"]]])


_OPTIONS: dict[str, Callable[[random.Random], Any]] = {
    "--prompt": lambda rng: rng.choice(["the", "", "\x00", "the " * 500, value(rng)]),
    "--prompt-file": lambda rng: rng.choice(["p.txt", "missing", ".", "/dev/null"]),
    "--max-tokens": lambda rng: rng.choice([0, 1, 3, -1, "x", "nan", 1.5]),
    "--beam": lambda rng: rng.choice([0, 1, 2, 50, -1, 10**30, "x"]),
    "--n-best": lambda rng: rng.choice([0, 1, 2, 999, -1]),
    "--temperature": lambda rng: rng.choice([0, 1e-300, -1, "nan", "inf", 1e300, "x", 0.5]),
    "--top-k": lambda rng: rng.choice([0, 1, 3, -1, 10**30, "x"]),
    "--top-p": lambda rng: rng.choice([0, 1, 1e-300, -1, 2, "nan", "x", 0.5]),
    "--count": lambda rng: rng.choice([0, 1, 3, -1, "x", 10**30]),
    "--out": lambda rng: rng.choice(
        ["o.png", "o.npz", "o.gif", "o.txt", "o", "no/where.png", ".", "", "a" * 300 + ".png", "p.txt"]
    ),
    "--class": lambda rng: rng.choice(["0", "7", "nothing", "", "-1", value(rng)]),
    "--guidance": lambda rng: rng.choice([0, 1, -1, "nan", "inf", 1e300]),
    "--steps": lambda rng: rng.choice([0, 1, 3, -1, "x", 10**30]),
    "--sampler": lambda rng: rng.choice(["ddpm", "ddim", "dpm", "euler", "heun", "nothing", ""]),
    "--seed": lambda rng: rng.choice([0, -1, 2**31, 2**63, 2**64, 10**30, "x"]),
}
_FLAGS = ["--no-stream", "--tree", "--interpolate", "--trajectory", "--json"]
_WRITING = ["--prompt", "--prompt-file", "--max-tokens", "--beam", "--n-best", "--temperature", "--top-k", "--top-p"]


def generation(rng: random.Random, home: Path, here: Path) -> Attempt:
    """Options of `generate` on models of each kind: out of range, of the other kind, or against each other."""
    (here / "p.txt").write_bytes(rng.choice([b"the cat", b"", b"\xff\xfe", b"the \x00"]))
    kind = rng.choice(["text-run", "pretrained", *(f"{name}-run" for name in GENERATORS)])
    writes = kind in ("text-run", "pretrained")
    own = [name for name in _OPTIONS if (name in _WRITING) == writes] if rng.random() < 0.9 else list(_OPTIONS)
    options = [f"{name}={_OPTIONS[name](rng)}" for name in rng.sample(own, rng.choice([1, 1, 2, 3]))]
    flags = rng.sample(_FLAGS if rng.random() < 0.2 else _FLAGS[:2] if writes else _FLAGS[2:], rng.choice([0, 0, 1, 2]))
    if writes and "--tree" in flags:
        options.append("--beam=2")
    bounded = "--max-tokens=3" if writes else "--count=2"
    if not any(option.startswith(bounded.split("=")[0]) for option in options):
        options.append(bounded)
    source = shutil.copytree(home / kind, here / "m")
    return Attempt(f"options for {kind}", argv(["generate", source.name, *options, *flags]))
