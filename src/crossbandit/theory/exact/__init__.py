"""Laws by enumeration: the real learner is driven down every branch of its randomness."""
