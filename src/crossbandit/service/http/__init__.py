"""The service over HTTP: an application for ASGI, made of a table of operations."""

from crossbandit.service.http.access import Access, AccessToken, read_tokens
from crossbandit.service.http.app import create_app

__all__ = ["Access", "AccessToken", "create_app", "read_tokens"]
