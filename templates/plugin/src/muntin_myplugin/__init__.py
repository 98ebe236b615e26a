"""Modules for Muntin queries; each is found by its name, for example `myplugin.spread`."""
