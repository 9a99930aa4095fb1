use crate::domain::capabilities::Capabilities;
use crate::domain::inbound::ChannelKind;

mod corpus;
mod cuts;
mod laws;
mod mutated;
mod snapshots;
mod speech;

fn telegram() -> Capabilities {
    *Capabilities::of(ChannelKind::Telegram)
}

fn slack() -> Capabilities {
    *Capabilities::of(ChannelKind::Slack)
}

fn discord() -> Capabilities {
    *Capabilities::of(ChannelKind::Discord)
}

fn mail() -> Capabilities {
    *Capabilities::of(ChannelKind::Email)
}
