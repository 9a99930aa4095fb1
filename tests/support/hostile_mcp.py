"""An MCP server over stdio that does what no server should. `hostile_mcp.py DIR [MODE]`.

Every start is a line in DIR/starts. The tools are those of DIR/tools.json if it is there, read anew for each list.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

place, mode = sys.argv[1], (sys.argv[2:] or [""])[0]
with open(f"{place}/starts", "a") as starts:
    starts.write(f"{os.getpid()}\n")


def tool(name, **more):
    return {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}, **more}


NAMES = ["echo", "hang", "die", "flood", "message", "huge", "fork", "ask", "environment", "change", "refuse", "strange"]


def tools():
    try:
        with open(f"{place}/tools.json") as file:
            return json.load(file)
    except FileNotFoundError:
        return [tool(name) for name in NAMES]


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def ask(method, params):
    send({"id": method, "method": method, "params": params})
    while True:
        answer = hear()
        if answer.get("id") == method and "method" not in answer:
            return answer.get("error", {}).get("message") or answer["result"]


def fork():
    """A child in the group, and one that has left it; both hold the output open."""
    children = [subprocess.Popen(["sleep", "600"]), subprocess.Popen(["setsid", "sleep", "600"])]
    return text(" ".join(str(child.pid) for child in children))


def call(name, arguments):
    if name == "echo" and "content" in (arguments or {}):
        return {"content": arguments["content"]}
    if name == "echo":
        return text(json.dumps(arguments))
    if name == "hang":
        while True:
            time.sleep(600)
    if name == "die":
        fork()
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "flood":
        while True:
            send({"method": "notifications/message", "params": {"level": "info", "data": "x" * 10_000}})
    if name == "message":
        sys.stdout.write("{" + "x" * (17 << 20))
        sys.stdout.flush()
        time.sleep(600)
    if name == "huge":
        return text("ä" * 1_500_000)
    if name == "fork":
        return fork()
    if name == "ask":
        sampling = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 9}
        form = {"message": "Your password?", "requestedSchema": {"type": "object", "properties": {}}}
        answers = [ask("sampling/createMessage", sampling), ask("elicitation/create", form), ask("roots/list", {})]
        return text(json.dumps(answers))
    if name == "environment":
        return text(" ".join(sorted(os.environ)))
    if name == "change":
        send({"method": "notifications/tools/list_changed"})
        return text("changed")
    if name == "strange":
        return 7
    if name == "survey":
        # As the SDK for TypeScript tells it.
        return text("MCP error -32601: Tool survey requires task augmentation", isError=True)
    return text(f"no tool {name}", isError=True)


TASKS = {}


def task(number):
    """A task is over when it has been asked for twice."""
    asked, name, _ = TASKS[number]
    status = "input_required" if name == "form" else "working" if asked < 2 else "completed"
    when = {"createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"}
    return {"taskId": number, "status": status, "ttl": 1000, "pollInterval": 50, **when}


def begin(params):
    number = f"task-{len(TASKS)}"
    TASKS[number] = [0, params["name"], params.get("arguments")]
    return {"task": task(number)}


def tasks(method, number):
    if method == "tasks/get":
        TASKS[number][0] += 1
        return task(number)
    if method == "tasks/result":
        asked, name, arguments = TASKS[number]
        return text(f"{name} {json.dumps(arguments)} after {asked}")
    return {**task(number), "status": "cancelled"}


def list_tools(params):
    cursor = int((params or {}).get("cursor", 0))
    if mode == "endless":
        return {"tools": [tool(f"tool{cursor}")], "nextCursor": str(cursor + 1)}
    if mode == "pages":
        all_tools = tools()
        page = {"tools": all_tools[cursor : cursor + 2]}
        return page | ({"nextCursor": str(cursor + 2)} if cursor + 2 < len(all_tools) else {})
    return {"tools": tools()}


def answer(message):
    method, params = message["method"], message.get("params") or {}
    told = {"capabilities": {"tools": {"listChanged": True}}}
    named = {"name": "hostile", "version": "1"}
    if method == "initialize" and mode != "modern":
        return {"protocolVersion": params["protocolVersion"], "serverInfo": named, **told}
    if method == "server/discover" and mode == "modern":
        fresh = {"ttlMs": 0, "cacheScope": "private"}
        return {"supportedVersions": ["2026-07-28"], "resultType": "complete", **fresh, **told}
    if method == "tools/list":
        return list_tools(params)
    if method.startswith("tasks/"):
        return tasks(method, params["taskId"])
    if method == "tools/call":
        with open(f"{place}/metas", "a") as metas:
            metas.write(json.dumps(params.get("_meta", {}), sort_keys=True) + "\n")
    if method == "tools/call" and "task" in params and params["name"] in ("research", "survey", "form"):
        return begin(params)
    if method == "tools/call" and params["name"] not in ("refuse", "research", "form"):
        return call(params["name"], params.get("arguments"))
    return None


def murmur():
    while True:
        sys.stderr.write("murmur " * 1_000)


if mode == "silent":
    time.sleep(600)
if mode == "garbage":
    print("Listening on port 3000")
    print('{"jsonrpc": "2.0", "id": [], "result": 7}')
    print("{", flush=True)
    time.sleep(600)
if mode == "yes":
    while True:
        sys.stdout.write("y\n" * 1_000)
if mode == "exit":
    sys.stderr.write("no such database\n")
    sys.exit(3)
if mode == "murmur":
    threading.Thread(target=murmur, daemon=True).start()
while True:
    heard = hear()
    if "id" not in heard or "method" not in heard:
        continue
    result = answer(heard)
    if result is None:
        send({"id": heard["id"], "error": {"code": -32601, "message": "I do not.\u202e"}})
    else:
        send({"id": heard["id"], "result": result})
