"""Hooks of the plugin: options, collection of targets, summary."""
