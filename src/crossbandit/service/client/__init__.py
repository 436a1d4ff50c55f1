"""A client of the service: it decides from a snapshot, and sends outcomes in the background.

It uses the HTTP client of the standard library. So a process that decides does not need the
packages of a server.
"""

from crossbandit.service.client.client import AsyncClient, Client, Refused, ServedBid

__all__ = ["AsyncClient", "Client", "Refused", "ServedBid"]
