"""What others call the settings of our blocks: `d_model` is an `embed_dim`, `n_heads` are `num_heads`."""

from collections.abc import Collection, Sequence

_OF_VECTORS = "dim d_model hidden_size n_embd embed_dim emb_dim embed_size embedding_dim num_hiddens model_dim width d"
OTHER_NAMES = {
    setting: names.split()
    for setting, names in {
        "embed_dim": f"{_OF_VECTORS} hidden_dim channels in_features ffn_num_input",
        "num_heads": "n_heads heads nhead n_head num_attention_heads nheads h",
        "num_key_value_heads": "num_kv_heads n_kv_heads kv_heads n_kv_head",
        "head_dim": "dim_head d_head d_k",
        "hidden": "d_ff ff_dim dim_feedforward ffn_dim intermediate_size inner_dim hidden_features mlp_dim hidden_dim "
        "d_hidden ffn_num_hiddens hidden_size d_inner n_inner mlp_hidden_dim hidden_size_ff d_mlp",
        "normalized_shape": f"{_OF_VECTORS} features size num_features normalized_dim ndim channels",
        "num_features": "channels num_channels dim features planes n_features n_out size d c",
        "num_channels": "channels dim num_features planes c",
        "num_groups": "groups n_groups g",
        "num_parameters": "channels num_channels n_params",
        "in_features": "in_dim d_in input_dim in_channels n_in input_size num_inputs dim_in in_size fan_in nx",
        "out_features": "out_dim d_out output_dim out_channels n_out output_size num_outputs dim_out out_size fan_out "
        "nf",
        "in_channels": "in_ch c_in in_dim inp in_planes input_channels n_in",
        "out_channels": "out_ch c_out out_dim oup out_planes planes num_channels output_channels n_out",
        "kernel_size": "kernel k ksize size window pool_size",
        "input_size": "input_dim in_dim n_in num_inputs d_in in_features n_input",
        "hidden_size": "hidden_dim num_hiddens n_hidden units d_hidden hid_dim n_hid hidden out_features",
        "num_embeddings": "vocab_size n_vocab vocab num_tokens n_tokens",
        "embedding_dim": _OF_VECTORS,
        "max_length": "max_len max_position_embeddings max_seq_len block_size num_positions max_positions n_ctx",
        "dim": f"{_OF_VECTORS} head_dim rotary_dim dim_head axis",
        "query_dim": "query_size q_dim dec_dim decoder_dim d_query",
        "key_dim": "key_size k_dim enc_dim encoder_dim d_key",
        "hidden_dim": "num_hiddens attn_dim attention_dim units hidden_size d_attn hidden",
        "base": "theta rope_theta freq_base",
        "eps": "epsilon variance_epsilon layer_norm_eps norm_eps layer_norm_epsilon",
        "p": "dropout drop_prob drop_rate rate dropout_p prob p_drop dropout_prob",
        "dropout": "dropout_p drop drop_rate dropout_prob attn_drop attn_dropout p_drop p",
        "bias": "use_bias qkv_bias with_bias",
        "negative_slope": "slope leak alpha",
        "temperature": "tau",
        "momentum": "mom bn_momentum",
        "width": "sigma bandwidth h",
        "affine": "elementwise_affine",
        "elementwise_affine": "affine",
        "norm_first": "pre_norm prenorm pre_ln normalize_before",
        "smoothing": "epsilon eps alpha label_smoothing",
        "label_smoothing": "smoothing epsilon eps alpha",
        "batch_first": "batch_major",
        "shortcut": "downsample skip projection proj identity",
        "num_layers": "n_layers layers n_layer depth",
        "aggregate": "aggr aggregator aggregator_type reduce pooling",
    }.items()
}


def their_names(
    ours: Collection[str], theirs: Collection[str], needed: Sequence[Collection[str]] = ((), ())
) -> dict[str, str]:
    """What they call our settings, as far as they have them; no name of theirs stands for two of ours.

    `needed` are those of ours and of theirs that have no default: if as many are left of each, they go by words in
    common and then by order.

    >>> their_names(("embed_dim", "num_heads", "bias"), ("dim", "h"))
    {'embed_dim': 'dim', 'num_heads': 'h'}
    >>> their_names(("max_length", "dim"), ("num_patches", "dim"), (("max_length", "dim"), ("num_patches", "dim")))
    {'max_length': 'num_patches', 'dim': 'dim'}
    """
    names = {setting: setting for setting in ours if setting in theirs}
    for setting in ours:
        free = (
            name for name in OTHER_NAMES.get(setting, ()) if name in theirs and name not in {*ours, *names.values()}
        )
        if setting not in names and (name := next(free, None)):
            names[setting] = name
    left = [name for name in needed[0] if name not in names], [n for n in needed[1] if n not in names.values()]
    if len(left[0]) == len(left[1]):
        names |= _paired(*left)
    return {setting: names[setting] for setting in ours if setting in names}


def _paired(ours: Sequence[str], theirs: Sequence[str]) -> dict[str, str]:
    """
    >>> _paired(("input_size", "hidden_size"), ("hidden_sz", "input_sz"))
    {'input_size': 'input_sz', 'hidden_size': 'hidden_sz'}
    """
    pairs, rest = {}, [*theirs]
    for name in ours:
        alike = [other for other in rest if {*name.split("_")} & {*other.split("_")}]
        if len(alike) == 1:
            pairs[name] = alike[0]
            rest.remove(alike[0])
    return pairs | dict(zip([name for name in ours if name not in pairs], rest, strict=True))
