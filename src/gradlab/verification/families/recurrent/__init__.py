"""Recurrent cells, and blocks over sequences."""
