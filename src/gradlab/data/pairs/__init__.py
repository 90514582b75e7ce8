"""Pairs of a source and the text that belongs to it: a sentence and its translation, a picture and its caption."""
