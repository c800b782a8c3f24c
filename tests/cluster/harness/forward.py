#!/usr/bin/env python3
"""Carries TCP connections from one network namespace to another: forward.py LISTEN_HOST:PORT=TARGET_HOST:PORT …

Bytes are passed on as they come; one side's end is the other's. Prints "ready" when every port listens."""

import asyncio
import sys


async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def main():
    servers = []
    for word in sys.argv[1:]:
        listen, target = (part.rsplit(":", 1) for part in word.split("="))

        async def accept(reader, writer, target=target):
            try:
                there = await asyncio.wait_for(asyncio.open_connection(target[0], int(target[1])), 10)
            except (OSError, asyncio.TimeoutError):
                writer.close()
                return
            await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))
        servers.append(await asyncio.start_server(accept, listen[0], int(listen[1])))
    print("ready", flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


asyncio.run(main())
