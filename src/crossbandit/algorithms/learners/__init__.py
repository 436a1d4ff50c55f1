"""What all algorithms share: decisions, feedback, snapshots and checkpoints of a learner.

`crossbandit.algorithms` has the public names of this package.
"""
