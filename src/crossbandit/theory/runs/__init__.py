"""Trajectories beside the definition: the decomposition of regret, and the good events."""
