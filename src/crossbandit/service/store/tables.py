"""The tables of a store, as SQL; the names of column types differ between databases."""

from __future__ import annotations

VERSION = 1  # of the tables

TABLES = (
    """CREATE TABLE IF NOT EXISTS bidders (
        id {serial}, name TEXT NOT NULL UNIQUE, settings TEXT NOT NULL, owner TEXT NOT NULL,
        paused INTEGER NOT NULL, last BIGINT NOT NULL, created {real} NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS entries (
        bidder BIGINT NOT NULL, first BIGINT NOT NULL, count BIGINT NOT NULL, at {real} NOT NULL,
        kind TEXT NOT NULL, content {bytes} NOT NULL, PRIMARY KEY (bidder, first))""",
    """CREATE TABLE IF NOT EXISTS decisions (
        bidder BIGINT NOT NULL, number BIGINT NOT NULL, after BIGINT NOT NULL, at {real} NOT NULL,
        content {bytes} NOT NULL, PRIMARY KEY (bidder, number))""",
    """CREATE TABLE IF NOT EXISTS checkpoints (
        bidder BIGINT NOT NULL, entry BIGINT NOT NULL, decisions BIGINT NOT NULL,
        content {bytes} NOT NULL, PRIMARY KEY (bidder, entry, decisions))""",
    """CREATE TABLE IF NOT EXISTS policies (
        bidder BIGINT PRIMARY KEY, entry BIGINT NOT NULL, at {real} NOT NULL,
        content {bytes} NOT NULL, figures {bytes} NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS leases (
        bidder BIGINT PRIMARY KEY, holder TEXT NOT NULL, url TEXT, fence BIGINT NOT NULL,
        expires {real} NOT NULL)""",
    "CREATE TABLE IF NOT EXISTS about (version BIGINT NOT NULL)",
)

TABLES_OF_A_BIDDER = ("entries", "decisions", "checkpoints", "policies", "leases")
