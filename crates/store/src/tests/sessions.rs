//! Conversations, as they are made and found again.

use jiff::Timestamp;

use super::on_both_engines;
use crate::{Store, sessions};
use hob_core::domain::inbound::ChannelKind;

on_both_engines! {
    #[tokio::test]
    async fn a_new_one_has_chosen_nothing(store: Store) {
        let ensure = async |tx: &mut crate::Tx| sessions::ensure(tx, "7", ChannelKind::Telegram, Timestamp::UNIX_EPOCH).await;
        let made = store.write(ensure).await.unwrap();
        let chosen = (&made.queue_mode, &made.model, &made.persona, &made.server);
        assert_eq!(chosen, (&None, &None, &None, &None));
        let found = store.write(ensure).await.unwrap();
        assert_eq!((made.id, made.key, made.queue_mode), (found.id, found.key, found.queue_mode));
    }
}
