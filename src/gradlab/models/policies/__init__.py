"""Models that act: an actor beside a critic, values of actions, and soft actor-critic."""

from gradlab.models.policies.actor_critic import ActorCritic
from gradlab.models.policies.policy import Policy
from gradlab.models.policies.q_network import QNetwork
from gradlab.models.policies.soft import SoftActorCritic

__all__ = ["ActorCritic", "Policy", "QNetwork", "SoftActorCritic"]
