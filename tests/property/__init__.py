"""Random programs and random graphs: what they do plainly is what they must do here."""
