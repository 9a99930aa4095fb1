//! What a conversation needs of a platform, in the platform's own terms behind it.

use async_trait::async_trait;
use hob_core::domain::capabilities::{Capabilities, Feature};
use hob_core::domain::inbound::ChannelKind;

use hob_testkit::process::within;
use hob_testkit::test_hob::TestHob;

/// A message of Hob's as its reader sees it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VisibleMessage {
    /// The words, without markup.
    pub(crate) text: String,
    /// The labels of the buttons under it.
    pub(crate) buttons: Vec<String>,
    /// The file with it: name and content.
    pub(crate) file: Option<(String, Vec<u8>)>,
}

/// What is looked for among Hob's messages.
pub(crate) type MessagesPredicate<'a> = &'a (dyn for<'s> Fn(&'s [VisibleMessage]) -> bool + Sync);

/// A platform with one person on it who may talk to Hob, in private.
#[async_trait]
pub(crate) trait Platform: Send {
    fn kind(&self) -> ChannelKind;

    /// What stands in the config for it, over the usual.
    fn settings(&self) -> String;

    /// Waits until a Hob that was started receives.
    async fn connected(&mut self, hob: &TestHob);

    /// The person says something; gives its id.
    async fn say(&mut self, hob: &TestHob, text: &str) -> String;

    /// The platform delivers a message again that Hob has had.
    async fn again(&mut self, hob: &TestHob, id: &str);

    /// The person hands over a file.
    async fn hand(&mut self, hob: &TestHob, name: &str, bytes: &[u8], text: &str);

    /// The person presses a button under Hob's last message.
    async fn press(&mut self, hob: &TestHob, label: &str);

    /// Waits until what Hob shows satisfies `seen`, and gives it; reactions and typing are not in it.
    async fn until(&self, hob: &TestHob, seen: MessagesPredicate<'_>) -> Vec<VisibleMessage>;

    /// Hob's messages as the platform was given them.
    fn raw(&self, hob: &TestHob) -> String;

    /// The platform is gone; what the person says meanwhile waits there.
    async fn goes_down(&mut self, hob: &mut TestHob);

    async fn comes_back(&mut self, hob: &mut TestHob);
}

/// A household on one platform, with Hob at work in it.
pub(crate) struct PlatformHarness {
    pub(crate) hob: TestHob,
    pub(crate) platform: Box<dyn Platform>,
}

impl PlatformHarness {
    /// Hob runs, with these settings over the usual, and hears.
    pub(crate) async fn with(platform: Box<dyn Platform>, more: &str) -> Self {
        let hob = TestHob::with(&format!("{}\n{more}", platform.settings())).await;
        let mut there = Self { hob, platform };
        there.start().await;
        there
    }

    pub(crate) async fn start(&mut self) {
        self.hob.start().await;
        self.platform.connected(&self.hob).await;
    }

    pub(crate) async fn restart(&mut self) {
        self.hob.crash().await;
        self.start().await;
    }

    pub(crate) async fn say(&mut self, text: &str) -> String {
        self.platform.say(&self.hob, text).await
    }

    pub(crate) async fn press(&mut self, label: &str) {
        self.platform.press(&self.hob, label).await;
    }

    /// Waits until it shows what is looked for.
    pub(crate) async fn until(
        &self,
        what: &str,
        seen: impl Fn(&[VisibleMessage]) -> bool + Sync,
    ) -> Vec<VisibleMessage> {
        within(&format!("{what} on {}", self.platform.kind()), self.platform.until(&self.hob, &seen)).await
    }

    /// Waits until Hob's words are exactly these.
    pub(crate) async fn until_texts(&self, expected: &[&str]) {
        let is = |shown: &[VisibleMessage]| shown.iter().map(|shown| shown.text.as_str()).eq(expected.iter().copied());
        let same = tokio::time::timeout(hob_testkit::process::PATIENCE, self.platform.until(&self.hob, &is)).await;
        if same.is_err() {
            let now = self.until("anything", |_| true).await;
            panic!("on {}: expected {expected:#?}, there is {now:#?}", self.platform.kind());
        }
    }

    pub(crate) fn can(&self, feature: Feature) -> bool {
        Capabilities::of(self.platform.kind()).can(feature)
    }
}
