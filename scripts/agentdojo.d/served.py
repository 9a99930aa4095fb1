"""The suites' tools as MCP servers, and the scripted model, on one address of loopback."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cases import is_look

MODEL = "scripted"
USE_TOOL = "use_tool"


class World:
    """All cases that are being played, and the suites whose tools are on offer."""

    def __init__(self):
        self.cases, self.suites = {}, {}

    def tools(self, suite):
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.parameters.model_json_schema(),
                "annotations": {"readOnlyHint": is_look(tool.name)},
            }
            for tool in self.suites[suite].tools
        ]

    def mcp(self, suite, body, raw):
        """The answer to a message of MCP's; none: it wants none."""
        method, params = body.get("method"), body.get("params") or {}
        if method == "initialize":
            about = {"name": suite, "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
        if method == "tools/list":
            return {"tools": self.tools(suite)}
        if method == "tools/call":
            code = params["_meta"]["hob/session"].removeprefix("web:")
            text, failed = self.cases[code].call(params["name"], arguments_of(raw))
            return {"content": [{"type": "text", "text": text}], "isError": failed}
        return {} if "id" in body else None

    def model(self, body):
        """What the model writes: words, or the names of tools with their arguments."""
        said = [message for message in body["messages"] if message["role"] == "user"]
        codes = [code for message in said for code in re.findall(r"\(case ([a-z]+)\)", str(message["content"]))]
        case = self.cases.get(codes[-1]) if codes else None
        if case is None:
            return "Yes.", []
        offered = {tool["function"]["name"] for tool in body.get("tools", [])}
        steps = case.next(body["messages"], "plan" in offered)
        if not steps:
            case.finished.set()
            return case.answer, []
        if steps[0].tool == "plan":
            return None, [(steps[0].tool, steps[0].arguments)]
        case.written = steps
        return None, [named(f"{case.suite.name}__{step.tool}", step.arguments, offered) for step in steps]


def named(name, arguments, offered):
    """The call of a tool, as a model makes it that is shown it, or not."""
    return (name, arguments) if name in offered else (USE_TOOL, f'{{"name": {json.dumps(name)}, "arguments": {arguments}}}')


def arguments_of(raw):
    """The arguments as they were spelt."""
    spelt = json.loads(raw, parse_float=Spelt, parse_int=Spelt)["params"].get("arguments") or {}
    return dumped(spelt)


class Spelt(str):
    """A number, as it is spelt."""


def dumped(value):
    if isinstance(value, Spelt):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{dumped(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dumped, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def chunks(words, calls):
    """A reply as OpenAI streams it."""
    delta = {"role": "assistant", "content": words}
    if calls:
        functions = [{"name": name, "arguments": arguments} for name, arguments in calls]
        delta["tool_calls"] = [
            {"index": index, "id": f"call{index}", "type": "function", "function": function} for index, function in enumerate(functions)
        ]
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    yield {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}]}
    yield {"choices": [], "usage": usage}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Each answer goes out at once, not when the last one was acknowledged.
    disable_nagle_algorithm = True
    world = None

    def do_POST(self):
        raw = self.rfile.read(int(self.headers["content-length"]))
        body = json.loads(raw)
        if self.path.startswith("/mcp/"):
            result = self.world.mcp(self.path.removeprefix("/mcp/"), body, raw)
            if result is None:
                return self.say(202, "application/json", "")
            return self.say(200, "application/json", json.dumps({"jsonrpc": "2.0", "id": body["id"], "result": result}))
        head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
        events = [json.dumps({**head, **chunk}) for chunk in chunks(*self.world.model(body))] + ["[DONE]"]
        return self.say(200, "text/event-stream", "".join(f"data: {event}\n\n" for event in events))

    def do_GET(self):
        if self.path.endswith("/models"):
            return self.say(200, "application/json", json.dumps({"object": "list", "data": [{"id": MODEL}]}))
        return self.say(405, "text/plain", "")

    def do_DELETE(self):
        return self.say(405, "text/plain", "")

    def say(self, status, kind, text):
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def serve(world):
    """Serves it from now on; its address."""
    server = Server(("127.0.0.1", 0), type("Bound", (Handler,), {"world": world}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"
