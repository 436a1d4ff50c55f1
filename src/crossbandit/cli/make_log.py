"""`crossbandit make-log`: a synthetic log to try a replay on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from crossbandit.cli.terminal import stopping


def make_log(
    path: Annotated[
        Path, typer.Argument(metavar="LOG", help="The file to write, .csv or .parquet.")
    ],
    auctions: Annotated[int, typer.Option(min=1, help="Number of auctions.")] = 100_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed. The same seed gives the same file.")] = 0,
    laws: Annotated[
        Literal["realistic", "known"],
        typer.Option(
            help="'realistic': like an ad exchange, with drift; 'known': independent draws."
        ),
    ] = "realistic",
    correlation: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="How strongly competing bids depend on values. \\[default: 0.26]"
        ),
    ] = None,
    sites: Annotated[
        int, typer.Option(min=0, help="Number of sites, each with its own competition.")
    ] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only errors.")] = False,
) -> None:
    """Write a synthetic log of first-price auctions: timestamp, value, highest_competing_bid."""
    with stopping("Stopped. Nothing was written."):
        from crossbandit import logs

        logs.make_log(
            path,
            auctions,
            seed=seed,
            laws=laws,
            correlation=correlation,
            sites=sites,
            overwrite=force,
        )
        if not quiet:
            following = f"crossbandit replay {path}" + (" --class-column site" if sites else "")
            typer.echo(f"Wrote {auctions:,} auctions to {path}. Next: {following}")
