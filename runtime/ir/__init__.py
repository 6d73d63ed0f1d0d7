"""The intermediate representation: frozen graphs, their text form, their laws."""
