//! What every audit of an index says to people: blocks that were read again, and faults.

use crate::cli::output::number;

/// A line on blocks that were read again, and those that the node did not give.
pub(super) fn again_text(compared: u64, not_compared: u64) -> String {
    if compared + not_compared == 0 {
        return String::new();
    }
    let (read, missing) = (number(Some(compared)), number(Some(not_compared)));
    format!("Read again: {read} blocks; {missing} more the node did not give\n")
}

/// The faults, a line for each that is listed, and what is to be done about them.
pub(super) fn faults_text(chain: &str, faults: &[String], count: u64) -> String {
    let listed: String = faults.iter().map(|fault| format!("  {fault}\n")).collect();
    listed
        + &match count {
            0 => "No faults.".to_owned(),
            _ => format!("{} faults: `portolan index rebuild {chain}`", number(Some(count))),
        }
}
