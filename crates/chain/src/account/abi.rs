//! What a token contract says of itself: its symbol and its decimals, read strictly.
//!
//! Invariant: whatever a contract answers, the result is short, printable text or nothing, and a
//! number that fits or nothing (decisions A5, A13).

/// Characters of a symbol that are shown.
const LONGEST: usize = 64;

/// The symbol in the answer to `symbol()`: a string, or 32 bytes up to the first NUL.
pub fn read_symbol(answer: &[u8]) -> Option<String> {
    let bytes = string(answer).or_else(|| short(answer))?;
    let text: String = lenient(bytes).filter(|letter| !is_hidden(*letter)).collect();
    let text: String = text.trim().chars().take(LONGEST).collect();
    let text = text.trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The number in the answer to `decimals()`, if it is one of 0 to 255.
pub fn read_decimals(answer: &[u8]) -> Option<u8> {
    number(answer.get(..32)?)?.try_into().ok()
}

fn number(word: &[u8]) -> Option<u64> {
    let (high, low) = word.split_last_chunk::<8>()?;
    high.iter().all(|byte| *byte == 0).then(|| u64::from_be_bytes(*low))
}

/// An ABI string: where it begins, its length, its bytes.
fn string(answer: &[u8]) -> Option<&[u8]> {
    let word = |at: usize| answer.get(at..at + 32).and_then(number);
    if word(0)? != 32 {
        return None;
    }
    let length = usize::try_from(word(32)?).ok()?;
    answer.get(64..64usize.checked_add(length)?)
}

fn short(answer: &[u8]) -> Option<&[u8]> {
    let bytes = (answer.len() == 32).then_some(answer)?;
    bytes.split(|byte| *byte == 0).next()
}

/// The text without what is not UTF-8.
fn lenient(bytes: &[u8]) -> impl Iterator<Item = char> {
    // A symbol of megabytes is not read whole.
    let bytes = &bytes[..bytes.len().min(4096)];
    bytes.utf8_chunks().flat_map(|chunk| chunk.valid().chars())
}

/// Control characters, and marks that turn the direction of the text around them.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abi(text: &[u8]) -> Vec<u8> {
        let mut answer = vec![0; 64];
        answer[31] = 32;
        answer[56..64].copy_from_slice(&(text.len() as u64).to_be_bytes());
        answer.extend_from_slice(text);
        answer.resize(answer.len().next_multiple_of(32), 0);
        answer
    }

    #[test]
    fn symbols_of_both_forms_are_cleaned_and_hostile_ones_are_nothing() {
        assert_eq!(read_symbol(&abi(b"ALPHA")).as_deref(), Some("ALPHA"));
        let mut word = [0; 32];
        word[..4].copy_from_slice(b"BETA");
        assert_eq!(read_symbol(&word).as_deref(), Some("BETA"));
        assert_eq!(read_symbol(b"\x10\x08\xaf\xf4"), None);
        assert_eq!(read_symbol(&abi(b"\x10\x08\xaf\xf4B")).as_deref(), Some("B"));
        assert_eq!(read_symbol(&abi("\u{202e}a\nb ".as_bytes())).as_deref(), Some("ab"));
        assert_eq!(read_symbol(&abi(&[b'x'; 9000])).map(|text| text.len()), Some(64));
        let mut lying = abi(b"ABC");
        lying[32..64].fill(0xff);
        for nothing in [&[][..], &[0; 31], &[0; 32], &[0; 64], &abi(b"\0\x07"), &lying] {
            assert_eq!(read_symbol(nothing), None);
        }
    }

    #[test]
    fn decimals_are_a_byte_or_nothing() {
        let word = |value: u64| [&[0; 24][..], &value.to_be_bytes()].concat();
        assert_eq!(read_decimals(&word(0)), Some(0));
        assert_eq!(read_decimals(&word(255)), Some(255));
        assert_eq!(read_decimals(&word(300)), None);
        assert_eq!(read_decimals(&[0xff; 32]), None);
        assert_eq!(read_decimals(&[]), None);
        assert_eq!(read_decimals(&[0; 31]), None);
    }
}
