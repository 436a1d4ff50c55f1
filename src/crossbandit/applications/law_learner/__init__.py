"""A law as the learner of an application: it decides, and learns from the outcomes.

`decisions` has what a decision carries, `decider` what decides, `learner` what learns as well,
`outcome_codes` what is remembered of an outcome, `missing_outcomes` and `cohorts` the check for
outcomes that are missing with a bias, and `files` the file of a learner.
"""
