"""Usual words, and the course's own, for what has another name here."""

from gradlab.explanation import autodiff, cnn

AUTODIFF, CNN = "autodiff", "cnn"
WALKS = {AUTODIFF: autodiff.SUMMARY, CNN: cnn.DOC.summary}
"""Not parts, but ways that are gone step by step."""

ALSO = {
    **dict.fromkeys(("backprop", "backpropagation", "backward", "chainrule", "automaticdifferentiation"), AUTODIFF),
    **dict.fromkeys(("convnet", "convolution", "convolutionalnetwork", "im2col", "col2im"), CNN),
    # Of the course.
    "affine-map": "dense.linear",
    "argmin-problem": "maths.argmin",
    "attention-learned": "attention.multihead",
    "attention-pooling": "attention.dot",
    "attention-scores-dot-general": "attention.general",
    "autoencoder-loss": "loss.squared",
    "avg-pooling": "pool.average2d",
    "batch-matmul": "maths.batched_product",
    "bce": "loss.binary_cross_entropy",
    "big-o": "maths.growth_order",
    "bn-fc-placement": "norm.batch",
    "conv-from-dense": "conv.conv2d",
    "cross-attention": "attention.multihead",
    "dense-layer": "dense.linear",
    "depth-width": "depth-separation",
    "dropout-train": "regularisation.thinning",
    "dynamical-system": "recurrent.rnn",
    "elu": "activation.elu",
    "inverted-dropout": "regularisation.dropout",
    "kernel-boxcar": "attention.boxcar",
    "kernel-epanechnikov": "attention.epanechnikov",
    "kernel-gaussian": "attention.gaussian",
    "latent-variable-tractability": "maths.evidence_estimate",
    "max-pooling": "pool.max2d",
    "mle-principle": "maths.exponential_family.fit",
    "mse-mae": "loss.squared",
    "multi-channel-conv": "conv.conv2d",
    "mvn-density": "maths.normal.log_density",
    "neural-network": "nn-2-5-1",
    "neuron": "neuron.perceptron",
    "one-hot": "totensor-onehot",
    "order-blindness": "position.sinusoidal",
    "padding-stride": "conv.conv2d",
    "qkv-roles": "attention.scaled_dot",
    "residual-connection": "residual.add",
    "rnn-io-patterns": "recurrent.rnn",
    "rnn-sequence-loss": "loss.cross_entropy",
    "rope": "position.rotary",
    "scaled-dot-product": "attention.scaled_dot",
    "self-attention": "attention.multihead",
    "self-attention-columns": "attention.scaled_dot",
    "shared-kernel-rgb": "conv.conv2d",
    "sincos-encoding": "position.sinusoidal",
    "stochastic-process": "maths.MarkovChain",
    "tensor": "maths.tensor_product",
    "vae-loss": "maths.elbo",
}
