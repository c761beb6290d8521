use super::*;

fn ids(count: u8) -> Vec<Hash32> {
    (1..=count).map(|byte| Hash32::from_wire([byte; 32])).collect()
}

#[test]
fn of_one_it_is_the_id_itself() {
    assert_eq!(merkle_root(&ids(1)), Some(ids(1)[0]));
    assert_eq!(merkle_root(&[]), None);
}

#[test]
fn an_odd_one_is_paired_with_itself() {
    let id = ids(3);
    let left = Hash32::sha256d(&[id[0].wire(), id[1].wire()]);
    let right = Hash32::sha256d(&[id[2].wire(), id[2].wire()]);
    assert_eq!(merkle_root(&id), Some(Hash32::sha256d(&[left.wire(), right.wire()])));
}

#[test]
fn a_list_that_repeats_its_end_has_no_root() {
    let id = ids(3);
    assert_eq!(merkle_root(&[id[0], id[1], id[2], id[2]]), None);
    let six = ids(6);
    let eight: Vec<Hash32> = six.iter().chain(&six[4..]).copied().collect();
    assert_eq!(merkle_root(&eight), None);
}
