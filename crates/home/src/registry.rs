//! Which entity is in which area: only the WebSocket API tells.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::client::Client;
use crate::entity::one_line;
use crate::error::HomeError;
use crate::socket::{Command, Socket};

/// The most characters of an area's name.
const NAME_CHARS_MAX: usize = 60;

#[derive(Deserialize)]
struct Area {
    area_id: String,
    name: String,
}

#[derive(Deserialize)]
struct Device {
    id: String,
    area_id: Option<String>,
}

#[derive(Deserialize)]
struct Entities {
    entities: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "ei")]
    entity: String,
    #[serde(default, rename = "ai")]
    area: Option<String>,
    #[serde(default, rename = "di")]
    device: Option<String>,
}

/// The areas of entities, by their names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Areas(BTreeMap<String, String>);

impl Areas {
    /// Where an entity is, if that is known.
    pub(crate) fn of(&self, entity: &str) -> Option<&str> {
        self.0.get(entity).map(String::as_str)
    }

    /// As Home Assistant has them now. An entity that says no area is where its device is.
    pub(crate) async fn load(client: &Client) -> Result<Self, HomeError> {
        let mut socket = Socket::open(client).await?;
        let areas: Vec<Area> = socket.ask(&Command::Areas).await?;
        let devices: Vec<Device> = socket.ask(&Command::Devices).await?;
        let Entities { entities } = socket.ask(&Command::Entities).await?;
        let names: BTreeMap<&str, String> =
            areas.iter().map(|area| (area.area_id.as_str(), one_line(&area.name, NAME_CHARS_MAX))).collect();
        let at: BTreeMap<&str, &str> =
            devices.iter().filter_map(|device| Some((device.id.as_str(), device.area_id.as_deref()?))).collect();
        let place = |entry: Entry| {
            let of_device = entry.device.as_deref().and_then(|device| at.get(device).copied());
            let name = names.get(entry.area.as_deref().or(of_device)?)?;
            Some((entry.entity, name.clone()))
        };
        Ok(Self(entities.into_iter().filter_map(place).collect()))
    }
}
