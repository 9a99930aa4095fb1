"""Talks to the fake through python-telegram-bot; prints what it understood."""

import asyncio
import http.server
import json
import sys
import threading

import telegram
from telegram.constants import ParseMode, ReactionEmoji

root, token = sys.argv[1].rsplit("/", 1)
bot = telegram.Bot(token, base_url=f"{root}/bot", base_file_url=f"{root}/file/bot")
calls = []


class Called(http.server.BaseHTTPRequestHandler):
    """Where the fake posts updates: the first one is refused once."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        calls.append((self.headers["X-Telegram-Bot-Api-Secret-Token"], telegram.Update.de_json(body, bot)))
        self.send_response(503 if len(calls) == 1 else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


async def refused(awaitable):
    try:
        await awaitable
    except telegram.error.TelegramError as error:
        print(type(error).__name__, getattr(error, "new_chat_id", ""), str(error)[:60])


async def words():
    sent = await bot.send_message(7, "a &lt; <b>bold</b>\n<pre><code class=\"language-rust\">x</code></pre>", parse_mode="HTML")
    print(repr(sent.text), [(entity.type, sent.parse_entity(entity), entity.language) for entity in sent.entities])
    for broken in ["<blink>x</blink>", "<b>x", "x</b>", "1 < 2", "<b></b>", "x" * 4097]:
        await refused(bot.send_message(7, broken, parse_mode=ParseMode.HTML))
    changed = await sent.edit_text("<i>new</i>", parse_mode=ParseMode.HTML)
    print(changed.message_id == sent.message_id, changed.text, changed.entities[0].type)
    await refused(sent.edit_text("<i>new</i>", parse_mode=ParseMode.HTML))
    await refused(bot.edit_message_text("x", 7, 99))
    print(await sent.set_reaction(ReactionEmoji.EYES), await sent.set_reaction([]))
    await refused(sent.set_reaction("\N{HOURGLASS}"))
    await refused(bot.set_message_reaction(7, 99, ReactionEmoji.EYES))
    print(await sent.delete())
    await refused(sent.delete())
    await refused(bot.send_message(-77, "x"))
    await refused(bot.send_message(-5, "x", message_thread_id=99))
    print((await bot.send_message(-5, "in the topic", message_thread_id=42)).message_thread_id)
    print(await bot.send_chat_action(-5, "typing", message_thread_id=42))


async def files():
    sent = await bot.send_document(7, b"content", filename="a.txt", caption="<u>here</u>", parse_mode=ParseMode.HTML)
    print(sent.caption, [entity.type for entity in sent.caption_entities])
    await refused(bot.send_photo(7, b"no picture"))


async def commands():
    print(await bot.set_my_commands([("help", "what can be said")]), [command.command for command in await bot.get_my_commands()])
    await refused(bot.set_my_commands([("Help!", "x")]))


async def updates():
    for update in await bot.get_updates(timeout=1, allowed_updates=["message", "edited_message", "callback_query"]):
        message = update.effective_message
        origin = message.forward_origin
        print(
            update.update_id - 817_000_000,
            message.text or message.caption,
            message.media_group_id,
            message.is_topic_message and message.message_thread_id,
            origin and (origin.type, origin.sender_user_name),
            message.migrate_to_chat_id,
            message.migrate_from_chat_id,
            update.edited_message is not None,
        )
        for photo in message.photo:
            print(bytes(await (await photo.get_file()).download_as_bytearray()))
        if update.callback_query:
            print(update.callback_query.data, await update.callback_query.answer("too late"))
            await refused(bot.answer_callback_query("none"))
    await bot.get_updates(offset=update.update_id + 1)
    asked = await bot.send_message(7, "Sure?", reply_markup=telegram.InlineKeyboardMarkup.from_button(
        telegram.InlineKeyboardButton("yes", callback_data="y")))
    print(asked.reply_markup.inline_keyboard[0][0].callback_data)


async def webhook():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Called)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    await refused(bot.set_webhook("ftp://x"))
    await refused(bot.set_webhook("https://x.example", secret_token="no spaces"))
    print(await bot.set_webhook(f"http://127.0.0.1:{server.server_port}/x", secret_token="s-1", allowed_updates=["message"]))
    await refused(bot.get_updates())
    await bot.send_message(7, "say something")
    while len(calls) < 2:
        await asyncio.sleep(0.01)
    print([(secret, update.message.text) for secret, update in calls])
    info = await bot.get_webhook_info()
    while info.pending_update_count:
        info = await bot.get_webhook_info()
    print(info.last_error_message, info.allowed_updates)
    print(await bot.delete_webhook(), (await bot.get_webhook_info()).url == "")
    await refused(bot.send_message(7, "flood"))


async def main():
    async with bot:
        print(bot.username, bot.can_read_all_group_messages)
        for step in (words, files, commands, updates, webhook):
            await step()


asyncio.run(main())
