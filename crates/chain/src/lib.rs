//! chain.
