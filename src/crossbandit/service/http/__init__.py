"""The service over HTTP: an ASGI application, made from a list of operations."""

from crossbandit.service.http.access import Access, AccessToken, read_tokens
from crossbandit.service.http.app import create_app

__all__ = ["Access", "AccessToken", "create_app", "read_tokens"]
