"""Derivatives: levels, boxes that follow a program, and the functions built on them."""
