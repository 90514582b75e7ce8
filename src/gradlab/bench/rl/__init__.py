"""Reinforcement learning beside Stable-Baselines3."""
