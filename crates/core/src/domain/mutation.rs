//! Texts and bytes with something changed in them, for tests that have no fuzzer at hand: each from a seed and a number.

/// Numbers that look random, and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let end = u64::try_from(end.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.0 % end).unwrap_or(0)
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap_or(u8::MAX)
    }
}

/// What often breaks readers.
const ODD: [&[u8]; 14] = [
    b"\r\n",
    b"\n\n",
    b"--",
    b"```",
    b"|",
    b"> ",
    b"=?utf-8?B?",
    b"?=",
    b"\0",
    b"\xff",
    b"\xe2\x80\x8b",
    b"<",
    b"&#x",
    b"](",
];

/// The seed with a few changes: bytes set, taken out, doubled, odd ones put in.
pub(crate) fn mutated(seed: &[u8], number: u64) -> Vec<u8> {
    let mut dice = Dice(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut bytes = seed.to_vec();
    for _ in 0..=dice.below(6) {
        let at = dice.below(bytes.len() + 1);
        let end = bytes.len().min(at + dice.below(40));
        match dice.below(5) {
            0 => drop(bytes.drain(at..end)),
            1 => {
                let again = bytes[at..end].to_vec();
                let to = dice.below(bytes.len() + 1);
                drop(bytes.splice(to..to, again));
            }
            2 => drop(bytes.splice(at..at, ODD[dice.below(ODD.len())].iter().copied())),
            3 => {
                let times = dice.below(60);
                drop(bytes.splice(at..at, ODD[dice.below(ODD.len())].repeat(times)));
            }
            _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = dice.byte()),
        }
    }
    bytes
}

/// Runs `law` on so many changes of each seed; with `HOB_FUZZ_SECS`, on new ones for so long. What breaks it is shown.
///
/// # Panics
/// When the law does not hold.
#[expect(clippy::disallowed_methods, reason = "a test's own knob, below the crate that reads the environment")]
pub fn hold_for_mutations(seeds: &[Vec<u8>], each: u64, law: impl Fn(&[u8]) + std::panic::RefUnwindSafe) {
    let seconds = std::env::var("HOB_FUZZ_SECS").ok().and_then(|text| text.parse().ok());
    let began = tokio::time::Instant::now();
    let mut number = 0;
    loop {
        for seed in seeds {
            let input = mutated(seed, number);
            let held = std::panic::catch_unwind(|| law(&input));
            assert!(held.is_ok(), "{:?}", String::from_utf8_lossy(&input));
            number += 1;
        }
        let is_over = match seconds {
            Some(seconds) => began.elapsed().as_secs() >= seconds,
            None => number >= each.saturating_mul(u64::try_from(seeds.len()).unwrap_or(u64::MAX)),
        };
        if is_over {
            return;
        }
    }
}

/// The files of a folder of seeds.
///
/// # Panics
/// When one cannot be read.
pub fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("fuzz/seeds").join(name);
    let read =
        |path: &std::path::Path| std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let listed = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}
