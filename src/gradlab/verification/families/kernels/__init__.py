"""What is known of the kernels of `gradlab.kernels`: on a GPU of these, and elsewhere of their forms in PyTorch."""
