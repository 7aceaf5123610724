//! Settings in layers, and which folders a person trusts.
