"""Graphs: nodes with features, edges between them, and what is asked of nodes, edges or whole graphs."""
