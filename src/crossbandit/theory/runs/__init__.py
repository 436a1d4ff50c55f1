"""Checks on runs, with the definition beside the learner: the terms of regret, the good events."""
