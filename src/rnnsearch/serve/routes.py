"""The routes of `/v1`, translation and alignment, and what all routes share: API keys and answers
in JSON."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Annotated, Any, ClassVar, Self, TypeVar

import numpy as np
from fastapi import APIRouter, HTTPException, Response
from pydantic import AfterValidator, BaseModel, Field, StrictInt, StrictStr, model_validator
from starlette.datastructures import Headers

from rnnsearch.records import Translation
from rnnsearch.serve.service import Service
from rnnsearch.serve.work_queue import OWNER, AbandonedError
from rnnsearch.text.formats.lines import plain_given
from rnnsearch.translation.beginning import respaced
from rnnsearch.word_links import format_links


def _encoded(text: str) -> str:
    """Returns the text. Raises ValueError for one that no Unicode encoding has."""
    text.encode()
    return text


Text = Annotated[StrictStr, AfterValidator(_encoded)]
OneOrMore = Text | Annotated[list[Text], Field(fail_fast=True)]
"""One text or several; only the first fault is found, because one for each of many texts takes
seconds."""
Item = TypeVar("Item")
HYPOTHESIS = [
    *("text", "tokens", "score", "log_probabilities", "confidence", "doubtful_numbers"),
    *("unknown_words", "finished"),
]


def as_list(text: str | list[str]) -> list[str]:
    return [text] if isinstance(text, str) else text


def digest(key: str) -> str:
    """Returns what is kept of a key. Comparing digests leaks nothing about keys through its
    time."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def key_of(headers: Headers) -> str:
    """Returns the key of `Authorization: Bearer KEY` or of `X-API-Key: KEY`; empty without one."""
    scheme, _, token = headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else headers.get("X-API-Key", "")


def check_key(key: object, keys: Collection[str], status: int) -> None:
    """Raises HTTPException if keys are needed and this is none; else the request counts as its
    key's."""
    if not keys:
        return
    if not isinstance(key, str) or (owner := digest(key)) not in keys:
        what = "the API key is not valid" if key else "an API key is needed"
        header = {"WWW-Authenticate": "Bearer"} if status == 401 else None
        raise HTTPException(status, f"{what}: send it as Authorization: Bearer KEY", header)
    OWNER.set(owner)


def json_response(content: object, status: int = 200) -> Response:
    """Returns plain data as a JSON response, faster than FastAPI's own."""
    text = json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(text, status, media_type="application/json")


async def in_thread(make: Callable[[Callable[[], object]], Item]) -> Item:
    """Returns what `make` returns in another thread: a large text keeps nobody waiting. Its
    argument raises AbandonedError once nobody waits for it."""
    gone = threading.Event()

    def each_step() -> None:
        if gone.is_set():
            raise AbandonedError

    try:
        return await asyncio.to_thread(make, each_step)
    finally:
        gone.set()


async def rendered(make: Callable[[Callable[[], object]], object]) -> Response:
    """Returns plain data as a JSON response, made in another thread; `make` is as in
    `in_thread`."""
    return await in_thread(lambda each_step: json_response(make(each_step)))


def most_specific_fault(errors: Sequence[Mapping[str, Any]]) -> str:
    """Describes the most specific of a validator's errors in a line: the field, and the fault."""
    error = max(errors, key=lambda one: len(one["loc"]))
    if error["type"] == "json_invalid":
        return f"the body is not JSON (character {error['loc'][-1]})"
    fields = [str(part) for part in error["loc"] if part not in ("body", "query")]
    what = str(error["msg"]).removeprefix("Value error, ")
    if fields:
        return f"{fields[0]}: {what}"
    own = error["type"] == "value_error"  # of a validator of ours, which read JSON
    return what if own else f"{what}; send JSON, with the header Content-Type: application/json"


class _Request(BaseModel, extra="forbid", frozen=True):
    """The choice of a model: its name, or languages that fit one pair only. ALIKE: fields that are
    two texts, or two lists of one length."""

    ALIKE: ClassVar = ("text", "prefix")
    model: StrictStr | None = None
    source: StrictStr | None = None
    target: StrictStr | None = None

    @model_validator(mode="after")
    def _as_many(self) -> Self:
        one, other = self.ALIKE
        first, second = getattr(self, one), getattr(self, other)
        if second is not None and isinstance(first, str) != isinstance(second, str):
            raise ValueError(f"{one} and {other} must be two texts, or two lists")
        if isinstance(second, list) and len(first) != len(second):
            raise ValueError(f"{one} has {len(first)} texts, but {other} has {len(second)}")
        return self


