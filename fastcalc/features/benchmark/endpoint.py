"""Client for an OpenAI-compatible server that times streamed tokens.

``/v1/models`` and ``/v1/completions`` with ``stream`` and ``stream_options.include_usage`` follow
https://platform.openai.com/docs/api-reference/completions (read on 2026-11-28); ``ignore_eos`` is
an extension of vLLM, SGLang, TensorRT-LLM and llama.cpp.
"""

import json
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, cast

from fastcalc.errors import InputError
from fastcalc.mentions import option
from fastcalc.written import shown

if TYPE_CHECKING:
    import httpx

KEY = "FASTCALC_API_KEY"
"""Environment variable with the API key, for servers that require one."""

_TO_CONNECT, _BETWEEN_CHUNKS = 10.0, 120.0
"""Timeouts for connecting and between chunks, after which the server counts as unreachable. [s]"""

_SAID = 200  # most characters of a server's message quoted in an error

Fields = Mapping[str, object]


@dataclass(frozen=True)
class Reply:
    """The timing of one completed request.

    first, last : The time from sending to the first and last chunk with text, in seconds.
    prompt : The prompt length according to the server, or None if it is not reported, in tokens.
    output : The length of the response, in tokens.
    chunks : The number of chunks in the response.
    """

    first: float
    last: float
    prompt: int | None
    output: int
    chunks: int


