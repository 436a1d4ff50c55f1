"""The parts of `FirstPriceBidder`.

`bids` has what it returns, `inputs` the checks of what it is given, `views` what it would do now,
`logs` how it learns from a log, and `fitting` the settings that a log suggests.
"""
