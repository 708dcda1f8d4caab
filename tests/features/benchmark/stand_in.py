"""An OpenAI-compatible server that streams tokens at known rates, in a thread of this process."""

import asyncio
import json
import threading
from dataclasses import dataclass, field


@dataclass
class StandIn:
    """A server with a fixed time to a first token and between tokens, whatever its load.

    model : that it serves
    ttft, tpot : seconds
    tokens_per_word : of its tokenizer
    fault : what it does wrong: ``one piece``, ``not streamed``, ``no usage``, ``breaks off``,
        ``error 500``, ``hangs``, ``no JSON``, ``no tokens``, ``key``
    seen : bodies of the requests that it got
    """

    model: str = "Qwen/Qwen3-8B"
    ttft: float = 0.02
    tpot: float = 0.002
    tokens_per_word: int = 2
    fault: str = ""
    seen: list = field(default_factory=list)

    def __enter__(self):
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    async def _serve(self):
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()

    async def _connection(self, reader, writer):
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, path, _ = head.split(" ", 2)
        lengths = [
            line for line in head.lower().split("\r\n") if line.startswith("content-length:")
        ]
        body = await reader.readexactly(int(lengths[0].split(":")[1])) if lengths else b"{}"
        asked = json.loads(body or b"{}")
        if self.fault == "key" and "bearer sesame" not in head.lower():
            return self._whole(writer, 401, {"error": "no key"})
        if path == "/v1/models" and method == "GET":
            return self._whole(
                writer, 200, {"data": [{"id": name} for name in self.model.split(",")]}
            )
        if path == "/health":
            return self._whole(writer, 200, {})
        if path != "/v1/completions":
            return self._whole(writer, 404, {"detail": "Not Found"})
        self.seen.append(asked)
        if asked["model"] not in self.model.split(",") or self.fault == "unknown model":
            return self._whole(writer, 404, {"error": {"message": "The model does not exist."}})
        if self.fault == "error 500":
            return self._whole(writer, 500, {"error": {"message": "out of memory"}})
        prompt = self.tokens_per_word * len(asked["prompt"].split())
        usage = {"prompt_tokens": prompt, "completion_tokens": asked["max_tokens"]}
        if not asked.get("stream") or self.fault == "not streamed":
            counted = {} if self.fault == "no usage" else {"usage": usage}
            return self._whole(
                writer, 200, {"choices": [{"text": "a", "finish_reason": "length"}]} | counted
            )
        await self._stream(writer, asked["max_tokens"], usage)
        return False

    async def _stream(self, writer, tokens, usage):
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        )
        if self.fault == "hangs":
            await asyncio.sleep(60)
        loop, start = asyncio.get_running_loop(), asyncio.get_running_loop().time()
        pieces = 1 if self.fault == "one piece" else 0 if self.fault == "no tokens" else tokens
        for place in range(pieces):
            await asyncio.sleep(start + self.ttft + place * self.tpot - loop.time())
            event = {"choices": [{"text": " x", "finish_reason": None}]}
            writer.write(b"data: " + json.dumps(event).encode() + b"\n\n")
            await writer.drain()
            if self.fault == "breaks off" and place == 1:
                writer.transport.abort()
                return
            if self.fault == "no JSON":
                writer.write(b"data: {oops\n\n")
        writer.write(b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n")
        writer.write(b"data: [DONE]\n\n")
        await writer.drain()

    @staticmethod
    def _whole(writer, status, content):
        text = json.dumps(content).encode()
        writer.write(
            f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n".encode()
            + text
        )
        return True