@dataclass(frozen=True)
class Endpoint:
    """A server and the model to request.

    url : The base URL without a path.
    """

    client: "httpx.AsyncClient"
    url: str
    model: str = ""

    async def models(self) -> list[str]:
        """Return the names of the served models."""
        response = await self._sent("GET", "/v1/models")
        listed = _mapping(response, self.url).get("data")
        entries = listed if isinstance(listed, list) else []
        names = [entry.get("id") for entry in entries if isinstance(entry, dict)]
        models = [name for name in names if isinstance(name, str) and name]
        if not models:
            raise InputError(f"{self.url}/v1/models names no model: is it OpenAI-compatible?")
        return models

    async def prompt_tokens(self, text: str) -> int:
        """Return the number of tokens in a text as counted by the server, by requesting one."""
        body = {"model": self.model, "prompt": text, "max_tokens": 1}
        response = await self._sent("POST", "/v1/completions", body)
        count = _usage(_mapping(response, self.url)).get("prompt_tokens")
        if not isinstance(count, int) or count < 1:
            raise InputError(
                f"{self.url} does not say how many tokens a prompt has (usage.prompt_tokens), so "
                "the load of a run is undetermined"
            )
        return count

    async def reply(self, text: str, output: int) -> Reply:
        """Request a streamed response of a given length and time it."""
        body = {
            "model": self.model,
            "prompt": text,
            "max_tokens": output,
            "temperature": 0.0,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        start, first, last, chunks, usage = perf_counter(), 0.0, 0.0, 0, dict[str, object]()
        async for event in self._events(body):
            usage.update(_usage(event))
            if _has_text(event):
                last = perf_counter() - start
                first, chunks = first or last, chunks + 1
        counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
        prompt, generated = (count if isinstance(count, int) else None for count in counts)
        tokens = chunks if generated is None else generated
        if not chunks:
            raise InputError(f"{self.url} answered without a token")
        if chunks == 1 and tokens > 1:
            raise InputError(
                f"{self.url} sent an answer of {tokens} tokens in one piece: without streaming "
                "neither TTFT nor TPOT can be measured"
            )
        return Reply(first, last, prompt, tokens, chunks)

    async def _events(self, body: Fields) -> AsyncIterator[Fields]:
        """Yield the events of a streamed response."""
        import httpx

        try:
            request = self.client.stream("POST", f"{self.url}/v1/completions", json=body)
            async with request as response:
                if response.status_code != 200:
                    await response.aread()
                    raise InputError(self._refusal(response))
                if "event-stream" not in response.headers.get("content-type", ""):
                    raise InputError(
                        f"{self.url} does not stream its answers, and without streaming neither "
                        "TTFT nor TPOT can be measured"
                    )
                async for line in response.aiter_lines():
                    data = line.removeprefix("data:").strip()
                    if data == "[DONE]":
                        return
                    if line.startswith("data:"):
                        yield self._event(data)
                raise InputError(f"{self.url} broke off in the middle of an answer")
        except httpx.HTTPError as error:
            raise InputError(self._why(error)) from error

    def _event(self, data: str) -> Fields:
        try:
            event = json.loads(data)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            raise InputError(f"{self.url} streamed invalid JSON: {shown(data)}")
        if "error" in event:
            raise InputError(f"{self.url} broke off: {shown(_words(event), _SAID)}")
        return event

    async def _sent(self, method: str, path: str, body: Fields | None = None) -> "httpx.Response":
        import httpx

        try:
            response = await self.client.request(method, f"{self.url}{path}", json=body)
        except httpx.HTTPError as error:
            raise InputError(self._why(error)) from error
        if response.status_code != 200:
            raise InputError(self._refusal(response))
        return response

    def _refusal(self, response: "httpx.Response") -> str:
        """Describe why the server rejected a request."""
        status, path = response.status_code, response.url.path
        if status in (401, 403):
            return f"{self.url} asks for a key (HTTP {status}): set {KEY}"
        try:
            reply = shown(_words(response.json()), _SAID)
        except ValueError:
            reply = shown(response.text, _SAID)
        if status == 404 and self.model:
            return f"{self.url} does not serve '{shown(self.model)}' (HTTP 404): {reply}"
        if status == 404:
            return f"{self.url} has no {path} (HTTP 404): is it an OpenAI-compatible server?"
        return f"{self.url} refused a request (HTTP {status}): {reply}"

    def _why(self, error: "httpx.HTTPError") -> str:
        """Describe why no response arrived."""
        import httpx

        if isinstance(error, httpx.ConnectTimeout):
            return f"{self.url} does not answer within {_TO_CONNECT:g} s: check {option('url')}"
        if isinstance(error, httpx.ConnectError):
            return (
                f"{self.url} cannot be reached ({shown(str(error))}): start the server, or check "
                f"{option('url')}"
            )
        if isinstance(error, httpx.TimeoutException):
            return f"{self.url} sent nothing for {_BETWEEN_CHUNKS:g} s"
        return f"{self.url} broke off: {shown(str(error) or type(error).__name__)}"


def connected(url: str, most: int) -> Endpoint:
    """Create a client for a server without sending any request.

    most : The maximum number of requests in flight.

    Raises InputError if the address is not an HTTP URL or httpx is not installed.
    """
    try:
        import httpx
    except ModuleNotFoundError as error:
        raise InputError(
            "httpx, which talks to the server, is not installed: python -m pip install httpx"
        ) from error
    address = url.rstrip("/").removesuffix("/v1")
    try:
        parsed = httpx.URL(address)
    except (httpx.InvalidURL, TypeError) as error:
        raise InputError(f"{option('url')} {shown(url)} is not an address: {error}") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InputError(
            f"{option('url')} {shown(url)} is not a server address; write http://localhost:8000"
        )
    key = os.environ.get(KEY)
    client = httpx.AsyncClient(
        headers={"Authorization": f"Bearer {key}"} if key else {},
        timeout=httpx.Timeout(_BETWEEN_CHUNKS, connect=_TO_CONNECT, pool=None),
        limits=httpx.Limits(max_connections=most, max_keepalive_connections=most),
        trust_env=False,  # a proxy would distort the timing
    )
    return Endpoint(client, address)


def _mapping(response: "httpx.Response", url: str) -> Fields:
    try:
        data = response.json()
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise InputError(f"{url}{response.url.path} sent no JSON object")
    return data


def _usage(event: Fields) -> dict[str, object]:
    usage = event.get("usage")
    return usage if isinstance(usage, dict) else {}


def _has_text(event: Fields) -> bool:
    """Check whether an event contains a token.

    A token's text may be empty, but the last event has no token.
    """
    choices = event.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return False
    choice = cast(dict[str, object], choices[0])
    return bool(choice.get("text")) or choice.get("finish_reason") is None


def _words(data: object) -> str:
    """Extract the error message from any of the fields that servers commonly use."""
    while isinstance(data, dict):
        data = next((data[key] for key in ("error", "message", "detail") if key in data), str(data))
    return str(data)
