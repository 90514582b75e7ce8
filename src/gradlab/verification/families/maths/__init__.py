"""What is known of the functions of `gradlab.maths`."""
