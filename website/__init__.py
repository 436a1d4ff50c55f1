"""What builds the site (`make docs`): what is computed, and the theme. Pages are in docs/."""
