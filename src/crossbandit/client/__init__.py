"""A client of the service: decides by itself from a snapshot, and ships outcomes in the background.

It needs nothing but the package itself: HTTP is the standard library's. So a process that decides
has no dependencies of a server.
"""

from crossbandit.client.asynchronous import AsyncClient
from crossbandit.client.client import Client
from crossbandit.client.outbox import Refused
from crossbandit.client.served import ServedBid

__all__ = ["AsyncClient", "Client", "Refused", "ServedBid"]
