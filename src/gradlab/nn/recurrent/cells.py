"""Recurrent cells: one step of a recurrence. The gates are those of PyTorch, and so are the names of the weights."""

from jaxtyping import Float
from torch import Tensor, nn

from gradlab.nn.blocks import block
from gradlab.nn.recurrent.settings import Bias, Nonlinearity, check_state, keep_one_bias
from gradlab.registry import Count


@block(
    "recurrent.rnn_cell", flops="2·n·h·(d + h)", memory="O(n·h)", letters="n examples of d features and h hidden units"
)
class RNNCell(nn.RNNCell):
    r"""One step of the plain recurrence: the new state is a bent affine map of the input and the state before.

    $$ h' = \tanh(U x + b + W h + c) $$

    U, b, W and c are `weight_ih`, `bias_ih`, `weight_hh` and `bias_hh`. It is one matrix (U W) on x above h. The two
    biases add, and `bias="one"` leaves c out. `nonlinearity="relu"` takes ReLU for tanh. Without h it is 0. Elman 1990,
    doi:10.1207/s15516709cog1402_1.

    >>> import torch
    >>> cell = RNNCell(3, 2)
    >>> h = cell(torch.ones(5, 3))
    >>> cell(torch.ones(5, 3), h).shape
    torch.Size([5, 2])
    """

    def __init__(self, input_size: Count, hidden_size: Count, bias: Bias = True, nonlinearity: Nonlinearity = "tanh"):
        super().__init__(input_size, hidden_size, bool(bias), nonlinearity)
        if bias == "one":
            keep_one_bias(self)

    def forward(
        self, x: Float[Tensor, "batch {self.input_size}"], h: Float[Tensor, "batch {self.hidden_size}"] | None = None
    ) -> Float[Tensor, "batch {self.hidden_size}"]:
        return super().forward(x, h)


@block(
    "recurrent.lstm_cell", flops="8·n·h·(d + h)", memory="O(n·h)", letters="n examples of d features and h hidden units"
)
class LSTMCell(nn.LSTMCell):
    r"""One step of the long short-term memory: a cell is kept, added to and shown, as three gates allow.

    $$ \begin{aligned}
       i &= \sigma(U_i x + W_i h + b_i) \\
       f &= \sigma(U_f x + W_f h + b_f) \\
       g &= \tanh(U_g x + W_g h + b_g) \\
       o &= \sigma(U_o x + W_o h + b_o) \\
       c' &= f \odot c + i \odot g \\
       h' &= o \odot \tanh c'
       \end{aligned} $$

    All gates see the state h of the step before. U and W are `weight_ih` and `weight_hh`, in which the rows of i, f, g
    and o follow one another; b is `bias_ih` + `bias_hh`, and `bias="one"` leaves the second out. The state is the pair
    (h, c), without which both are 0. With f = 1 and i = 0 the cell stays as it is, however many steps follow. Without
    biases, PyTorch up to 2.13 cannot compile it for CUDA. Hochreiter & Schmidhuber 1997,
    doi:10.1162/neco.1997.9.8.1735.

    >>> import torch
    >>> h, c = LSTMCell(3, 2)(torch.ones(5, 3))
    >>> h.shape, c.shape
    (torch.Size([5, 2]), torch.Size([5, 2]))
    """

    def __init__(self, input_size: Count, hidden_size: Count, bias: Bias = True):
        super().__init__(input_size, hidden_size, bool(bias))
        if bias == "one":
            keep_one_bias(self)

    def forward(
        self,
        x: Float[Tensor, "batch {self.input_size}"],
        state: tuple[Float[Tensor, "batch {self.hidden_size}"], Float[Tensor, "batch {self.hidden_size}"]]
        | None = None,
    ) -> tuple[Float[Tensor, "batch {self.hidden_size}"], Float[Tensor, "batch {self.hidden_size}"]]:
        check_state(self, state or (), batch=len(x), hidden_size=self.hidden_size)
        return super().forward(x, state)


@block(
    "recurrent.gru_cell", flops="6·n·h·(d + h)", memory="O(n·h)", letters="n examples of d features and h hidden units"
)
class GRUCell(nn.GRUCell):
    r"""One step of the gated recurrent unit: each unit moves from its state to a candidate, as far as a gate allows.

    $$ \begin{aligned}
       r &= \sigma(U_r x + b_r + W_r h + c_r) \\
       z &= \sigma(U_z x + b_z + W_z h + c_z) \\
       n &= \tanh(U_n x + b_n + r \odot (W_n h + c_n)) \\
       h' &= (1 - z) \odot n + z \odot h
       \end{aligned} $$

    With z = 1 the state is kept; in some texts 1 - z has the name z. U, b, W and c are `weight_ih`, `bias_ih`,
    `weight_hh` and `bias_hh`, in which the rows of r, z and n follow one another. The two biases add, except those of
    n, one of which is inside the product with r; `bias="one"` leaves c out. Without h it is 0. Cho et al. 2014,
    arXiv:1406.1078, have W (r ⊙ h) for r ⊙ (W h).

    >>> import torch
    >>> GRUCell(3, 2)(torch.ones(5, 3)).shape
    torch.Size([5, 2])
    """

    def __init__(self, input_size: Count, hidden_size: Count, bias: Bias = True):
        super().__init__(input_size, hidden_size, bool(bias))
        if bias == "one":
            keep_one_bias(self)

    def forward(
        self, x: Float[Tensor, "batch {self.input_size}"], h: Float[Tensor, "batch {self.hidden_size}"] | None = None
    ) -> Float[Tensor, "batch {self.hidden_size}"]:
        return super().forward(x, h)
