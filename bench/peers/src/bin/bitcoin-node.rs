//! A node of Bitcoin that every index takes for one: `bitcoin-node FILE FOLDER`.
//!
//! `FILE` has raw blocks of regtest, each after its length (u32 little-endian), as
//! `bench/explorer/make_chain.py` writes them. It serves them by JSON-RPC and REST with a transaction
//! index, by the protocol between nodes, and as the block file that a node of an earlier release
//! leaves in `FOLDER` (without the XOR of today). Prints where: URL, address of the protocol, address
//! of the publisher. Nothing of it is a measure of anything.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::{collections::HashMap, thread};

use bytes::Bytes;
use chain::Hash32;
use testkit::{StubNode, StubOptions, genesis};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What stands before every message and every block of a file on regtest.
const MAGIC: [u8; 4] = [0xfa, 0xbf, 0xb5, 0xda];
const HEADER: usize = 80;
/// Most headers of one message.
const HEADERS: usize = 2000;
/// Longest message that is read: a request for so many blocks is far below it.
const LONGEST: usize = 32 << 20;
/// What a `getdata` asks for with and without witnesses.
const BLOCK: [u32; 2] = [2, 0x4000_0002];

/// The blocks, lowest first, and the place of each by its hash.
struct Blocks {
    raw: Vec<Bytes>,
    places: HashMap<Hash32, usize>,
}

impl Blocks {
    fn read(file: &Path) -> Result<Blocks, Failure> {
        let first = chain::find("btc").and_then(genesis).ok_or("no first block")?;
        let (mut raw, mut rest) = (vec![first], Bytes::from(fs::read(file)?));
        while let Some(length) = rest.first_chunk::<4>() {
            let end = u32::from_le_bytes(*length) as usize + 4;
            if end > rest.len() || end < HEADER + 4 {
                return Err("the file is cut off".into());
            }
            raw.push(rest.split_to(end).slice(4..));
        }
        let places = raw.iter().enumerate();
        let places = places.map(|(at, block)| (Hash32::sha256d(&[&block[..HEADER]]), at)).collect();
        Ok(Blocks { raw, places })
    }

    /// Writes them as a node does.
    fn write(&self, folder: &Path) -> Result<(), Failure> {
        fs::create_dir_all(folder)?;
        let mut file = BufWriter::new(File::create(folder.join("blk00000.dat"))?);
        for block in &self.raw {
            file.write_all(&MAGIC)?;
            file.write_all(&(block.len() as u32).to_le_bytes())?;
            file.write_all(block)?;
        }
        Ok(file.flush()?)
    }

    /// The headers above the first block that is named and known.
    fn headers(&self, payload: &[u8]) -> Vec<u8> {
        let hashes = payload.get(5..).unwrap_or_default().chunks_exact(32);
        let known = hashes.filter_map(|hash| self.places.get(&hash_of(hash)));
        let first = known.max().map_or(0, |at| at + 1);
        let above = &self.raw[first..self.raw.len().min(first + HEADERS)];
        let mut bytes = match above.len() {
            count @ 0..=0xfc => vec![count as u8],
            count => [&[0xfd], &(count as u16).to_le_bytes()[..]].concat(),
        };
        for block in above {
            bytes.extend(&block[..HEADER]);
            bytes.push(0);
        }
        bytes
    }

    /// The blocks that a `getdata` names.
    fn asked(&self, payload: &[u8]) -> impl Iterator<Item = &Bytes> {
        let count = match payload.first() {
            Some(0xfd) => 3,
            Some(0xfe) => 5,
            _ => 1,
        };
        payload.get(count..).unwrap_or_default().chunks_exact(36).filter_map(|item| {
            let kind = u32::from_le_bytes(*item.first_chunk::<4>()?);
            let place = self.places.get(&hash_of(&item[4..])).filter(|_| BLOCK.contains(&kind))?;
            self.raw.get(*place)
        })
    }
}

fn hash_of(bytes: &[u8]) -> Hash32 {
    bytes.try_into().map_or(Hash32::ZERO, Hash32::from_wire)
}

fn send(stream: &mut TcpStream, command: &str, payload: &[u8]) -> Result<(), Failure> {
    let mut head = MAGIC.to_vec();
    head.extend(command.bytes().chain(std::iter::repeat(0)).take(12));
    head.extend((payload.len() as u32).to_le_bytes());
    head.extend(&Hash32::sha256d(&[payload]).wire()[..4]);
    stream.write_all(&head)?;
    Ok(stream.write_all(payload)?)
}

/// Version, services, time, two addresses, nonce, agent, height, no relay.
fn version(height: usize) -> Vec<u8> {
    let (number, services) = (70016_u32.to_le_bytes(), 9_u64.to_le_bytes());
    let mut bytes = [&number[..], &services, &0_u64.to_le_bytes(), &[0; 60]].concat();
    let agent = b"/Satoshi:31.0.0/";
    bytes.push(agent.len() as u8);
    bytes.extend(agent);
    bytes.extend((height as u32).to_le_bytes());
    bytes.push(0);
    bytes
}

/// Answers one peer until it goes away.
fn talk(mut stream: TcpStream, blocks: &Blocks) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    loop {
        let mut head = [0; 24];
        stream.read_exact(&mut head)?;
        let length = u32::from_le_bytes([head[16], head[17], head[18], head[19]]) as usize;
        if head[..4] != MAGIC || length > LONGEST {
            return Err("no message of regtest".into());
        }
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload)?;
        match head[4..16].split(|byte| *byte == 0).next().unwrap_or_default() {
            b"version" => {
                send(&mut stream, "version", &version(blocks.raw.len() - 1))?;
                send(&mut stream, "verack", &[])?;
            }
            b"ping" => send(&mut stream, "pong", &payload)?,
            b"getheaders" => send(&mut stream, "headers", &blocks.headers(&payload))?,
            b"getdata" => {
                for block in blocks.asked(&payload) {
                    send(&mut stream, "block", block)?;
                }
            }
            _ => {}
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, folder] = &words[..] else { return Err("usage: bitcoin-node FILE FOLDER".into()) };
    let blocks = Arc::new(Blocks::read(Path::new(file))?);
    blocks.write(Path::new(folder))?;
    let options = StubOptions { txindex: true, ..StubOptions::default() };
    let node = StubNode::start("btc", options).await?;
    for block in &blocks.raw[1..] {
        node.extend_raw(block.clone())?;
    }
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{} {} {}", node.url(), listener.local_addr()?, node.zmq());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let blocks = Arc::clone(&blocks);
            thread::spawn(move || talk(stream, &blocks));
        }
    });
    std::future::pending::<()>().await;
    Ok(())
}
