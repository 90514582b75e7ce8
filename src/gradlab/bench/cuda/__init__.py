"""Trainings on a GPU beside peers."""
