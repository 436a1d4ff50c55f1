"""Exact probabilities: the real learner plays every branch of its random numbers."""
