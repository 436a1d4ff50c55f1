"""Declared estimates: exact laws on tiny instances, for any algorithm of the FTRL kind."""
