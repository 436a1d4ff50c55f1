"""The parts of `FirstPriceBidder`.

`bids` defines what it returns. `inputs` checks what it is given. `batches` and `outcomes` handle
many auctions at once. `spending` and `limited` keep its budgets and targets. `views` shows what it
would do now. `logs` lets it learn from a log.
"""
