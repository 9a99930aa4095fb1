"""Starts Home Assistant with a small home of template entities, and without its web page, on a port of its own choice.

Prints one line of JSON when it is ready: its address, tokens of an administrator and of somebody else, what answers its voice, and
which services its integrations declare. Ends when its standard input does.
"""

import asyncio
import json
import logging
import os
import socket
import sys
from datetime import timedelta
from pathlib import Path

from homeassistant import bootstrap, components, config_entries, core, loader
from homeassistant.auth.const import GROUP_ID_ADMIN, GROUP_ID_USER
from homeassistant.auth.models import TOKEN_TYPE_LONG_LIVED_ACCESS_TOKEN
from homeassistant.helpers import area_registry, entity_registry
from homeassistant.util.yaml import load_yaml

HOME = Path(__file__).with_name("home.yaml")


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


async def started(config_dir: str, port: int) -> core.HomeAssistant:
    # Its page is a download of its own that no test looks at.
    bootstrap.DEFAULT_INTEGRATIONS = set()
    bootstrap.CRITICAL_INTEGRATIONS = set()
    hass = core.HomeAssistant(config_dir)
    hass.config.skip_pip = True
    loader.async_setup(hass)
    hass.config_entries = config_entries.ConfigEntries(hass, {})
    home = load_yaml(str(HOME))
    home["http"] = {"server_host": ["127.0.0.1"], "server_port": port}
    if await bootstrap.async_from_config_dict(home, hass) is None:
        raise SystemExit("Home Assistant could not be set up")
    await hass.async_start()
    await hass.async_block_till_done()
    return hass


async def token(hass: core.HomeAssistant, admin: bool) -> str:
    groups = [GROUP_ID_ADMIN if admin else GROUP_ID_USER]
    user = await hass.auth.async_create_user("hob", group_ids=groups)
    refresh = await hass.auth.async_create_refresh_token(
        user,
        client_name="hob",
        token_type=TOKEN_TYPE_LONG_LIVED_ACCESS_TOKEN,
        access_token_expiration=timedelta(days=1),
    )
    return hass.auth.async_create_access_token(refresh)


def furnish(hass: core.HomeAssistant) -> None:
    areas = area_registry.async_get(hass)
    entities = entity_registry.async_get(hass)
    for entry in list(entities.entities.values()):
        name = {"light": "Kitchen", "cover": "Garage"}.get(entry.domain)
        if name:
            area = areas.async_get_area_by_name(name) or areas.async_create(name)
            entities.async_update_entity(entry.entity_id, area_id=area.id)


async def agent(hass: core.HomeAssistant) -> str | None:
    """Has what speaks as OpenAI does answer the voice assistant, where the environment names it."""
    if "OPENAI_BASE_URL" not in os.environ:
        return None
    entry = config_entries.ConfigEntry(
        version=1,
        minor_version=1,
        domain="openai_conversation",
        title="Hob",
        source=config_entries.SOURCE_USER,
        data={"api_key": os.environ["OPENAI_API_KEY"]},
        options={"chat_model": "hob-voice"},
    )
    await hass.config_entries.async_add(entry)
    return entry.entry_id


def declared() -> dict:
    """The services of all integrations whose entities can be switched, each with its fields."""
    services = {}
    for file in Path(components.__file__).parent.glob("*/services.yaml"):
        declared = load_yaml(str(file)) or {}
        services[file.parent.name] = {name: list((about or {}).get("fields") or {}) for name, about in declared.items()}
    return services


async def main(config_dir: str) -> None:
    logging.getLogger("homeassistant").setLevel(logging.WARNING)
    port = free_port()
    hass = await started(config_dir, port)
    furnish(hass)
    owner = await token(hass, admin=True)
    user = await token(hass, admin=False)
    ready = {"url": f"http://127.0.0.1:{port}", "owner": owner, "user": user, "agent": await agent(hass), "services": declared()}
    print(json.dumps(ready), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await hass.async_stop(force=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
