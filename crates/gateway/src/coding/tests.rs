//! G15, G17: codings are read, and no bytes make much work of themselves.

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use super::*;
use crate::load::Load;
use crate::settings::Settings;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(text).unwrap();
    gzip.finish().unwrap()
}

fn decode(coding: Coding, raw: Vec<u8>, most: usize) -> Result<Bytes, Reason> {
    let buffered = Arc::new(Load::default()).buffer(1, &Settings::default());
    coding.decode(raw.into(), most, &buffered).map_err(|refusal| refusal.reason)
}

#[test]
fn codings_are_read_and_bounded() {
    let raw = gzip(&vec![b' '; 100_000]);
    assert_eq!(decode(Coding::Gzip, raw.clone(), 100_000).unwrap().len(), 100_000);
    assert_eq!(decode(Coding::Gzip, raw.clone(), 99_999), Err(Reason::RequestTooLarge));
    assert_eq!(decode(Coding::Deflate, raw.clone(), 99_999), Err(Reason::InvalidRequest));
    assert_eq!(decode(Coding::Gzip, raw[..90].into(), 100_000), Err(Reason::InvalidRequest));
    assert_eq!(decode(Coding::Gzip, Vec::new(), 100_000), Err(Reason::InvalidRequest));
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::best());
    zlib.write_all(b"{}").unwrap();
    assert_eq!(decode(Coding::Deflate, zlib.finish().unwrap(), 2).unwrap(), "{}");
}

#[test]
fn incompressible_text_passes_whole() {
    let text: Vec<u8> = (0..2_000_000_u64)
        .map(|n| (n.wrapping_mul(n).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8)
        .collect();
    for level in [Compression::none(), Compression::best()] {
        let mut gzip = GzEncoder::new(Vec::new(), level);
        gzip.write_all(&text).unwrap();
        assert_eq!(decode(Coding::Gzip, gzip.finish().unwrap(), 2 << 20).unwrap(), text);
    }
}

#[test]
fn members_are_joined_and_counted() {
    let parts = |count: usize| (0..count).flat_map(|_| gzip(b"ab")).collect::<Vec<u8>>();
    assert_eq!(decode(Coding::Gzip, parts(64), 1000).unwrap().len(), 128);
    assert_eq!(decode(Coding::Gzip, parts(65), 1000), Err(Reason::InvalidRequest));
    let garbage = [gzip(b"ab"), b"garbage".to_vec()].concat();
    assert_eq!(decode(Coding::Gzip, garbage, 1000), Err(Reason::InvalidRequest));
}

#[test]
fn bytes_of_which_nothing_comes_are_not_read_to_their_end() {
    // One member of a hundred thousand empty blocks: stored ones of 5 bytes.
    let mut raw = gzip(b"")[..10].to_vec();
    raw.extend([0, 0, 0, 0xff, 0xff].repeat(400_000));
    raw.extend([1, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(decode(Coding::Gzip, raw, 2 << 20), Err(Reason::InvalidRequest));
}

#[test]
fn what_is_written_is_claimed() {
    let load = Arc::new(Load::default());
    let settings =
        Settings { max_buffered_bytes: 100_000, max_request_bytes: 10_000, ..Settings::default() };
    let buffered = load.buffer(1, &settings);
    let raw = Bytes::from(gzip(&vec![b' '; 50_000]));
    let refused = Coding::Gzip.decode(raw, 1 << 20, &buffered).unwrap_err();
    assert_eq!(refused.reason, Reason::GatewayBusy);
}

#[test]
fn unknown_coding_is_refused() {
    let mut headers = HeaderMap::new();
    assert_eq!(Coding::of(&headers), Ok(Coding::Plain));
    headers.insert(CONTENT_ENCODING, "GZIP".parse().unwrap());
    assert_eq!(Coding::of(&headers), Ok(Coding::Gzip));
    headers.insert(CONTENT_ENCODING, "br".parse().unwrap());
    assert_eq!(Coding::of(&headers).unwrap_err().reason, Reason::InvalidRequest);
    headers.insert(CONTENT_ENCODING, "gzip".parse().unwrap());
    headers.append(CONTENT_ENCODING, "gzip".parse().unwrap());
    assert!(Coding::of(&headers).is_err());
}
