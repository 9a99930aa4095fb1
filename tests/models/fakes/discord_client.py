"""Drives the fake Discord with discord.py, and prints what it saw."""

import asyncio
import io
import logging
import sys

import discord
import yarl
from discord import app_commands
from discord.gateway import DiscordWebSocket
from discord.http import Route

logging.basicConfig(level=logging.ERROR, format="%(name)s %(message)s")
base, token = sys.argv[1:]
Route.BASE = f"{base}/api/v10"
# It asks nobody where the gateway is, but for shards.
DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(base.replace("http", "ws", 1)) / "gateway"


class Client(discord.Client):
    def __init__(self, **options):
        intents = discord.Intents.none()
        intents.guilds = intents.guild_messages = intents.dm_messages = intents.message_content = True
        super().__init__(intents=intents, **options)
        self.tree = app_commands.CommandTree(self)
        self.begun = asyncio.Event()

    async def setup_hook(self):
        @self.tree.command(description="How it is")
        async def status(interaction: discord.Interaction):
            await interaction.response.defer(ephemeral=True)
            print("command", interaction.user.name, interaction.channel.name, flush=True)
            await interaction.delete_original_response()

        print("commands", [command.name for command in await self.tree.sync()], flush=True)

    async def on_ready(self):
        guild = self.guilds[0]
        print("ready", self.user.name, guild.name, [channel.name for channel in guild.text_channels],
              [thread.name for thread in guild.threads], flush=True)
        self.begun.set()

    async def on_resumed(self):
        print("resumed", flush=True)

    async def on_message(self, message):
        if message.author == self.user:
            return
        await self.begun.wait()
        print("message", message.author.name, repr(message.content), [a.filename for a in message.attachments], flush=True)
        if message.attachments:
            print("file", await message.attachments[0].read(), flush=True)
        if message.content == "begin":
            await self.act(message)
        if message.content == "end":
            await self.close()

    async def act(self, message):
        async with message.channel.typing():
            await message.add_reaction("👀")
        view = discord.ui.View(timeout=None)

        async def pressed(interaction):
            await interaction.response.defer()
            print("pressed", interaction.user.name, interaction.data["custom_id"], flush=True)

        button = discord.ui.Button(label="Yes", custom_id="q:yes")
        button.callback = pressed
        view.add_item(button)
        nobody = discord.AllowedMentions.none()
        sent = await message.reply("Hello", view=view, nonce="n1", allowed_mentions=nobody)
        await sent.edit(content="Hello!", allowed_mentions=nobody)
        await message.remove_reaction("👀", self.user)
        file = discord.File(io.BytesIO(b"bytes"), "a.txt")
        other = await message.channel.send("a file", file=file, allowed_mentions=nobody)
        await other.delete()
        history = [m.content async for m in message.channel.history(limit=10, after=discord.Object(1))]
        print("history", history, flush=True)
        try:
            await message.channel.send("x" * 2001, allowed_mentions=nobody)
        except discord.HTTPException as error:
            print("refused", error.status, error.code, flush=True)
        try:
            await message.channel.fetch_message(5)
        except discord.NotFound as error:
            print("refused", error.status, error.code, flush=True)


async def main():
    async with Client() as stranger:
        try:
            await stranger.start("wrong")
        except discord.LoginFailure:
            print("LoginFailure", flush=True)
    await asyncio.wait_for(Client().start(token), 15)


asyncio.run(main())
