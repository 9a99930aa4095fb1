//! Signatures checked here, where no mail server is believed: DKIM and DMARC, by DNS.
//!
//! SPF is left out: only whoever took the letter knows from where it came.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mail_auth::common::cache::NoCache;
use mail_auth::dmarc::verify::DmarcParameters;
use mail_auth::{
    AuthenticatedMessage, DkimResult, DmarcResult, MX, MessageAuthenticator, Parameters, RecordSet, ResolverCache,
    SpfOutput, Txt,
};

use crate::authentic::is_aligned;
use hob_core::domain::inbound::SenderProof;

/// The most records that are kept.
const RECORDS_MAX: usize = 1_000;
/// How long all questions about one letter may take.
const DEADLINE: Duration = Duration::from_secs(20);
/// The most of a letter's head, in bytes, lines and signatures. Its time to be checked grows with the product of how many names a signature
/// has and how many lines there are, and nobody is asked before it is.
const HEAD_MAX: usize = 64 << 10;
const HEAD_LINES_MAX: usize = 1_000;
const SIGNATURES_MAX: usize = 10;

type NoMx = NoCache<Box<str>, RecordSet<MX>>;
type NoV4 = NoCache<Box<str>, RecordSet<std::net::Ipv4Addr>>;
type NoV6 = NoCache<Box<str>, RecordSet<std::net::Ipv6Addr>>;
type NoPtr = NoCache<std::net::IpAddr, RecordSet<Box<str>>>;

/// The DNS cannot be asked on this machine.
#[derive(Debug, thiserror::Error)]
#[error("signatures cannot be checked: {0}")]
pub(crate) struct DnsError(String);

/// Checks signatures.
pub(crate) struct Verifier {
    dns: MessageAuthenticator,
    records: DnsCache,
}

/// What the DNS said, until it may have changed.
#[derive(Default)]
pub(crate) struct DnsCache(Mutex<HashMap<Box<str>, (Txt, std::time::Instant)>>);

impl Verifier {
    /// One that asks whom this machine asks.
    ///
    /// # Errors
    /// When the machine names no server.
    pub(crate) fn of_system() -> Result<Self, DnsError> {
        Self::with(DnsCache::default())
    }

    /// The same, with records that are known already.
    ///
    /// # Errors
    /// When the machine names no server.
    pub(crate) fn with(records: DnsCache) -> Result<Self, DnsError> {
        let dns = MessageAuthenticator::new_system_conf().map_err(|error| DnsError(error.to_string()))?;
        Ok(Self { dns, records })
    }

    /// Whether a letter's signatures show that it is from this address.
    pub(crate) async fn proof(&self, raw: &[u8], address: &str) -> SenderProof {
        let nobody = |why: &str| SenderProof::Nobody { why: why.to_owned() };
        match tokio::time::timeout(DEADLINE, self.check(raw, address)).await {
            Ok(Ok(())) => SenderProof::Platform,
            Ok(Err(why)) => nobody(why),
            Err(_elapsed) => nobody("its signature could not be checked in time"),
        }
    }

    async fn check(&self, raw: &[u8], address: &str) -> Result<(), &'static str> {
        if is_head_too_large(raw) {
            return Err("its head is too large to be checked");
        }
        let message = AuthenticatedMessage::parse(raw).ok_or("it cannot be read")?;
        // Two readers of one header may come to two senders: only whom both find is shown to be it.
        let [named] = message.froms() else { return Err("its signature is for several senders") };
        if named.to_lowercase() != address.to_lowercase() {
            return Err("its signature is for another sender");
        }
        let domain = address.rsplit_once('@').map_or("", |(_, domain)| domain);
        let signatures = self.dns.verify_dkim(self.asking(&message)).await;
        let passed = |output: &&mail_auth::DkimOutput<'_>| output.result() == &DkimResult::Pass;
        let signers = signatures.iter().filter(passed).filter_map(|output| output.signature());
        let signed = signers.into_iter().any(|signature| is_aligned(&signature.d, domain));
        let nothing = SpfOutput::new(domain.to_owned());
        let asked = DmarcParameters::new(&message, &signatures, domain, &nothing);
        let dmarc = self.dns.verify_dmarc(self.asking(asked)).await;
        match dmarc.dkim_result() {
            DmarcResult::Pass => Ok(()),
            DmarcResult::Fail(_) => Err("DMARC failed"),
            DmarcResult::TempError(_) | DmarcResult::PermError(_) | DmarcResult::None if signed => Ok(()),
            DmarcResult::TempError(_) | DmarcResult::PermError(_) | DmarcResult::None => {
                Err("it has no valid signature of its sender's domain")
            }
        }
    }

    fn asking<P>(&self, params: P) -> Parameters<'_, P, DnsCache, NoMx, NoV4, NoV6, NoPtr> {
        Parameters::new(params).with_txt_cache(&self.records)
    }
}

fn is_head_too_large(raw: &[u8]) -> bool {
    let (mut lines, mut signatures, mut bytes) = (0, 0, 0);
    for line in raw.split_inclusive(|byte| *byte == b'\n').take_while(|line| !matches!(*line, [b'\n'] | [b'\r', b'\n']))
    {
        lines += 1;
        bytes += line.len();
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default().trim_ascii();
        signatures += usize::from(name.eq_ignore_ascii_case(b"DKIM-Signature"));
        if bytes > HEAD_MAX || lines > HEAD_LINES_MAX || signatures > SIGNATURES_MAX {
            return true;
        }
    }
    false
}

impl ResolverCache<Box<str>, Txt> for DnsCache {
    fn get<Q>(&self, name: &Q) -> Option<Txt>
    where
        Box<str>: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (record, until) = records.get(name)?;
        (until.elapsed() == Duration::ZERO).then(|| record.clone())
    }

    fn remove<Q>(&self, name: &Q) -> Option<Txt>
    where
        Box<str>: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name).map(|(record, _)| record)
    }

    fn insert(&self, key: Box<str>, value: Txt, valid_until: std::time::Instant) {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if records.len() >= RECORDS_MAX {
            records.clear();
        }
        records.insert(key, (value, valid_until));
    }
}
