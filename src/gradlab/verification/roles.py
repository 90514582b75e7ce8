"""What others call the parameters of our blocks, whole or in parts: `fc1.weight`, `gamma`, `x2h.weight`, `W_xi`."""

from collections.abc import Iterator
from itertools import product

Names = tuple[str, ...]
"""One name, or those of the parts that lie below one another in ours."""

MODULES = {
    "attention": "attention attn self_attn self_attention mha sa mixer attention.attention attention.self slf_attn",
    "cross_attention": "cross_attention cross_attn multihead_attn encoder_attn src_attn enc_attn attn2 attention2",
    "norm1": "norm1 ln1 ln_1 layernorm1 layer_norm1 norm_1 layer_norm_1 input_layernorm attn_norm attention_norm "
    "addnorm1.ln sublayer.0.norm sublayers.0.norm self_attn_layer_norm attn_ln layernorm_before",
    "norm2": "norm2 ln2 ln_2 layernorm2 layer_norm2 norm_2 layer_norm_2 post_attention_layernorm ffn_norm mlp_norm "
    "addnorm2.ln sublayer.1.norm sublayers.1.norm final_layer_norm mlp_ln ff_norm layernorm_after",
    "norm3": "norm3 ln3 ln_3 layernorm3 layer_norm3 norm_3 addnorm3.ln cross_norm encoder_attn_layer_norm",
    "linear": "linear lin fc proj W w weight",
    "own": "own lin_r fc_self lin_self linear_self w_self self_linear",
    "neighbours": "neighbours lin_l fc_neigh lin_neigh linear_neigh w_neigh neigh_linear",
    "mlp": "mlp ffn feed_forward ff feedforward pos_ffn",
    "linear1": "linear1 fc1 w_1 w1 c_fc dense1 fc_in lin1 linear_1 up_proj up dense_1 wi W1 W_1 proj_in net.0 layers.0 "
    "ffn.0 ff.0 mlp.0 seq.0 0 net.0.proj net.0.0 intermediate.dense intermediate conv1 dense_h_to_4h layer1",
    "linear2": "linear2 fc2 w_2 w2 c_proj dense2 fc_out lin2 linear_2 down_proj down dense_2 wo W2 W_2 proj_out net.2 "
    "net.3 layers.2 layers.3 ffn.2 ffn.3 ff.2 ff.3 mlp.2 mlp.3 seq.2 seq.3 2 3 output.dense output conv2 "
    "dense_4h_to_h layer2",
    "out_proj": "out_proj o_proj out output proj c_proj to_out to_out.0 fc_out W_o W_O w_o wo WO out_linear fc dense "
    "output.dense output_linear linears.3 w_out o",
}
GATED = {
    "gate": "gate gate_proj w1 w_gate wg w_g W w fc1_g linear_g gate_fc w_1 layer1",
    "linear1": "up_proj up w3 w_up fc1_x linear1 V v w_u linear_w value_proj value w_3 fc1 linear_v",
    "linear2": "down_proj down w2 fc2 w_down wo W2 out linear2 w_2 c_proj proj to_out layer2",
}
ENDINGS = {
    "weight": "weight gamma g gain scale w W alpha a a_2 kernel slope weights table emb pe",
    "bias": "bias beta b shift b_2 beta_",
    "receiver": "receiver a_dst att_dst attn_r a_r",
    "sender": "sender a_src att_src attn_l a_l",
}
PACKED = [
    "in_proj_{}",
    "in_proj.{}",
    "qkv.{}",
    "qkv_proj.{}",
    "to_qkv.{}",
    "c_attn.{}",
    "Wqkv.{}",
    "query_key_value.{}",
]
USUAL = "{q}_proj {query} {query}_proj {query}s W_{q} W_{Q} w_{q} w{q} W{Q} to_{q} {q}_linear {q} fc_{q} self.{query} "
USUAL += "{query}.linear {query}_linear lin_{q} w_{q}s W_{query} linear_{q}"
QKV = ("query", "key", "value")
GATES = {
    "lstm": (("i", "input"), ("f", "forget"), ("g", "c", "cell", "candidate"), ("o", "output")),
    "gru": (("r", "reset"), ("z", "u", "update"), ("n", "h", "c", "new", "candidate")),
}
OF_GATES = {
    "weight_ih": "W_x{0} W_i{0} w_x{0} w_i{0} W_{0}x W_{0}i x{0} x2{0} W_{0} w_{0} {0}_x {0}_input Wx{0} ih_{0} x_{0}",
    "weight_hh": "W_h{0} w_h{0} W_{0}h U_{0} u_{0} h{0} h2{0} R_{0} {0}_h {0}_hidden Wh{0} hh_{0} h_{0}",
    "bias_ih": "b_{0} b{0} bias_{0}",
}
RECURRENT = {
    "weight_ih": "weight_ih x2h.weight i2h.weight in2h.weight W_ih W_xh Wx W_x w_ih w_x ih.weight input_map.weight U "
    "input_proj.weight W_in.weight W_x.weight W_ih.weight Wx.weight x2g.weight fc_x.weight in_proj.weight W kernel "
    "i2g.weight linear_ih.weight lin_x.weight input_lin.weight",
    "weight_hh": "weight_hh h2h.weight hh.weight W_hh Wh W_h w_hh w_h hidden_map.weight hidden_proj.weight W_h.weight "
    "W_hh.weight Wh.weight h2g.weight fc_h.weight hid_proj.weight U recurrent_kernel V linear_hh.weight lin_h.weight "
    "hidden_lin.weight W",
    "bias_ih": "bias_ih x2h.bias i2h.bias in2h.bias b_ih b_h b bias ih.bias input_map.bias input_proj.bias W_x.bias "
    "W_ih.bias Wx.bias x2g.bias fc_x.bias in_proj.bias i2g.bias linear_ih.bias lin_x.bias input_lin.bias",
    "bias_hh": "bias_hh h2h.bias b_hh hh.bias hidden_map.bias hidden_proj.bias W_h.bias W_hh.bias Wh.bias h2g.bias "
    "fc_h.bias linear_hh.bias lin_h.bias hidden_lin.bias",
}

