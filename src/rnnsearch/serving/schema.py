"""What clients of `/v1` may send. Everything is checked here, before any work: types, sizes, and characters that no text has."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, StrictStr, model_validator

EXAMPLE = "The agreement on the European Economic Area was signed in August 1992."


def plain(text: str) -> str:
    """The text. Raises ValueError for what no text holds."""
    if "\0" in text:
        raise ValueError("the text holds a NUL byte")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("the text holds half of a surrogate pair")
    return text


Text = Annotated[StrictStr, AfterValidator(plain)]
Name = Annotated[StrictStr, Field(max_length=100), AfterValidator(plain)]


class _Request(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    model: Name | None = Field(
        None, description="name of the model; may be left out if the languages make it clear, or if there is only one"
    )
    source: Name | None = Field(None, description="language code of the text")
    target: Name | None = Field(None, description="language code of the translation")


class TranslateRequest(_Request):
    """One text or several. A text is split into sentences, and its translation has its white space."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        json_schema_extra={"examples": [{"text": EXAMPLE, "source": "en", "target": "fr", "beam": 5, "nbest": 2, "alignment": True}]}
    )

    text: Text | list[Text] = Field(description="the text, or several")
    beam: StrictInt | None = Field(None, ge=1, description="beam size; default: that of the model")
    nbest: StrictInt | None = Field(None, ge=1, description="translations of each sentence, best first; default 1")
    alignment: bool = Field(False, description="with the attention weights, target × source")
    links: bool = Field(False, description="with word links in Pharaoh format, source-target")

    @property
    def texts(self) -> list[str]:
        return [self.text] if isinstance(self.text, str) else list(self.text)


class _Pairs(_Request):
    source_text: Text | list[Text] = Field(description="the sentence, or several")
    target_text: Text | list[Text] = Field(description="its translation, or those of all of them")

    @model_validator(mode="after")
    def _as_many(self) -> Self:
        if isinstance(self.source_text, str) != isinstance(self.target_text, str):
            raise ValueError("source_text and target_text are two texts, or two lists")
        if len(self.sources) != len(self.targets):
            raise ValueError(f"source_text has {len(self.sources)} sentences, and target_text {len(self.targets)}")
        return self

    @property
    def sources(self) -> list[str]:
        return [self.source_text] if isinstance(self.source_text, str) else list(self.source_text)

    @property
    def targets(self) -> list[str]:
        return [self.target_text] if isinstance(self.target_text, str) else list(self.target_text)


_PAIR: dict[str, Any] = {"source_text": "the house", "target_text": "la maison", "source": "en", "target": "fr"}


class AlignRequest(_Pairs):
    """Sentences with their translations, sentence by sentence."""

    model_config: ClassVar[ConfigDict] = ConfigDict(json_schema_extra={"examples": [_PAIR | {"posterior": True}]})

    posterior: bool = Field(False, description="the alignment that each word has once it is known, in place of the attention weights")
    alignment: bool = Field(True, description="with the matrices, target × source; without, the links alone")


class ScoreRequest(_Pairs):
    """Sentences with their translations, sentence by sentence."""

    model_config: ClassVar[ConfigDict] = ConfigDict(json_schema_extra={"examples": [_PAIR]})
