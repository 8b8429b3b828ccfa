"""Lists all that a server has and calls tools, with the official Python client. Prints what it got as JSON."""

import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, key: str, mode: str, calls: dict[str, dict]) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            tools = await client.list_tools()
            resources = await client.list_resources()
            prompts = await client.list_prompts()
            answers = {}
            for name, arguments in calls.items():
                result = await client.call_tool(name, arguments)
                answers[name] = {"structured": result.structured_content, "text": result.content[0].text}
            told = {
                "revision": client.protocol_version,
                "tools": [tool.name for tool in tools.tools],
                "resources": len(resources.resources),
                "prompts": len(prompts.prompts),
                "answers": answers,
            }
            print(json.dumps(told))


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])))
