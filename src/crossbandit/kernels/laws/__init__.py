"""Compiled steps of `crossbandit.laws`: arrays in, arrays out, no validation."""
