"""The geometry of vectors: angles, projections, distances from hyperplanes, volumes."""

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import takes_arrays, tensor


@takes_arrays
def angle(x: Float[Tensor, "*batch n"], y: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch"]:
    r"""The angle between two vectors, from 0 to π.

    $$ \cos \theta = \frac{\langle x, y \rangle}{\lVert x \rVert \, \lVert y \rVert} $$

    Computed from half of it, whose tangent is exact where the cosine has lost all digits: of vectors that are nearly
    parallel. A vector of length 0 has no direction, and is refused.

    >>> angle(torch.tensor([3.0, 0.0]), torch.tensor([0.0, 2.0])) * 180 / torch.pi
    tensor(90.)
    """
    x, y = tensor(x), tensor(y)
    if x.shape[-1:] != y.shape[-1:]:
        raise GradlabError(f"angle: both vectors have as many entries, got {tuple(x.shape)} and {tuple(y.shape)}.")
    lengths = x.norm(dim=-1, keepdim=True), y.norm(dim=-1, keepdim=True)
    if not all(bool((length > 0).all()) for length in lengths):
        raise GradlabError("angle: a vector of length 0 has no direction. Leave it out.")
    x, y = x / lengths[0], y / lengths[1]
    return 2 * torch.atan2((x - y).norm(dim=-1), (x + y).norm(dim=-1))


@takes_arrays
def project(x: Float[Tensor, "*batch n"], onto: Float[Tensor, "n k"]) -> Float[Tensor, "*batch n"]:
    r"""The nearest point of the subspace that the columns of a matrix span.

    $$ P x = A A^+ x = \operatorname{argmin}_{z \in \operatorname{span} A} \lVert x - z \rVert $$

    What is left, x - Px, is orthogonal to all of the subspace. The columns may depend on each other.

    >>> project(torch.tensor([3.0, 4.0]), torch.tensor([[1.0], [1.0]]))
    tensor([3.5000, 3.5000])
    """
    x, onto = tensor(x), tensor(onto)
    if onto.ndim != 2 or x.shape[-1] != onto.shape[0]:
        raise GradlabError(
            f"project: vectors of {x.shape[-1]} entries need a matrix with as many rows, got {tuple(onto.shape)}."
        )
    projection: Tensor = onto @ torch.linalg.pinv(onto)
    return x @ projection.mT


@takes_arrays
def signed_distance(
    x: Float[Tensor, "*batch n"], normal: Float[Tensor, " n"], offset: Tensor | float = 0.0
) -> Float[Tensor, "*batch"]:
    r"""How far points are from a hyperplane: above 0 on the side to which its normal points.

    $$ d(x) = \frac{\langle w, x \rangle + b}{\lVert w \rVert}, \qquad \{ z : \langle w, z \rangle + b = 0 \} $$

    >>> signed_distance(torch.tensor([[0.0, 0.0], [3.0, 4.0]]), torch.tensor([3.0, 4.0]), -5.0)
    tensor([-1.,  4.])
    """
    x, normal = tensor(x), tensor(normal)
    if x.shape[-1:] != normal.shape:
        raise GradlabError(
            f"signed_distance: points have as many entries as the normal, got {tuple(x.shape)} and "
            f"{tuple(normal.shape)}."
        )
    length = normal.norm()
    if not bool(length > 0):
        raise GradlabError("signed_distance: a normal of length 0 belongs to no hyperplane.")
    distance: Tensor = (x @ normal + offset) / length
    return distance


@takes_arrays
def volume(vectors: Float[Tensor, "*batch n k"]) -> Float[Tensor, "*batch"]:
    r"""The volume of the parallelepiped between the columns of a matrix: of k of them in n dimensions.

    $$ \operatorname{vol}_k(A) = \sqrt{\det A^\top A} = \prod_i \sigma_i, \qquad k = n: \; | \det A | $$

    It is 0 where the columns depend on each other.

    >>> volume(torch.tensor([[3.0, 0.0], [0.0, 2.0], [4.0, 0.0]]))
    tensor(10.)
    """
    vectors = tensor(vectors)
    n, k = vectors.shape[-2:]
    if k > n:
        return vectors.new_zeros(vectors.shape[:-2])
    stretched: Tensor = torch.linalg.svdvals(vectors)
    return stretched.prod(-1)
