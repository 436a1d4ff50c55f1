"""The Coq development in `proofs/`: its algorithms run beside the learners of the library."""
