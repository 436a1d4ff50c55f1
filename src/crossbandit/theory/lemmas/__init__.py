"""Inequalities of the paper with both sides as numbers, and a search for their worst case."""
