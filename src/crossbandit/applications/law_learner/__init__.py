"""A law as the learner of an application: it decides, and learns from the outcomes.

`decisions` defines what a decision carries. `decider` decides, and `learner` also learns.
`outcome_codes` defines what is remembered of an outcome. `missing_outcomes` and `cohorts` check for
outcomes that are missing with a bias. `files` writes and reads the file of a learner.
"""
