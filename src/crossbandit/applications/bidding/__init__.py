"""The parts of `FirstPriceBidder`.

`bids` has what it returns, `inputs` the checks of what it is given, `batches` and `outcomes` many
auctions at once, `spending` and `limited` its budgets and targets, `views` what it would do now,
`logs` how it learns from a log, and `fitting` the settings that a log suggests.
"""