FORWARDS = "fwd fw fwd_cell fwd_cells forward_cell forward_cells cell_fwd cells_fwd cell_fw cells_fw cell_forward "
FORWARDS += "cells_forward forward_layers fwd_layers forward_rnn fwd_rnn rnn_fwd f_cell f_rnn l2r"
BACKWARDS = "bwd bw bwd_cell bwd_cells backward_cell backward_cells cell_bwd cells_bwd cell_bw cells_bw cell_backward "
BACKWARDS += "cells_backward backward_layers bwd_layers backward_rnn bwd_rnn rnn_bwd b_cell b_rnn r2l rev reverse"


def alternatives(block: str, wanted: str) -> Iterator[Names]:
    """The names, or groups of names, under which others have a parameter of a block; the likeliest first.

    >>> next(alternatives("norm.layer", "weight")), list(alternatives("norm.layer", "weight"))[1]
    (('weight',), ('gamma',))
    """
    kind, layer = _without_layer(wanted)
    if block.startswith("recurrent.") and kind in RECURRENT:
        yield from _recurrent(block, kind, layer)
        return
    *modules, ending = wanted.split(".")
    known = MODULES | GATED if block == "transformer.gated_mlp" else MODULES
    if block == "transformer.decoder":  # others count norms as they come, and that of the memory comes second
        both = f"{known['norm3']} {known['norm2']}"
        known = known | {"norm2": both, "norm3": f"{known['norm2']} {known['norm3']}"}
    others = [[*known.get(module, module).split(), *([""] if module == "mlp" else [])] for module in modules]
    for names in product(*others):
        before = ".".join(name for name in names if name)
        for group in _endings(ending):
            yield tuple(f"{before}.{name}" if before else name for name in group)
    if modules:  # a matrix that belongs to no layer: `W1`, and its bias `b1`
        for names in product(*others):
            before = ".".join(name for name in names if name)
            yield (before,) if ending == "weight" else (f"b{before[-1:]}",)


def _endings(ending: str) -> Iterator[Names]:
    if ending not in ("in_proj_weight", "in_proj_bias"):
        yield from ((name,) for name in ENDINGS.get(ending, ending).split())
        return
    kind = ending.removeprefix("in_proj_")
    yield from ((name.format(kind),) for name in PACKED)
    for name in USUAL.split():
        own = tuple(name.format(query=word, q=word[0], Q=word[0].upper()) for word in QKV)
        yield tuple(f"{part}.{kind}" for part in own)
        yield own if kind == "weight" else tuple(f"b_{word[0]}" for word in QKV)
    yield tuple(f"linears.{i}.{kind}" for i in range(3))
    yield f"to_q.{kind}", f"to_kv.{kind}"


def _without_layer(wanted: str) -> tuple[str, str]:
    """`weight_ih_l0_reverse` is `weight_ih` of a layer."""
    kind, _, layer = wanted.partition("_l")
    return kind, f"_l{layer}" if layer else ""


def _recurrent(block: str, kind: str, layer: str) -> Iterator[Names]:
    """Of a layer that is not the first, torch's name is usual, or that of a cell in a list."""
    yield (f"{kind}{layer}",)
    number, _, way = (layer.removeprefix("_l") or "0").partition("_")
    for word in (BACKWARDS if way else FORWARDS).split():
        places = (
            f"{word}.{number}.",
            f"layers.{number}.{word}.",
            *((f"{word}.", f"{word}.cell.") if number == "0" else ()),
        )
        yield from ((before + name,) for before in places for name in RECURRENT[kind].split())
    if way:
        return
    own = ("", "cell.", "rnn_cell.", "lstm_cell.", "gru_cell.", "rnn.") if number == "0" else ()
    for before in (*own, f"cells.{number}.", f"layers.{number}.", f"rnns.{number}."):
        yield from ((before + name,) for name in RECURRENT[kind].split())
    family = next((gates for name, gates in GATES.items() if name in block), ())
    stems = {"bias_hh": "weight_hh"}.get(kind, kind)
    if number != "0":
        return
    for before, form in product(("", "cell."), OF_GATES.get(stems, "").split() if family else ()):
        for letters in product(*family):
            name = [before + form.format(letter) for letter in letters]
            yield from ([tuple(name), tuple(f"{n}.weight" for n in name)] if "weight" in kind else [tuple(name)])
            if "bias" in kind:
                yield tuple(f"{n}.bias" for n in name)
    if kind == "bias_ih" and family:
        for form in OF_GATES["weight_ih"].split():
            for letters in product(*family):
                yield tuple(f"{form.format(letter)}.bias" for letter in letters)
