//! Texts and bytes with something changed in them, for tests that have no fuzzer at hand: each from a seed and a number.
#![cfg_attr(
    feature = "testkit",
    allow(
        clippy::unwrap_used,
        clippy::print_stderr,
        clippy::missing_panics_doc,
        clippy::allow_attributes,
        reason = "for tests alone"
    )
)]

/// Numbers that look random, and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end.max(1)).unwrap()).unwrap()
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
pub fn mutated(seed: &[u8], number: u64) -> Vec<u8> {
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
            _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = u8::try_from(dice.below(256)).unwrap()),
        }
    }
    bytes
}

/// Runs `law` on so many changes of each seed; with `HOB_FUZZ_SECS`, on new ones for so long. What breaks it is shown.
///
/// # Panics
/// When the law does not hold.
pub fn hold(seeds: &[Vec<u8>], each: u64, law: impl Fn(&[u8]) + std::panic::RefUnwindSafe) {
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
            None => number >= each * u64::try_from(seeds.len()).unwrap(),
        };
        if is_over {
            eprintln!("{number} inputs");
            return;
        }
    }
}

/// The files of a folder of seeds.
pub fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("fuzz/seeds").join(name);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| std::fs::read(path).unwrap()).collect()
}
