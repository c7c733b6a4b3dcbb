"""Callbacks for trainers, each in the house style of its own, all around one ``Monitor``; none is imported unasked."""
