"""The inspectors: one pure file per check. They look at parsed configurations and return findings; they never act."""
