"""Compiled steps of `crossbandit.laws`. They take and fill arrays, and validate nothing."""
