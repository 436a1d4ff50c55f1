"""How regret grows with the horizon, the graph and the contexts: exponents with intervals."""
