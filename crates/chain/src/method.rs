//! A method that the gateway offers, with what it must know before it forwards a call.
//!
//! Invariant: a method that is not known to be a read is never sent twice.

use crate::Cacheable;

/// One method of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// The exact name as clients write it.
    pub name: &'static str,
    /// Place in its set, which is sorted by name: a small number for tables and metrics.
    pub index: usize,
    /// The call hands in a transaction, so that it is not safe to send it again; or it is not of the
    /// chain's own set, so that nobody knows that it is.
    pub send: bool,
    /// When the call counts against the cap of heavy calls.
    pub heavy: Heavy,
    /// monerod takes this call as `POST /<name>` with the params object as the body.
    pub path: bool,
    /// The method that this name is another spelling of.
    pub alias_of: Option<&'static str>,
    /// A range that is checked before the call is forwarded.
    pub guard: Option<Guard>,
    /// For how long its answers stay right.
    pub cache: Cacheable,
}

/// When a call counts against the cap of heavy calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Heavy {
    /// It does not.
    Never,
    /// Always.
    Always,
    /// Where the second parameter is a verbosity of 2 or more (on dcrd: the third is `true`), so
    /// that the node writes out every transaction.
    FromVerbosity2,
}

/// A range that is checked before a call is forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guard {
    /// `fromBlock` to `toBlock` of a log filter.
    LogRange,
    /// `start_height` to `end_height` of a list of headers.
    HeaderRange,
}
