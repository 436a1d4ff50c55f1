"""Compiled steps: contiguous arrays in, arrays filled, nothing validated.

Everything here runs as plain Python too (`NUMBA_DISABLE_JIT=1`); the tests compare both.
"""
