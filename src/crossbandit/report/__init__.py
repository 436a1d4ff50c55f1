"""Tables and figures; reads results, never runs anything."""
