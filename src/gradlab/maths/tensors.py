"""Tensors as arrays of numbers: sums over repeated indices, and products that keep all axes."""

from collections import Counter
from collections.abc import Sequence
from functools import reduce

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import takes_arrays, tensor


@takes_arrays
def einsum(pattern: str, *operands: Tensor) -> Tensor:
    r"""Einstein's summation: every index that appears at least twice is summed over.

    $$ A_{i,k} B_{k,j} = \sum_k A_{i,k} B_{k,j} = (A B)_{i,j} $$

    In a pattern such as "ik,kj" each letter is an index and each comma ends the indices of an operand. The other
    indices are the axes of the result, in the order in which they appear first: not that of the alphabet, in which
    `torch.einsum` has them. An arrow, as in "bik,bkj->bij", names the axes of the result instead; all other indices
    are summed.

    >>> a, v = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 10.0])
    >>> einsum("ij,j", a, v), einsum("ii", a)
    (tensor([21., 43.]), tensor(5.))
    >>> einsum("ji,kj", a, a).equal(a.T @ a.T)
    True
    """
    indices, result = _read(pattern)
    if len(indices) != len(operands):
        raise GradlabError(
            f"einsum {pattern!r} has indices for {len(indices)} operands, and {len(operands)} were passed. "
            "Separate the indices of the operands by commas."
        )
    tensors = _alike(operands)
    sizes: dict[str, tuple[int, int]] = {}  # of each index, with the operand that has it
    for number, (letters, x) in enumerate(zip(indices, tensors, strict=True), 1):
        if len(letters) != x.ndim:
            raise GradlabError(
                f"einsum {pattern!r}: operand {number} has shape {tuple(x.shape)}, which is {x.ndim} axes, and "
                f"{len(letters)} indices, {letters!r}. Write one index for each axis."
            )
        for letter, size in zip(letters, x.shape, strict=True):
            before, where = sizes.setdefault(letter, (size, number))
            if size != before:
                raise GradlabError(
                    f"einsum {pattern!r}: index {letter!r} is {before} long in operand {where} and {size} long in "
                    f"operand {number}. Axes with the same index must be equally long."
                )
    return torch.einsum(f"{','.join(indices)}->{result}", *tensors)


def _read(pattern: str) -> tuple[list[str], str]:
    """The indices of each operand, and those of the result."""
    inputs, arrow, result = pattern.replace(" ", "").partition("->")
    indices = inputs.split(",")
    counts = Counter("".join(indices))
    for letter in (*counts, *result):
        if not (letter.isascii() and letter.isalpha()):
            raise GradlabError(f"einsum {pattern!r}: {letter!r} is no index. Indices are single letters.")
    if not arrow:
        return indices, "".join(letter for letter, count in counts.items() if count == 1)
    for letter, count in Counter(result).items():
        if count > 1:
            raise GradlabError(
                f"einsum {pattern!r}: index {letter!r} appears {count} times in the result. Name each axis once."
            )
        if letter not in counts:
            raise GradlabError(
                f"einsum {pattern!r}: index {letter!r} of the result is in no operand. Take one of "
                f"{', '.join(map(repr, counts))}."
            )
    return indices, result


@takes_arrays
def tensor_product(*tensors: Tensor) -> Tensor:
    r"""The product of each entry with each: the axes of the second come after those of the first.

    $$ (S \otimes T)_{i_1 \ldots i_n j_1 \ldots j_m} = S_{i_1 \ldots i_n} T_{j_1 \ldots j_m} $$

    It is associative, and another tensor in another order. Of no tensors it is the number 1.

    >>> s, t = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0, 100.0])
    >>> tensor_product(s, t)
    tensor([[  1.,  10., 100.],
            [  2.,  20., 200.]])
    >>> tensor_product(t, s).shape
    torch.Size([3, 2])
    """
    if not tensors:
        return torch.ones((), dtype=torch.float64)
    return reduce(lambda s, t: torch.tensordot(s, t, dims=0), _alike(tensors))


@takes_arrays
def pure_tensor(*vectors: Tensor) -> Tensor:
    r"""The tensor product of vectors: a tensor of order n and rank 1.

    $$ T = v_1 \otimes \cdots \otimes v_n, \qquad T_{i_1 \ldots i_n} = (v_1)_{i_1} \cdots (v_n)_{i_n} $$

    >>> pure_tensor(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.tensor([1.0, -1.0]))[1]
    tensor([[ 6., -6.],
            [ 8., -8.]])
    """
    for number, vector in enumerate(map(tensor, vectors), 1):
        if vector.ndim != 1:
            raise GradlabError(
                f"A pure tensor is a product of vectors, and factor {number} has shape {tuple(vector.shape)}. "
                "For tensors of any order there is tensor_product."
            )
    return tensor_product(*vectors)


@takes_arrays
def sum_of_pure_tensors(factors: Sequence[Float[Tensor, "size terms"]]) -> Tensor:
    r"""The sum of as many pure tensors as the factors have columns: what a decomposition of a tensor stands for.

    $$ T = \sum_{r} u_r^{(1)} \otimes \cdots \otimes u_r^{(n)} $$

    The vectors $u_r^{(k)}$ are the columns of the k-th factor.

    >>> sum_of_pure_tensors([torch.eye(2), torch.eye(2)])
    tensor([[1., 0.],
            [0., 1.]])
    """
    matrices = [tensor(factor) for factor in factors]
    columns = {matrix.shape[-1] if matrix.ndim == 2 else None for matrix in matrices}
    if len(columns) != 1 or None in columns:
        shapes = ", ".join(str(tuple(matrix.shape)) for matrix in matrices)
        raise GradlabError(f"Factors are matrices with a column for each pure tensor, and these have shapes {shapes}.")
    # Term by term: one einsum over all factors would need a letter for each, of which there are 52.
    terms = [pure_tensor(*vectors) for vectors in zip(*(matrix.unbind(1) for matrix in matrices), strict=True)]
    return torch.stack(terms).sum(0) if terms else torch.zeros([len(m) for m in matrices], dtype=matrices[0].dtype)


@takes_arrays
def batched_product(a: Float[Tensor, "*batch m k"], b: Float[Tensor, "*batch k n"]) -> Float[Tensor, "*batch m n"]:
    r"""The product of each pair of matrices in two stacks: slice by slice, not entry by entry.

    $$ C_{b,i,j} = \sum_k A_{b,i,k} B_{b,k,j} $$

    >>> a = torch.tensor([[[1.0, 2.0]], [[3.0, 4.0]]])
    >>> batched_product(a, a.mT).flatten().tolist()
    [5.0, 25.0]
    """
    a, b = _alike([a, b])
    if min(a.ndim, b.ndim) < 2 or a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-2]:
        raise GradlabError(
            f"Stacks of matrices of shapes {tuple(a.shape)} and {tuple(b.shape)} have no product: all axes but the "
            "last two must be equal, and the last of the first must be as long as the second to last of the second."
        )
    return a @ b


def _alike(operands: Sequence[Tensor]) -> list[Tensor]:
    """Tensors of floating point, all of the widest type among them."""
    tensors = [tensor(x) for x in operands]
    widest = reduce(torch.promote_types, (x.dtype for x in tensors))
    return [x.to(widest) for x in tensors]
