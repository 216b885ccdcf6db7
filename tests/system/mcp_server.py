"""An MCP server over stdio with one tool: `append` adds a line to the file named on the command line."""

import json
import sys
from pathlib import Path

TOOL = {
    "name": "append",
    "description": "Adds a line",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def answer(method, params):
    if method == "initialize":
        server = {"name": "notes", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        with Path(sys.argv[1]).open("a") as file:
            file.write(params["arguments"]["text"] + "\n")
        return {"content": [{"type": "text", "text": "appended"}]}
    return {}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:  # the others are notifications
            result = answer(message["method"], message.get("params"))
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
