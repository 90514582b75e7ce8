"""The laws and the worked examples of the course by name: checks state the laws, and walks go through the examples."""


def _names(groups: dict[str, str]) -> dict[str, str]:
    """The group of each name."""
    return {name: group for group, names in groups.items() for name in names.split()}


LAWS = _names({
    "Tensors & linear algebra": """
        einsum tensor-product pure-tensor-rank norm-axioms norm-l1-l2 norm-lp affine-composition
    """,
    "Probability": """
        bayes prob-space-rv independence density-marginal conditional-distribution conditional-discrete-density
        gauss-mgf gauss-moments gauss-affine gauss-sum gauss-block-independence gauss-singular wick-isserlis
        gauss-ibp gauss-conditioning convergence-modes slln clt markov-chain markov-inhomogeneous
        stochastic-kernel history-markovisation svm
    """,
    "Information theory": """
        entropy-bounds gibbs-inequality joint-entropy conditional-entropy mutual-information kl-nonnegative
        kl-joint-convexity kl-diffeo-invariance kl-mi-identities xlogx-convex cross-entropy-law lp-distance
        total-variation
    """,
    "Neurons & activations": """
        relu-homogeneity sigmoid tanh gelu softmax-range-sum softmax-shift softmax-temperature-limit
        softmax-jacobian
    """,
    "Losses": """
        gaussian-nll-mse ce-logits ce-gradient identity-half-square-gradient onehot-p-slot
    """,
    "Autodiff": """
        chain-rule backprop-delta-output backprop-delta-hidden backprop-param-grads
    """,
    "Optimisation": """
        steepest-descent taylor-first-order gd-rate-convex
    """,
    "Normalisation": """
        bn-identity bn-bias-redundant bn-param-count
    """,
    "Regularisation": """
        dropout-expectation
    """,
    "CNN": """
        translation-equivariance convolution-math cross-correlation conv-output-size conv-param-count
        conv1d-toeplitz conv-as-sparse-matmul feature-order-invariance
    """,
    "RNN": """
        rnn-concat-form bptt jacobian-product-decay lstm-memory-law lstm-ranges
    """,
    "Language models": """
        sequence-chain-rule laplace-smoothing perplexity
    """,
    "Encoder-decoder & decoding": """
        length-normalised-score
    """,
    "Attention": """
        attention-special-cases hard-soft-attention stacked-qkv-projection gaussian-kernel-as-dot-product
        dot-product-variance additive-attention attention-score-lowrank attention-kv-invariance
        attention-query-equivariance
    """,
    "Efficient attention": """
        quadratic-cost feature-map-factorisation gaussian-exp-moment performer-identity performer-cosh
        random-features-rbf
    """,
    "Positional": """
        sincos-rotation-law rope-relative-law
    """,
    "Generative": """
        mc-marginal-likelihood importance-sampling elbo elbo-gap reparametrisation-trick vae-approach2
        gaussian-kl-closed-form
    """,
    "Expressiveness theory": """
        pwl-representation pwl-2d-counterexample clamp-relu-identity universal-approximation-width
        polynomial-activation-closure exp-algebra stone-weierstrass heine-cantor universal-approximation-depth
        affine-regions depth-separation
    """,
    "Graphs": """
        gnn
    """,
    "Convexity": """
        convex-set convex-function jensen jensen-latent-likelihood local-is-global below-sets
    """,
    "Training practice": """
        sanity-initial-loss
    """,
})  # fmt: skip
"""Each law, with the part of the course that it belongs to."""

EXAMPLES = _names({
    "Probability": """
        no-joint-density typewriter-sequence random-walk hmm-lumped-chain gumbel-mle nonlinear-feature-logistic
    """,
    "Information theory": """
        kl-asymmetry-exercise
    """,
    "Neurons & activations": """
        nn-2-5-1 two-layer-net linear-limitations dead-relu piecewise-constant-activation
    """,
    "Autodiff": """
        multiply-gate small-net-gradient relu-net-worked numpy-mnist-net nn-module
    """,
    "Initialisation": """
        zero-init small-gaussian-init large-init uniform-init
    """,
    "Regularisation": """
        dropout-code
    """,
    "CNN": """
        mean-blur gaussian-blur sharpen-kernel edge-kernels conv-worked-example opencv-filter
    """,
    "RNN": """
        pytorch-rnn-demo
    """,
    "Encoder-decoder & decoding": """
        beam-example machine-translation
    """,
    "Attention": """
        differentiable-lookup
    """,
    "Generative": """
        elbo-exp-example
    """,
    "Training practice": """
        totensor-onehot building-blocks-demo
    """,
})  # fmt: skip
"""Likewise the worked examples."""
