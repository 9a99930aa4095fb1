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

    /// Whether a letter's signatures show that it is from `domain`.
    pub(crate) async fn proof(&self, raw: &[u8], domain: &str) -> SenderProof {
        let nobody = |why: &str| SenderProof::Nobody { why: why.to_owned() };
        match tokio::time::timeout(DEADLINE, self.check(raw, domain)).await {
            Ok(Ok(())) => SenderProof::Platform,
            Ok(Err(why)) => nobody(why),
            Err(_elapsed) => nobody("its signature could not be checked in time"),
        }
    }

    async fn check(&self, raw: &[u8], domain: &str) -> Result<(), &'static str> {
        let message = AuthenticatedMessage::parse(raw).ok_or("it cannot be read")?;
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
