"""Checks of declared estimators by enumeration, for any algorithm of the FTRL kind."""
