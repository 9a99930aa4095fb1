//! Randomness as an argument: jitter and ids.

/// A source of random bits.
pub trait Rng: Send + Sync {
    /// 64 random bits.
    fn next_u64(&self) -> u64;

    /// A number in `0.0..1.0`.
    fn fraction(&self) -> f64 {
        // 53 bits fill an f64's mantissa exactly.
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// An id of 32 hexadecimal digits.
    fn id(&self) -> String {
        format!("{:016x}{:016x}", self.next_u64(), self.next_u64())
    }
}

/// The operating system's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRng;

impl Rng for SystemRng {
    #[expect(clippy::disallowed_methods, reason = "this is the source that everything else is given")]
    fn next_u64(&self) -> u64 {
        use rand::Rng as _;
        rand::rng().next_u64()
    }
}
