"""Regret against horizon, graph and contexts: exponents with intervals."""
