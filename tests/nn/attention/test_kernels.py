import pytest
import torch
import torch._dynamo
from torch.nn.attention import SDPBackend, sdpa_kernel

from gradlab.nn.attention import dot_product, kernels
from gradlab.nn.attention.kernels import fused_kernels
from gradlab.nn.transformer import DecoderLayer


class OnCuda:
    """As much of a tensor on an H200 as the table looks at."""

    is_cuda, device = True, torch.device("cuda", 0)

    def __init__(self, *shape, bytes=2):
        self.shape, self.element_size = torch.Size(shape), lambda: bytes


@pytest.fixture
def h200(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))


def first(queries, training=True):
    """The kernel that is tried first."""
    with fused_kernels(queries, training):
        return SDPBackend(torch._C._get_sdp_priority_order()[0])


LONG, SHORT = (32, 12, 1024, 64), (64, 6, 256, 64)


def test_long_sequences_are_trained_with_cudnn_and_all_else_with_flash_attention(h200):
    usual = torch._C._get_sdp_priority_order()
    assert first(OnCuda(*LONG)) == SDPBackend.CUDNN_ATTENTION
    assert first(OnCuda(*SHORT)) == SDPBackend.FLASH_ATTENTION
    assert first(OnCuda(*LONG), training=False) == SDPBackend.FLASH_ATTENTION
    with torch.no_grad():
        assert first(OnCuda(*LONG)) == SDPBackend.FLASH_ATTENTION
    assert torch._C._get_sdp_priority_order() == usual


def test_float32_other_devices_and_who_has_chosen_are_left_alone(h200, monkeypatch):
    monkeypatch.setattr(kernels, "sdpa_kernel", None)
    for queries in (torch.zeros(LONG, dtype=torch.bfloat16, device="meta"), OnCuda(*LONG, bytes=4)):
        first(queries)
    with sdpa_kernel(SDPBackend.MATH):
        first(OnCuda(*LONG))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    first(OnCuda(*LONG))


def test_the_choice_is_made_inside_a_compiled_layer_too(h200, monkeypatch):
    monkeypatch.setattr(dot_product, "fused_kernels", lambda queries, training: fused_kernels(OnCuda(*LONG), training))
    layer, x, graphs = DecoderLayer(16, 2), torch.randn(2, 8, 16), []

    def compiler(graph, inputs):
        graphs.append(graph.code)
        return graph

    plain = layer(x)
    torch._dynamo.reset()
    compiled = torch.compile(layer._call_impl, fullgraph=True, dynamic=False, backend=compiler)
    torch.testing.assert_close(compiled(x), plain)
    assert "CUDNN_ATTENTION" in graphs[0]
