"""A host that is given nothing but the address of a server, made of the official Python client.

Each line that it reads is a question; it prints where a person has to go, and the answer or why there is none.
"""

import asyncio
import json
import sys
import traceback
from urllib.parse import parse_qs, urlparse

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

PAGE = b"<!doctype html><title>Host</title><h1>Back in the host</h1>"


def say(line: dict) -> None:
    print(json.dumps(line), flush=True)


class Storage:
    """What a host keeps of a server."""

    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens) -> None:
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info) -> None:
        self.client = client_info


class Listener:
    """Where a person comes back to."""

    def __init__(self) -> None:
        self.came: asyncio.Queue[dict[str, str]] = asyncio.Queue()

    async def start(self) -> str:
        server = await asyncio.start_server(self.take, "127.0.0.1", 0)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/callback"

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readline()).decode().split(" ")[1]
        head = f"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {len(PAGE)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + PAGE)
        await writer.drain()
        writer.close()
        found = urlparse(path)
        if found.path == "/callback":
            await self.came.put({name: values[0] for name, values in parse_qs(found.query).items()})

    async def result(self) -> AuthorizationCodeResult:
        came = await self.came.get()
        if "error" in came:
            raise RuntimeError(came["error"])
        return AuthorizationCodeResult(code=came["code"], state=came.get("state"), iss=came.get("iss"))


async def main(url: str, mode: str, client_url: str | None) -> None:
    listener, storage = Listener(), Storage()
    redirect = await listener.start()

    async def send_person(open_url: str) -> None:
        say({"open": open_url})

    provider = OAuthClientProvider(
        server_url=url,
        client_metadata=OAuthClientMetadata(
            client_name="Fact desk", redirect_uris=[redirect], token_endpoint_auth_method="none"
        ),
        storage=storage,
        redirect_handler=send_person,
        callback_handler=listener.result,
        client_metadata_url=client_url,
    )
    async with httpx2.AsyncClient(auth=provider, timeout=120) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            say({"connected": client.protocol_version})
            while line := await asyncio.to_thread(sys.stdin.readline):
                asked = json.loads(line)
                before = storage.tokens and storage.tokens.refresh_token
                if asked.get("isLate"):
                    # The lifetime of its token is over by the client's own clock.
                    provider.context.token_expiry_time = 1
                try:
                    result = await client.call_tool(asked["name"], asked["args"])
                except Exception as error:
                    say({"failed": str(error)})
                    continue
                tokens = storage.tokens and storage.tokens.model_dump(mode="json")
                say(
                    {
                        "answer": result.structured_content,
                        "isError": bool(result.is_error),
                        "tokens": tokens,
                        "isRefreshed": before != (tokens or {}).get("refresh_token"),
                        "client_id": storage.client and storage.client.client_id,
                    }
                )


try:
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None))
except BaseException as error:  # a refusal ends the client, inside groups of exceptions
    say({"failed": "".join(traceback.format_exception(error))})
