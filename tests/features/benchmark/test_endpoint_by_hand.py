"""What a client says to a server and makes of its answers, without a server."""

import asyncio
import json
from types import SimpleNamespace

import pytest

from fastcalc.errors import InputError
from fastcalc.features.benchmark import endpoint
from fastcalc.mentions import as_flags
from tests.helpers import every

httpx = pytest.importorskip("httpx")

URL = "http://h:8000"
TOKEN, LAST = '{"choices": [{"text": "a"}]}', '{"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}'  # fmt: skip


def asked(call, answer, model="m"):
    """Result of a method of a client whose server answers so, and the requests that it sent."""
    sent = []

    def handle(request):
        sent.append(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def run():
        async with httpx.AsyncClient(transport=httpx.MockTransport(handle)) as client:
            return await call(endpoint.Endpoint(client, URL, model))

    try:
        return asyncio.run(run()), sent
    except InputError as error:
        return as_flags(error.args[0]), sent


def streamed(*events, status=200, kind="text/event-stream"):
    lines = "".join(f"data: {event}\n\n" for event in events)
    return httpx.Response(status, text=lines, headers={"content-type": kind})


@every(
    "body,found",
    [
        ({"data": [{"id": "a"}, {"id": ""}, {"id": 3}, 4, {}, {"id": "b"}]}, ["a", "b"]),
        ({"data": 3}, f"{URL}/v1/models names no model: is it OpenAI-compatible?"),
        ({"data": []}, f"{URL}/v1/models names no model: is it OpenAI-compatible?"),
        ([], f"{URL}/v1/models sent no JSON object"),
    ],
)
def test_models_that_a_server_names(body, found):
    result, (request,) = asked(endpoint.Endpoint.models, httpx.Response(200, json=body))
    assert result == found
    assert (request.method, str(request.url)) == ("GET", f"{URL}/v1/models")


@every("usage,count", [({"prompt_tokens": 7}, 7), ({"prompt_tokens": 1}, 1), ({"prompt_tokens": 0}, None), ({"prompt_tokens": "7"}, None), (None, None), ({}, None)])  # fmt: skip
def test_tokens_of_a_prompt_are_those_that_the_server_counts(usage, count):
    answer = httpx.Response(200, json={"usage": usage})
    result, (request,) = asked(lambda to: to.prompt_tokens("text"), answer)
    if count is None:
        assert "does not say how many tokens a prompt has" in result
    else:
        assert result == count
    assert json.loads(request.content) == {"model": "m", "prompt": "text", "max_tokens": 1}


@every(
    "events,prompt,tokens,chunks",
    [
        ([TOKEN, TOKEN, TOKEN, LAST, "[DONE]"], 7, 3, 3),
        ([TOKEN, TOKEN, "[DONE]", TOKEN], None, 2, 2),
        ([LAST, TOKEN, '{"usage": {"completion_tokens": 1}}', "[DONE]"], 7, 1, 1),
        (['{"choices": [{"text": ""}]}', TOKEN, LAST, "[DONE]"], 7, 3, 2),
    ],
)
def test_a_streamed_answer_is_counted(events, prompt, tokens, chunks):
    reply, (request,) = asked(lambda to: to.reply("text", 5), streamed(*events))
    assert (reply.prompt, reply.output, reply.chunks) == (prompt, tokens, chunks)
    assert 0.0 < reply.first <= reply.last < 60.0
    assert json.loads(request.content) == {
        "model": "m", "prompt": "text", "max_tokens": 5, "temperature": 0.0, "ignore_eos": True,
        "stream": True, "stream_options": {"include_usage": True},
    }  # fmt: skip


@every(
    "answer,sentence",
    [
        (streamed("[DONE]"), "answered without a token"),
        (streamed(TOKEN, LAST, "[DONE]"), "sent an answer of 3 tokens in one piece"),
        (streamed(TOKEN), "broke off in the middle of an answer"),
        (streamed(TOKEN, "[DONE]", kind="application/json"), "does not stream its answers"),
        (streamed("{", "[DONE]"), "streamed invalid JSON: {"), (streamed("[]", "[DONE]"), "streamed invalid JSON: []"),
        (streamed('{"error": {"message": "out of memory"}}'), "broke off: out of memory"),
        (streamed("x", status=500), "refused a request (HTTP 500): data: x"),
        (httpx.Response(401), "asks for a key (HTTP 401): set "),
        (httpx.Response(403), "asks for a key (HTTP 403): set "),
        (httpx.Response(404, json={"message": "no such model"}), "does not serve 'm' (HTTP 404): "),
        (httpx.ConnectTimeout("x"), "does not answer within "), (httpx.ConnectError("refused"), "cannot be reached (refused): "),
        (httpx.ReadTimeout("x"), "sent nothing for "), (httpx.ReadError("reset"), "broke off: reset"),
        (httpx.ReadError(""), "broke off: ReadError"),
    ],
)  # fmt: skip
def test_answers_that_are_none(answer, sentence):
    result, _ = asked(lambda to: to.reply("text", 5), answer)
    assert result.startswith(f"{URL} {sentence}")


def test_a_path_that_is_not_there_is_of_another_server():
    result, _ = asked(endpoint.Endpoint.models, httpx.Response(404), model="")
    assert result == f"{URL} has no /v1/models (HTTP 404): is it an OpenAI-compatible server?"


@every(
    "url,address",
    [
        ("http://h:8000", "http://h:8000"), ("http://h:8000/", "http://h:8000"), ("https://h/v1/", "https://h"),
        ("http://h/a/v1", "http://h/a"), ("h:8000", None), ("ftp://h", None), ("http://", None), ("", None),
    ],
)  # fmt: skip
def test_addresses_of_servers(url, address, monkeypatch):
    monkeypatch.setenv(endpoint.KEY, "secret")
    monkeypatch.setattr(httpx, "AsyncClient", SimpleNamespace)  # which reads certificates
    if address is None:
        with pytest.raises(InputError, match="is not a"):
            endpoint.connected(url, 8)
        return
    made = endpoint.connected(url, 8)
    assert made.url == address
    assert vars(made.client) == {
        "headers": {"Authorization": "Bearer secret"},
        "timeout": httpx.Timeout(120.0, connect=10.0, pool=None),
        "limits": httpx.Limits(max_connections=8, max_keepalive_connections=8),
        "trust_env": False,
    }
    monkeypatch.delenv(endpoint.KEY)
    assert endpoint.connected(url, 8).client.headers == {}
