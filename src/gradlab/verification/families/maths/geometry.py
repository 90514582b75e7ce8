"""What is known of angles, projections and volumes."""

import torch
from torch import Tensor

from gradlab.maths import geometry
from gradlab.verification.case import Case
from gradlab.verification.checks import law, peer
from gradlab.verification.comparing import difference, excess
from gradlab.verification.subject import subject

ANGLE, PROJECT, DISTANCE, VOLUME = "maths.angle", "maths.project", "maths.signed_distance", "maths.volume"
subject(ANGLE)(geometry.angle)
subject(PROJECT)(geometry.project)
subject(DISTANCE)(geometry.signed_distance)
subject(VOLUME)(geometry.volume)


def _rotation(case: Case, n: int) -> Tensor:
    rotation: Tensor = torch.linalg.qr(case.tensor("Q", n, n).detach())[0]
    return rotation


@law(ANGLE, fault=lambda x, y: (x * y).sum(-1).clamp(-1, 1).arccos(), tolerance=1e-7)
def the_law_of_cosines_holds_and_rotations_and_lengths_change_nothing(case: Case) -> float:
    """‖x - y‖² = ‖x‖² + ‖y‖² - 2 ‖x‖ ‖y‖ cos θ, and θ(aQx, bQy) = θ(x, y) for a, b > 0"""
    n = case.integer("n", 1, 5)
    x, y = (case.tensor(name, n, away_from=(0.0,)).detach() for name in "xy")
    angle, turn = case.build(), _rotation(case, n)
    moved = angle(case.real("a", 0.1, 9) * turn @ x, case.real("b", 0.1, 9) * turn @ y)
    cosines = x.square().sum() + y.square().sum() - 2 * x.norm() * y.norm() * angle(x, y).cos()
    return difference((cosines, moved), ((x - y).square().sum(), angle(x, y)))


@law(PROJECT, fault=[lambda x, onto: x @ onto @ onto.mT, lambda x, onto: x / 2], tolerance=1e-7)
def what_is_left_is_orthogonal_and_no_other_point_is_nearer(case: Case) -> float:
    """$A^⊤ (x - Px) = 0$, $PPx = Px$, and $‖x - Px‖ ≤ ‖x - Ac‖$ for all c"""
    n = case.integer("n", 1, 5)
    k = case.integer("k", 1, n)
    onto, x = case.tensor("A", n, k, away_from=(0.0,)).detach(), case.tensor("x", 3, n).detach()
    project = case.build()
    nearest, other = project(x, onto), case.tensor("c", 3, k).detach() @ onto.mT
    left = (x - nearest) @ onto
    nearer = excess((x - nearest).norm(dim=-1), (x - other).norm(dim=-1) + 1e-9)
    return max(difference((left, project(nearest, onto)), (torch.zeros_like(left), nearest)), nearer)


@law(DISTANCE, fault=lambda x, normal, offset=0.0: x @ normal + offset)
def going_that_far_along_the_normal_ends_on_the_hyperplane(case: Case) -> float:
    """$⟨w, z⟩ + b = 0$ for $z = x - d(x) w / ‖w‖$, whatever the length of w and b"""
    n, offset, factor = case.integer("n", 1, 5), case.real("b", -3, 3), case.real("factor", 0.1, 9)
    normal, x = case.tensor("w", n, away_from=(0.0,)).detach(), case.tensor("x", 4, n).detach()
    distance = case.build()(x, normal, offset)
    foot = x - distance[:, None] * normal / normal.norm()
    again = case.build()(x, factor * normal, factor * offset)
    return difference((foot @ normal + offset, again), (torch.zeros_like(distance), distance))


@law(VOLUME, fault=lambda vectors: vectors.norm(dim=-2).prod(-1), tolerance=1e-7)
def a_map_multiplies_it_by_its_determinant_and_shearing_by_nothing(case: Case) -> float:
    """vol(MA) = |det M| vol(A) for n vectors, and adding a multiple of one vector to another changes nothing"""
    n = case.integer("n", 2, 4)
    map_, vectors = case.tensor("M", n, n).detach(), case.tensor("A", n, n).detach()
    volume = case.build()
    sheared = vectors.clone()
    sheared[:, 0] += case.real("share", -3, 3) * vectors[:, 1]
    wanted = map_.det().abs() * volume(vectors), volume(vectors)
    return difference((volume(map_ @ vectors), volume(sheared)), wanted)


@peer(VOLUME, "torch.linalg.det", tolerance=1e-7)
def _grams_determinant(case: Case) -> float:
    n = case.integer("n", 1, 4)
    vectors = case.tensor("A", n, case.integer("k", 1, n)).detach()
    return difference(case.build()(vectors).square(), (vectors.mT @ vectors).det())
