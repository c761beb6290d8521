//! Finds the recorded answer of a call: phase, repetition, count and log.
//!
//! How it is wrapped is the dialect's. Invariant: every call that is looked up is counted once and
//! logged once.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use chain::MethodSet;

use crate::derived::Derived;
use crate::exchange::Said;
use crate::options::{Phase, ReplayOptions};
use crate::recording::{Recording, call_key};

/// A call as the node saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// The path it was posted to.
    pub path: String,
    /// The method; empty for a call that is a path.
    pub method: String,
    /// The text of `params` as it arrived; empty if there was none.
    pub params: String,
    /// The text of `id` as it arrived.
    pub id: Option<String>,
}

/// What was recorded for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// The text of the result.
    Result(Bytes),
    /// The error object and its code.
    Error { code: i64, error: Bytes },
    /// The whole body, for id "0".
    Body(Bytes),
    /// The node said that it does not know this method; or it is none of its chain, and the node was
    /// never heard to know it.
    UnknownMethod,
    /// The method is known, this call was not recorded.
    NotRecorded,
}

/// Plays one recording.
#[derive(Debug)]
pub(crate) struct Player {
    recording: &'static Recording,
    /// What nodes of the chain have, recorded or not.
    methods: Option<&'static MethodSet>,
    phase: AtomicU8,
    restricted: bool,
    calls: AtomicU64,
    log_calls: usize,
    log: Mutex<VecDeque<Logged>>,
    repeated: Mutex<HashMap<usize, usize>>,
    /// xmr: what follows from the lines, by phase.
    derived: [OnceLock<Derived>; 3],
}

impl Player {
    pub(crate) fn new(
        recording: &'static Recording,
        methods: Option<&'static MethodSet>,
        options: &ReplayOptions,
    ) -> Player {
        Player {
            recording,
            methods,
            phase: AtomicU8::new(options.phase as u8),
            restricted: options.restricted,
            calls: AtomicU64::new(0),
            log_calls: options.log_calls,
            log: Mutex::new(VecDeque::new()),
            repeated: Mutex::new(HashMap::new()),
            derived: Default::default(),
        }
    }

    pub(crate) fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Acquire)
    }

    pub(crate) fn log(&self) -> Vec<Logged> {
        lock(&self.log).iter().cloned().collect()
    }

    /// What was recorded for a call. `path` is empty where the node has one path only.
    pub(crate) fn call(
        &self,
        path: &str,
        method: &str,
        params: Option<&str>,
        id: Option<&str>,
    ) -> Found {
        let params = params.unwrap_or_default();
        self.note(path, method, params, id);
        let found = call_key(path, method.as_bytes(), params).and_then(|key| self.said(&key));
        match found {
            Some(Said::Result(span)) => Found::Result(self.recording.shared(span)),
            Some(Said::Body(span)) => Found::Body(self.recording.shared(span)),
            Some(said) => match self.recording.error(said) {
                Some((code, error)) => Found::Error { code, error },
                None => Found::NotRecorded,
            },
            None if self.has_method(method) => Found::NotRecorded,
            None => Found::UnknownMethod,
        }
    }

    /// Has the node that was recorded such a method, as far as is known?
    fn has_method(&self, method: &str) -> bool {
        let of_chain = self.methods.is_some_and(|set| set.find(method).is_some());
        self.recording.knows(method) || (of_chain && !self.recording.lacks(method))
    }

    /// What a method without parameters was answered first, without counting it as a call; of a node that
    /// was asked by REST.
    pub(crate) fn told_by_rest(&self, method: &str) -> Option<Bytes> {
        let key = call_key("", method.as_bytes(), "").filter(|_| self.recording.has_rest())?;
        let numbers = self.recording.find(&key, self.phases().1, self.restricted);
        match self.recording.lines()[*numbers.first()?].said {
            Said::Result(span) => Some(self.recording.shared(span)),
            _ => None,
        }
    }

    /// Whether an answer to that call was recorded, without counting it as a call.
    pub(crate) fn has(&self, method: &str, params: &str) -> bool {
        let key = call_key("", method.as_bytes(), params);
        key.is_some_and(|key| {
            !self.recording.find(&key, &[Phase::B, Phase::A], self.restricted).is_empty()
        })
    }

    /// The binary answer that was recorded for a path (and for a body, where one was posted).
    pub(crate) fn binary(&self, path: &str, body: Option<&[u8]>) -> Option<Bytes> {
        self.note(path, "", "", None);
        let key = match body {
            Some(body) => [path.as_bytes(), b"\0", body].concat(),
            None => path.as_bytes().to_vec(),
        };
        match self.said(&key)? {
            Said::Body(span) => Some(self.recording.shared(span)),
            _ => None,
        }
    }

    /// The lines of these phases answer, earlier ones first.
    fn phases(&self) -> (usize, &'static [Phase]) {
        match self.phase.load(Ordering::Acquire) {
            0 => (0, &[Phase::A]),
            1 => (1, &[Phase::B, Phase::A]),
            _ => (2, &[Phase::Popped, Phase::A]),
        }
    }

    /// What follows from the lines of the phase that is shown (monerod).
    pub(crate) fn derived(&self) -> &Derived {
        let (number, phases) = self.phases();
        self.derived[number].get_or_init(|| Derived::of(self.recording, phases))
    }

    fn said(&self, key: &[u8]) -> Option<Said> {
        let numbers = self.recording.find(key, self.phases().1, self.restricted);
        let first = *numbers.first()?;
        let number = match numbers.len() {
            1 => first,
            // The same call recorded twice: the node's second answer differs from its first.
            several => {
                let mut repeated = lock(&self.repeated);
                let next = repeated.entry(first).or_default();
                let number = numbers[*next];
                *next = (*next + 1).min(several - 1);
                number
            }
        };
        Some(self.recording.lines()[number].said)
    }

    fn note(&self, path: &str, method: &str, params: &str, id: Option<&str>) {
        self.calls.fetch_add(1, Ordering::AcqRel);
        if self.log_calls == 0 {
            return;
        }
        let mut log = lock(&self.log);
        if log.len() >= self.log_calls {
            log.pop_front();
        }
        log.push_back(Logged {
            path: path.to_owned(),
            method: method.to_owned(),
            params: params.to_owned(),
            id: id.map(str::to_owned),
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
