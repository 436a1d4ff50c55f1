"""The service over HTTP: an application for ASGI, made of a table of operations."""

from crossbandit.service.http.access import Access, AccessToken, read_tokens
from crossbandit.service.http.app import create_app
from crossbandit.service.http.openapi import document
from crossbandit.service.http.operations import OPERATIONS

__all__ = ["OPERATIONS", "Access", "AccessToken", "create_app", "document", "read_tokens"]
