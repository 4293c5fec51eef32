"""Pure values and mathematics: no clock, no settings, no I/O. Everything in here is frozen and total."""
