"""Evidence in words: one module a check, from what was seen to a sentence and to what to change; pure."""
