"""Pure values and mathematics of the traffic side."""
