"""Steps of networks on graphs, by the number of edges."""
