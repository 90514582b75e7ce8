"""What is known of sums over indices, of products of tensors and of their rank."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gradlab.maths import tensor_rank, tensors
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, conform, law, peer
from gradlab.verification.comparing import difference
from gradlab.verification.subject import subject

EINSUM, PRODUCT, BATCHED, RANK = (
    f"maths.{name}" for name in ("einsum", "tensor_product", "batched_product", "tensor_rank")
)
subject(EINSUM)(tensors.einsum)
subject(PRODUCT)(tensors.tensor_product)
subject(BATCHED)(tensors.batched_product)
subject(RANK)(tensor_rank.tensor_rank)


# Einstein's summation

_PATTERNS = ("ij,j", "ik,kj", "ii", "ik,jk", "ikl,klj", "i,i,i", "ij,jk,kl", "iij,j", "bij,bjk->bik", "ij->j", "ii->i")


def _operands(case: Case, pattern: str) -> list[Tensor]:
    """Of each operand one tensor, axes with the same index equally long."""
    sizes = {letter: case.integer(f"size of {letter}", 1, 4) for letter in sorted(set(pattern) - set(",->"))}
    inputs = pattern.partition("->")[0].split(",")
    return [case.tensor(f"operand {n}", *(sizes[i] for i in letters)) for n, letters in enumerate(inputs, 1)]


def _renamed(case: Case, pattern: str) -> str:
    """The same pattern with other letters, in any order of the alphabet."""
    letters = sorted(set(pattern) - set(",->"))
    order = case.permutation("letters", len(letters)).tolist()
    return pattern.translate(str.maketrans("".join(letters), "".join("abcdefgh"[i] for i in order)))


def _alphabetical(pattern: str, *operands: Tensor) -> Tensor:
    """The axes of the result in the order of the alphabet; of equal lengths nobody would notice."""
    indices, result = tensors._read(pattern)
    wanted = tensors.einsum(pattern, *operands)
    sorted_ = torch.einsum(f"{','.join(indices)}->{''.join(sorted(result))}", *operands)
    return sorted_.reshape(wanted.shape)


def _once_each(pattern: str, *operands: Tensor) -> Tensor:
    """An index that one operand has twice is not summed there: of a trace, the last entry of the diagonal is left."""
    return operands[0].diagonal()[-1] if pattern[0] == pattern[1:] else tensors.einsum(pattern, *operands)


@law(EINSUM, id="einsum", fault=[_alphabetical, _once_each])
def an_index_that_appears_twice_is_summed(case: Case) -> float:
    """$A_{ij} v_j = A v$, $A_{ik} B_{kj} = A B$, $A_{ii} = tr A$, $A_{ik} B_{jk} = A B^⊤$, $A_{ikl} B_{klj}$ = Σ …"""
    sizes = dict(zip("ijkl", case.sizes(4, (4, 4)), strict=True))
    einsum = case.build()

    def operand(indices: str) -> Tensor:
        return case.tensor(f"operand {indices}", *(sizes[i] for i in indices))

    a, b, v = operand("ik"), operand("kj"), operand("k")
    turned, square, big, deep = operand("jk"), operand("ii"), operand("ikl"), operand("klj")
    results = [
        einsum(_renamed(case, pattern), *operands)
        for pattern, *operands in (
            ("ik,k", a, v),
            ("ik,kj", a, b),
            ("ii", square),
            ("ik,jk", a, turned),
            ("ikl,klj", big, deep),
        )
    ]
    wanted = (
        (a * v).sum(1),
        torch.stack([(a * column).sum(1) for column in b.unbind(1)], 1),
        torch.stack([square[i, i] for i in range(sizes["i"])]).sum(),
        torch.stack([(a * row).sum(1) for row in turned], 1),
        torch.stack([(big * each).sum((1, 2)) for each in deep.unbind(2)], 1),
    )
    return difference(results, wanted, [a, b, v, turned, square, big, deep])


def _numpys_pattern(pattern: str) -> str:
    """With an arrow: without one, NumPy has another order."""
    letters = pattern.replace(",", "")
    once = [letter for letter in dict.fromkeys(letters) if letters.count(letter) == 1]
    return pattern if "->" in pattern else f"{pattern}->{''.join(once)}"


def _any_pattern(case: Case) -> Call:
    pattern = _renamed(case, case.choice("pattern", _PATTERNS))
    operands = _operands(case, pattern)
    einsum = case.build()
    return Call(lambda *operands: einsum(pattern, *operands), operands, options={"pattern": pattern})


def _numpys_einsum(call: Call) -> Tensor:
    arrays = [x.detach().numpy() for x in call.inputs]
    return torch.as_tensor(np.einsum(_numpys_pattern(call.options["pattern"]), *arrays))


conform(EINSUM, _any_pattern, peer={"numpy.einsum": _numpys_einsum})


# Products


def _exchanged(*factors: Tensor) -> Tensor:
    """T ⊗ S, read as if it had the axes of S ⊗ T."""
    wanted = tensors.tensor_product(*factors)
    return tensors.tensor_product(*factors[::-1]).reshape(wanted.shape)


def _pair(case: Case, *names: str) -> list[Tensor]:
    return [
        case.tensor(name, *case.sizes(3, (0, 2), name=f"size of {name}", count=f"order of {name}")) for name in names
    ]


@law(PRODUCT, id="tensor-product", fault=_exchanged)
def the_entries_are_all_products(case: Case) -> float:
    """$(S ⊗ T)_{ij} = S_i T_j$ for all indices i of S and j of T"""
    s, t = _pair(case, "S", "T")
    product = case.build()(s, t)
    entries = [s[i] * t[j] for i in np.ndindex(*s.shape) for j in np.ndindex(*t.shape)]
    return difference(product, torch.stack(entries).reshape([*s.shape, *t.shape]))


@law(PRODUCT, id="tensor-product", fault=lambda *factors: tensors.tensor_product(*factors) * len(factors))
def brackets_do_not_matter_and_the_order_does(case: Case) -> float:
    """(S ⊗ T) ⊗ U = S ⊗ (T ⊗ U) = S ⊗ T ⊗ U, and T ⊗ S has the axes of T first"""
    (s, t, u), product = _pair(case, "S", "T", "U"), case.build()
    axes = [*range(s.ndim, s.ndim + t.ndim), *range(s.ndim)]
    together = product(s, t, u)
    pairs = (product(product(s, t), u), product(s, product(t, u)), product(t, s))
    return difference(pairs, (together, together, product(s, t).permute(axes)))


@peer(PRODUCT, "numpy.multiply.outer")
def numpys_outer_product(case: Case) -> float:
    s, t = (x.detach() for x in _pair(case, "S", "T"))
    return difference(case.build()(s, t), torch.as_tensor(np.multiply.outer(s.numpy(), t.numpy())))


def _stacks(case: Case) -> Call:
    batch, (m, k, n) = case.sizes(3, (0, 2)), (case.integer(name, 1, 4) for name in "mkn")
    return Call(case.build(), (case.tensor("a", *batch, m, k), case.tensor("b", *batch, k, n)))


conform(BATCHED, _stacks, peer={"torch.matmul": lambda call: torch.matmul(*call.inputs)})


@law(BATCHED, fault=lambda a, b: a @ b.flip(0))
def each_slice_is_a_product_of_matrices(case: Case) -> float:
    """$C_b = A_b B_b$"""
    count, (m, k, n) = case.integer("batch", 2, 4), (case.integer(name, 1, 4) for name in "mkn")
    a, b = case.tensor("a", count, m, k), case.tensor("b", count, k, n)
    return difference(case.build()(a, b), torch.stack([x @ y for x, y in zip(a, b, strict=True)]))


# Rank


def _of_terms(case: Case, terms: int, order: int) -> Tensor:
    """A sum of so many pure tensors."""
    sizes = [case.integer(f"size {axis}", terms, 3) for axis in range(order)]
    factors = [
        torch.randn(n, terms, generator=case.generator(f"{i}"), dtype=torch.float64) for i, n in enumerate(sizes)
    ]
    return tensors.sum_of_pure_tensors(factors)


def _wrong(known: tensor_rank.TensorRank, x: Tensor, low: int, high: int) -> float:
    """By how much bounds are off, each on its side of what is known; the factors must give the tensor back too."""
    outside = max(0, known.lower - high) + max(0, known.upper - high) + max(0, low - known.upper)
    again = tensors.sum_of_pure_tensors(known.factors)
    return max(float(outside), float((again - x).norm() / x.norm().clamp(min=1e-9)) - 1e-7)


def _order(x: Tensor, **options: Any) -> tensor_rank.TensorRank:
    """Calls the number of axes the rank."""
    known = tensor_rank.tensor_rank(x)
    return tensor_rank.TensorRank(x.ndim, x.ndim, known.factors)


def _a_term_short(x: Tensor, **options: Any) -> tensor_rank.TensorRank:
    known = tensor_rank.tensor_rank(x)
    return tensor_rank.TensorRank(known.lower, known.upper - 1, [factor[:, 1:] for factor in known.factors])


@law(RANK, id="pure-tensor-rank", fault=[_order, _a_term_short], most_cases=12)
def of_a_matrix_it_is_the_matrix_rank_and_of_a_pure_tensor_one(case: Case) -> float:
    """rank T = rank of the matrix if T has two axes, and 1 if $T = v_1 ⊗ … ⊗ v_n$"""
    order = case.integer("order", 2, 4)
    terms = case.integer("terms", 1, 3) if order == 2 else 1
    x = _of_terms(case, terms, order)
    known = case.build()(x)
    return max(_wrong(known, x, terms, terms), float(abs(known.lower - terms)))


@law(RANK, id="pure-tensor-rank", fault=_a_term_short, most_cases=4)
def of_a_product_it_is_at_most_the_product_of_ranks(case: Case) -> float:
    """rank(S ⊗ T) ≤ rank S · rank T"""
    s, t = (torch.randn(2, 2, generator=case.generator(name), dtype=torch.float64) for name in "ST")
    t = t if case.flag("T has full rank") else torch.outer(t[0], t[1])
    bound = int(torch.linalg.matrix_rank(s) * torch.linalg.matrix_rank(t))
    x = tensors.tensor_product(s, t)
    return _wrong(case.build()(x), x, 1, bound)


@peer(RANK, "numpy.linalg.matrix_rank", most_cases=10)
def numpys_rank_of_matrices(case: Case) -> float:
    x = _of_terms(case, case.integer("terms", 1, 3), 2)
    return float(abs(case.build()(x).upper - int(np.linalg.matrix_rank(x.numpy()))))
