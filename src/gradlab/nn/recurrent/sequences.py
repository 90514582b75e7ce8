"""Recurrent networks over whole sequences, by PyTorch's fused kernels: many layers, two directions, many lengths."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from gradlab.errors import GradlabError
from gradlab.nn.blocks import ShapeError, block
from gradlab.nn.recurrent.settings import Bias, Nonlinearity, check_state, keep_one_bias
from gradlab.registry import Count, Probability

# Where autocast would run the kernels in float16, whichever type it was asked for: small gradients would become 0.
_ALWAYS_HALF = ("cuda",)


class Recurrent(nn.RNNBase):
    """What the blocks here add to PyTorch's: sequences of different lengths in one call, and errors in one line.

    On a GPU it is cuDNN that computes, in evaluation and in training. Under autocast in bf16 it has inputs and weights
    in float32, whose products it rounds less (TF32).
    """

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self.flatten_parameters()  # which a copy has apart: cuDNN would lay them together in every call

    @property
    def num_states(self) -> int:
        """Layers times directions."""
        return self.num_layers * (1 + self.bidirectional)

    @property
    def output_size(self) -> int:
        """The hidden size, for each direction."""
        return self.hidden_size * (1 + self.bidirectional)

    def _run(self, x: Tensor, state: Any, lengths: Tensor | None) -> Any:
        """The fused kernel. Padding is packed away before it, and is zeros behind it."""
        batch, steps = x.shape[:2] if self.batch_first else (x.shape[1], x.shape[0])
        if not steps:
            raise ShapeError(f"{type(self).__name__}: x must have at least one step in time, got {tuple(x.shape)}.")
        if _in_bf16(x.device.type):
            with torch.autocast(x.device.type, enabled=False):
                return self._run(x.float(), _in_float32(state), lengths)
        if lengths is None or not batch:
            return super().forward(x, state)
        lengths = self._checked(lengths, steps, batch)
        packed = pack_padded_sequence(x, lengths, self.batch_first, enforce_sorted=False)
        outputs, last = super().forward(packed, state)
        return pad_packed_sequence(outputs, self.batch_first, total_length=steps)[0], last

    def _checked(self, lengths: Tensor, steps: int, batch: int) -> Tensor:
        lengths = lengths.to("cpu", torch.int64)  # where and as packing wants them
        if len(lengths) != batch:
            raise ShapeError(f"{type(self).__name__}: lengths must have shape (batch={batch}), got ({len(lengths)},).")
        if lengths.min() < 1 or lengths.max() > steps:
            raise GradlabError(
                f"{type(self).__name__}: lengths must be from 1 to the {steps} steps of x, "
                f"got {lengths.min()} to {lengths.max()}."
            )
        return lengths

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "") -> None:
        num_states, batch, hidden_size = expected_hidden_size
        check_state(self, [hx], num_states=num_states, batch=batch, hidden_size=hidden_size)


def _in_bf16(device: str) -> bool:
    """Whether the kernels would run in float16 where bf16 was asked for."""
    half = device in _ALWAYS_HALF and torch.is_autocast_enabled(device)
    return half and torch.get_autocast_dtype(device) == torch.bfloat16


def _in_float32(state: Any) -> Any:
    return state.float() if isinstance(state, Tensor) else None if state is None else tuple(map(Tensor.float, state))


@block(
    "recurrent.rnn",
    flops="2·n·b·k·h·(d + h + (l - 1)·(k·h + h))",
    memory="O(n·b·k·h·l)",
    letters="n steps of b sequences, d features, h hidden units, l layers and k directions",
)
class RNN(Recurrent, nn.RNN):
    r"""The plain recurrent network: each layer reads the one below, and its own state of the step before.

    $$ h_t^{[l]} = \tanh(U^{[l]} h_t^{[l-1]} + b^{[l]} + W^{[l]} h_{t-1}^{[l]} + c^{[l]}), \qquad h_t^{[0]} = x_t $$

    Each layer is a `recurrent.rnn_cell`, its weights under PyTorch's names (`weight_ih_l0`, …). Given back are the
    states of the top layer at all steps, and the last state of every layer.

    The input is (time, batch, features), with `batch_first` (batch, time, features); the state to begin with is (layers
    times directions, batch, hidden) in either case, and 0 where none is given. With `bidirectional` each layer also
    runs from the end to the start, by weights of its own (`…_reverse`), and both outputs lie side by side. `dropout` is
    the probability that, in training, an output is dropped on its way to the next layer.

    `lengths` says how many steps of each sequence are real. The padding behind them is never looked at: outputs there
    are zeros, the last state is that of the last real step, and the way back begins there. They are wanted on the CPU;
    if they are elsewhere, the device is waited for.

    torch.compile breaks its graph here: the fused kernel runs as it is. Elman 1990, doi:10.1207/s15516709cog1402_1; two
    directions: Schuster & Paliwal 1997, doi:10.1109/78.650093.

    One step waits for the other: the time is O(n), whatever the number of processors.

    >>> outputs, last = RNN(3, 2, num_layers=2)(torch.ones(7, 5, 3), lengths=torch.tensor([7, 1, 4, 2, 2]))
    >>> outputs.shape, last.shape
    (torch.Size([7, 5, 2]), torch.Size([2, 5, 2]))
    """

    def __init__(
        self,
        input_size: Count,
        hidden_size: Count,
        num_layers: Count = 1,
        nonlinearity: Nonlinearity = "tanh",
        bias: Bias = True,
        batch_first: bool = False,
        dropout: Probability = 0.0,
        bidirectional: bool = False,
    ):
        super().__init__(
            input_size, hidden_size, num_layers, nonlinearity, bool(bias), batch_first, dropout, bidirectional
        )
        if bias == "one":
            keep_one_bias(self)

    def forward(  # type: ignore[override]
        self,
        x: Float[Tensor, "time_or_batch batch_or_time {self.input_size}"],
        state: Float[Tensor, "{self.num_states} batch {self.hidden_size}"] | None = None,
        lengths: Int[Tensor, " batch"] | None = None,
    ) -> tuple[
        Float[Tensor, "time_or_batch batch_or_time {self.output_size}"],
        Float[Tensor, "{self.num_states} batch {self.hidden_size}"],
    ]:
        outputs, last = self._run(x, state, lengths)
        return outputs, last


@block(
    "recurrent.lstm",
    flops="8·n·b·k·h·(d + h + (l - 1)·(k·h + h))",
    memory="O(n·b·k·h·l)",
    letters="n steps of b sequences, d features, h hidden units, l layers and k directions",
)
class LSTM(Recurrent, nn.LSTM):
    r"""The long short-term memory over sequences: each layer reads the one below, and its own state and cell before.

    $$ h_t^{[l]}, c_t^{[l]} = \mathrm{cell}^{[l]}(h_t^{[l-1]}, h_{t-1}^{[l]}, c_{t-1}^{[l]}), \qquad h_t^{[0]} = x_t $$

    Each layer is a `recurrent.lstm_cell`. Given back are the states h of the top layer at all steps, and the pair of
    the last h and the last c of every layer; such a pair is also the state to begin with. The orders of axes,
    `bidirectional`, `dropout` and `lengths` are those of `recurrent.rnn`.

    torch.compile breaks its graph here: the fused kernel runs as it is. Hochreiter & Schmidhuber 1997,
    doi:10.1162/neco.1997.9.8.1735.

    >>> outputs, (h, c) = LSTM(3, 2, bidirectional=True, batch_first=True)(torch.ones(5, 7, 3))
    >>> outputs.shape, h.shape, c.shape
    (torch.Size([5, 7, 4]), torch.Size([2, 5, 2]), torch.Size([2, 5, 2]))
    """

    def __init__(
        self,
        input_size: Count,
        hidden_size: Count,
        num_layers: Count = 1,
        bias: Bias = True,
        batch_first: bool = False,
        dropout: Probability = 0.0,
        bidirectional: bool = False,
    ):
        super().__init__(input_size, hidden_size, num_layers, bool(bias), batch_first, dropout, bidirectional)
        if bias == "one":
            keep_one_bias(self)

    def forward(  # type: ignore[override]
        self,
        x: Float[Tensor, "time_or_batch batch_or_time {self.input_size}"],
        state: tuple[
            Float[Tensor, "{self.num_states} batch {self.hidden_size}"],
            Float[Tensor, "{self.num_states} batch {self.hidden_size}"],
        ]
        | None = None,
        lengths: Int[Tensor, " batch"] | None = None,
    ) -> tuple[
        Float[Tensor, "time_or_batch batch_or_time {self.output_size}"],
        tuple[
            Float[Tensor, "{self.num_states} batch {self.hidden_size}"],
            Float[Tensor, "{self.num_states} batch {self.hidden_size}"],
        ],
    ]:
        outputs, last = self._run(x, state, lengths)
        return outputs, last


@block(
    "recurrent.gru",
    flops="6·n·b·k·h·(d + h + (l - 1)·(k·h + h))",
    memory="O(n·b·k·h·l)",
    letters="n steps of b sequences, d features, h hidden units, l layers and k directions",
)
class GRU(Recurrent, nn.GRU):
    r"""The gated recurrent unit over sequences: each layer reads the one below, and its own state before.

    $$ h_t^{[l]} = \mathrm{cell}^{[l]}(h_t^{[l-1]}, h_{t-1}^{[l]}), \qquad h_t^{[0]} = x_t $$

    Each layer is a `recurrent.gru_cell`. Given back are the states of the top layer at all steps, and the last state of
    every layer. The orders of axes, `bidirectional`, `dropout` and `lengths` are those of `recurrent.rnn`.

    torch.compile breaks its graph here: the fused kernel runs as it is. Cho et al. 2014, arXiv:1406.1078.

    >>> outputs, last = GRU(3, 2)(torch.ones(7, 5, 3))
    >>> torch.equal(outputs[-1], last[0])
    True
    """

    def __init__(
        self,
        input_size: Count,
        hidden_size: Count,
        num_layers: Count = 1,
        bias: Bias = True,
        batch_first: bool = False,
        dropout: Probability = 0.0,
        bidirectional: bool = False,
    ):
        super().__init__(input_size, hidden_size, num_layers, bool(bias), batch_first, dropout, bidirectional)
        if bias == "one":
            keep_one_bias(self)

    def forward(  # type: ignore[override]
        self,
        x: Float[Tensor, "time_or_batch batch_or_time {self.input_size}"],
        state: Float[Tensor, "{self.num_states} batch {self.hidden_size}"] | None = None,
        lengths: Int[Tensor, " batch"] | None = None,
    ) -> tuple[
        Float[Tensor, "time_or_batch batch_or_time {self.output_size}"],
        Float[Tensor, "{self.num_states} batch {self.hidden_size}"],
    ]:
        outputs, last = self._run(x, state, lengths)
        return outputs, last
