"""What a building block is and does, told in equations."""
