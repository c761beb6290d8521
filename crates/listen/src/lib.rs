//! listen.
