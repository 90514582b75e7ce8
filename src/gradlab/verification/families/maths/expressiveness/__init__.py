"""What is known of networks as functions: those that they are, those that they approximate, and their regions."""
