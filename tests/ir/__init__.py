"""The intermediate representation: names, walking, text, verifier, reference interpreter."""
