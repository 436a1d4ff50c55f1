"""What all cores share: typed state, the arithmetic of rounds, and how cores are built."""