class TranslateRequest(_Request):
    """One text or several. Texts are split into sentences; their white space is kept.

    alignment: whether the answer has attention weights (target × source). glossary: terms and their
    translations. prefix: the beginning of the translation, or of each; empty for none.
    """

    text: OneOrMore
    beam: StrictInt | None = Field(None, ge=1)
    nbest: StrictInt = Field(1, ge=1)
    alignment: bool = False
    glossary: dict[Text, Text] = {}
    prefix: OneOrMore | None = None


class ChoicesRequest(_Request):
    """A sentence, and the beginning of its translation in whole words. count: number of next
    words."""

    text: Text
    prefix: Text = ""
    count: StrictInt = Field(8, ge=1)


class AlignRequest(_Request):
    """Sentences with their translations. posterior: the alignment posterior, which knows the
    aligned word, instead of attention weights. alignment: whether the answer has the matrices
    besides the links."""

    ALIKE = ("source_text", "target_text")
    source_text: OneOrMore
    target_text: OneOrMore
    posterior: bool = False
    alignment: bool = True


def parts_of(result: Translation, keys: Sequence[str]) -> dict[str, Any]:
    """Returns these fields of a translation as plain data for JSON; numbers have five decimals."""
    parts = replace(result, alternatives=[], alignment=result.alignment[:0]).to_dict()
    if "alignment" in keys:
        parts["alignment"] = np.round(result.alignment.astype(np.float64), 5).tolist()
    return {key: parts[key] for key in keys}


def sentence_fields(keys: Sequence[str], source: str, result: Translation) -> dict[str, Any]:
    """Returns a sentence and its translations, with these fields, as plain data."""
    hypotheses = [parts_of(one, keys) for one in (result, *result.alternatives)]
    return {"source": source, "source_tokens": result.source_tokens, "hypotheses": hypotheses}


def pair_fields(keys: Sequence[str], result: Translation) -> dict[str, Any]:
    """Returns the links of a pair, and these fields, as plain data."""
    return {"links": format_links(result.links()), **parts_of(result, keys)}


def v1(service: Service) -> APIRouter:
    """Returns the routes of `/v1`."""
    router = APIRouter(prefix="/v1")

    @router.post("/translate")
    async def translate(request: TranslateRequest) -> Response:
        """Answers with each text's translation, and with its sentences and their translations, best
        first."""
        model = service.choose(request.model, request.source, request.target)
        texts = as_list(request.text)
        given = as_list(request.prefix or [""] * len(texts))
        begun = ["\n".join(map(plain_given, text.split("\n"), count(1))) for text in given]
        translated = await service.translate(
            model, texts, request.beam, request.nbest, glossary=request.glossary, prefix=begun
        )
        keys = [*HYPOTHESIS, *["alignment"] * request.alignment]

        sentence = partial(sentence_fields, keys)

        def answer(_: object) -> dict[str, Any]:
            answers = [
                {
                    "text": respaced(typed, paragraph.joined([one.text for one in results])),
                    "sentences": list(map(sentence, paragraph.sentences, results)),
                }
                for typed, (paragraph, results) in zip(begun, translated, strict=True)
            ]
            return {"model": model.name, "translations": answers}

        return await rendered(answer)

    @router.post("/choices")
    async def choices(request: ChoicesRequest) -> Response:
        """Answers with the likeliest next words of the translation after the prefix, best first."""
        model = service.choose(request.model, request.source, request.target)
        found = await service.choices(model, request.text, request.prefix, request.count)
        return json_response({"model": model.name, "choices": [one._asdict() for one in found]})

    @router.post("/align")
    async def align(request: AlignRequest) -> Response:
        """Answers with the links of forced decoding in Pharaoh format (source-target, counted from
        0), and the matrix, target × source."""
        model = service.choose(request.model, request.source, request.target)
        pairs = list(zip(as_list(request.source_text), as_list(request.target_text), strict=True))
        results = await service.align(model, pairs, request.posterior)
        keys = ["source_tokens", "tokens", *["alignment"] * request.alignment]

        pair = partial(pair_fields, keys)
        return await rendered(lambda _: {"model": model.name, "pairs": list(map(pair, results))})

    return router
