"""The requests of `/v1`, and what their answers hold. Types, sizes, and characters that no text has are
checked here, before any work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, StrictStr, model_validator

from rnnsearch.records import Translation
from rnnsearch.word_links import format_links

EXAMPLE = "The agreement on the European Economic Area was signed in August 1992."
_HYPOTHESIS = ("text", "tokens", "score", "log_probabilities", "confidence", "finished")


def _plain(text: str) -> str:
    """Returns the text. Raises ValueError for what no text holds."""
    if "\0" in text:
        raise ValueError("the text holds a NUL byte")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("the text holds half of a surrogate pair")
    return text


def _with_example(**example: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [example]})


Text = Annotated[StrictStr, AfterValidator(_plain)]
Name = Annotated[StrictStr, Field(max_length=100), AfterValidator(_plain)]


def as_list(text: str | list[str]) -> list[str]:
    return [text] if isinstance(text, str) else text


class _Request(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    model: Name | None = Field(
        None, description="name of the model; needed only if the languages leave several models"
    )
    source: Name | None = Field(None, description="language code of the text")
    target: Name | None = Field(None, description="language code of the translation")


class TranslateRequest(_Request):
    """One text or several. A text is split into sentences, and its translation has its white space."""

    model_config: ClassVar[ConfigDict] = _with_example(
        text=EXAMPLE, source="en", target="fr", beam=5, nbest=2, alignment=True
    )

    text: Text | list[Text] = Field(description="the text, or several")
    beam: StrictInt | None = Field(None, ge=1, description="beam size; default: that of the model")
    nbest: StrictInt | None = Field(
        None, ge=1, description="translations of each sentence, best first; default 1"
    )
    alignment: bool = Field(False, description="with the attention weights, target × source")
    links: bool = Field(False, description="with word links in Pharaoh format, source-target")

    @property
    def texts(self) -> list[str]:
        return as_list(self.text)

    def sentence(self, source: str, result: Translation) -> dict[str, Any]:
        """Returns a sentence and its translations, best first, as they are asked for."""
        keys = [*_HYPOTHESIS, *["alignment"] * self.alignment, *["links"] * self.links]
        hypotheses = [parts_of(one, keys) for one in (result, *result.alternatives)]
        return {"source": source, "source_tokens": result.source_tokens, "hypotheses": hypotheses}


class _Pairs(_Request):
    source_text: Text | list[Text] = Field(description="the sentence, or several")
    target_text: Text | list[Text] = Field(description="its translation, or those of all of them")

    @model_validator(mode="after")
    def _as_many(self) -> Self:
        if isinstance(self.source_text, str) != isinstance(self.target_text, str):
            raise ValueError("source_text and target_text are two texts, or two lists")
        sources, targets = map(len, self.sides)
        if sources != targets:
            raise ValueError(f"source_text has {sources} sentences, and target_text {targets}")
        return self

    @property
    def sides(self) -> tuple[list[str], list[str]]:
        return as_list(self.source_text), as_list(self.target_text)


_PAIR = {"source_text": "the house", "target_text": "la maison", "source": "en", "target": "fr"}


class AlignRequest(_Pairs):
    """Sentences with their translations, sentence by sentence."""

    model_config: ClassVar[ConfigDict] = _with_example(**_PAIR, posterior=True)

    posterior: bool = Field(
        False, description="the alignment of each word once it is known, in place of the attention weights"
    )
    alignment: bool = Field(True, description="with the matrices, target × source; without, the links alone")


class ScoreRequest(_Pairs):
    """Sentences with their translations, sentence by sentence."""

    model_config: ClassVar[ConfigDict] = _with_example(**_PAIR)


def parts_of(result: Translation, keys: Sequence[str]) -> dict[str, Any]:
    """Returns these parts of a translation as JSON has them: plain lists, numbers to five decimals."""
    seen = result.alignment if "alignment" in keys else result.alignment[:0]  # rounding it takes long
    parts = replace(result, alternatives=[], alignment=seen).to_dict()
    if "links" in keys:
        parts["links"] = format_links(result.links())
    return {key: parts[key] for key in keys}


_PLAINER = {
    "missing": "it is missing",
    "greater_than_equal": "it is too small",
    "extra_forbidden": "there is no such field",
    "string_type": "it is not a text",
    "int_type": "it is not a whole number",
    "int_parsing": "it is not a whole number",
    "bool_type": "it is not true or false",
    "bool_parsing": "it is not true or false",
    "model_attributes_type": "the body is not a JSON object",
}
"""Words for people, by the kind of a validator's error."""


def first_fault(errors: Sequence[Mapping[str, Any]]) -> str:
    """Returns one line about a validator's errors: the field, the number in its list, and what is wrong."""
    # A field of one text or a list has errors of both; that of a member of the list says more.
    error = next((one for one in errors if any(isinstance(part, int) for part in one["loc"])), errors[0])
    fields = [str(part) for part in error["loc"] if part not in ("body", "query")]
    number = next((f" {part + 1}" for part in error["loc"] if isinstance(part, int)), "")
    what = _PLAINER.get(error["type"], str(error["msg"]).removeprefix("Value error, "))
    return f"{fields[0]}{number}: {what}" if fields else what
