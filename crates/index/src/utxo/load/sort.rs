//! The order of items: by their bytes.

/// The first bytes of an item as a number of the same order, which compares faster than bytes.
pub(super) fn leading<const N: usize>(item: &[u8; N]) -> u128 {
    let mut word = [0; 16];
    let taken = N.min(16);
    word[..taken].copy_from_slice(&item[..taken]);
    u128::from_be_bytes(word)
}

/// Sorts by the first byte, in place, and then what shares it, by the second: items begin with
/// hashes for the most part, so that few are left to compare.
pub(super) fn sort<const N: usize>(items: &mut [[u8; N]]) {
    sort_from(items, 0);
}

fn sort_from<const N: usize>(items: &mut [[u8; N]], byte: usize) {
    const FEW: usize = 1 << 9;
    if items.len() < FEW || byte >= 2.min(N) {
        return sort_all(items);
    }
    let digit = |item: &[u8; N]| usize::from(item[byte]);
    let mut ends = [0; 256];
    items.iter().for_each(|item| ends[digit(item)] += 1);
    let (mut places, mut end) = ([0; 256], 0);
    for (place, count) in places.iter_mut().zip(&mut ends) {
        *place = end;
        end += *count;
        *count = end;
    }
    for part in 0..256 {
        while places[part] < ends[part] {
            let place = places[part];
            let target = digit(&items[place]);
            items.swap(place, places[target]);
            places[target] += 1;
        }
    }
    let mut start = 0;
    for end in ends {
        sort_from(&mut items[start..end], byte + 1);
        start = end;
    }
}

fn sort_all<const N: usize>(items: &mut [[u8; N]]) {
    if N <= 16 {
        items.sort_unstable_by_key(leading);
    } else {
        items.sort_unstable_by(|a, b| leading(a).cmp(&leading(b)).then_with(|| a.cmp(b)));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorts<const N: usize>(mut items: Vec<[u8; N]>) -> Result<(), TestCaseError> {
        let mut expected = items.clone();
        expected.sort();
        sort(&mut items);
        prop_assert!(items == expected);
        Ok(())
    }

    fn spread<const N: usize>(seeds: &[u64], skew: u8) -> Vec<[u8; N]> {
        let item = |seed: &u64| {
            let mut item = [0; N];
            let bytes = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
            item.iter_mut().zip(bytes.iter().cycle()).for_each(|(to, from)| *to = *from);
            item[0] &= skew;
            item
        };
        seeds.iter().map(item).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn items_sort_by_their_bytes(
            seeds in proptest::collection::vec(0u64..5000, 0..4000),
            skew in prop_oneof![Just(0u8), Just(1), Just(255)],
        ) {
            sorts(spread::<1>(&seeds, skew))?;
            sorts(spread::<11>(&seeds, skew))?;
            sorts(spread::<24>(&seeds, skew))?;
        }
    }
}
