//! How many tool calls one person may have in a minute (row E15). Money and tokens are [`super::budget`]'s.
//!
//! Never: the sums themselves; whoever asks brings them.
//! Start at [`Quotas::tool_calls`].

/// The limits of each person; what is not set is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Tool calls of anybody in any minute.
    pub tool_calls_per_minute: Option<u32>,
}

impl Quotas {
    /// How many of `wanted` more tool calls may be made, after `made` in the last minute.
    pub fn tool_calls(&self, made: u64, wanted: usize) -> usize {
        let Some(cap) = self.tool_calls_per_minute else { return wanted };
        let left = u64::from(cap).saturating_sub(made);
        usize::try_from(left).map_or(wanted, |left| left.min(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e15_tool_calls_by_the_minute() {
        let full = Quotas { tool_calls_per_minute: Some(60) };
        let table = [(0, 1, 1), (59, 1, 1), (59, 2, 1), (60, 1, 0), (61, 1, 0), (0, 100, 60)];
        for (made, wanted, allowed) in table {
            assert_eq!(full.tool_calls(made, wanted), allowed, "{made} {wanted}");
        }
        assert_eq!(Quotas::default().tool_calls(1_000, 7), 7);
    }
}
