"""Validated settings: defaults are the paper's; a recipe holds only what differs; an unknown key is an error."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from rnnsearch.errors import InputError

Positive = Annotated[int, Field(gt=0)]
Probability = Annotated[float, Field(ge=0.0, lt=1.0)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Table = TypeVar("Table", bound=BaseModel)


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", validate_assignment=True, frozen=True, allow_inf_nan=False)


class DataSettings(_Section):
    """How text becomes numbers (`rnnsearch prepare`); fixed for the life of a corpus and of every run trained on it."""

    source_language: str = Field("en", description="language code for the tokeniser")
    target_language: str = Field("fr", description="language code for the tokeniser")
    tokeniser: Literal["moses", "space"] = Field("moses", description="Moses's tokeniser, or words already separated by blanks")
    lowercase: bool = Field(False, description="words, and so translations, in small letters, as aligners see them")
    subwords: Literal["none", "unigram", "bpe"] = Field("none", description="sentencepiece pieces of words instead of a shortlist")
    shortlist: Positive = Field(30_000, description="most frequent words kept a side (Sec. 4.1), or number of pieces with subwords")
    minimum_count: Positive = Field(1, description="a word must occur this often to enter the shortlist")
    max_words: Positive = Field(200, description="pairs with a longer side are dropped, and counted")
    max_ratio: float = Field(9.0, ge=0, description="pairs with more than this many times as many words on one side are dropped; 0 = never")
    drop_identical: bool = Field(False, description="drop pairs whose sides have the same words")
    drop_duplicates: bool = Field(False, description="drop pairs that occurred before; the first is kept")
    drop_control_characters: bool = Field(False, description="drop pairs with a control character, not only turn it into a blank")
    entities: Literal["keep", "resolve", "drop"] = Field("keep", description="HTML entities: left alone, decoded, or the pair dropped")
    language_certainty: float = Field(
        0.0, ge=0, le=1, description="drop pairs with a side so probably foreign, as 0.9 (extra `language`); 0 = never"
    )
    seed: Seed = Field(1, description="of the one shuffle of the training pairs (B.2)")

    @field_validator("max_ratio")
    @classmethod
    def _keeps_some(cls, ratio: float) -> float:
        if 0 < ratio < 1:
            raise ValueError("a ratio is 1 or more, or 0 for none")
        return ratio


class ModelSettings(_Section):
    """The network (appendix A); sizes as in A.2.3. A part is a built-in name or the user's own `package.module:Class`."""

    cell: str = Field("gated", description="f: gated (A.1.1), lstm, tanh")
    encoder: str = Field("bidirectional", description="bidirectional (3.2), forward, embedding, embedding-position")
    alignment: str = Field(
        "additive",
        description="a: additive (A.1.2), fixed (RNNencdec, with encoder = forward), dot, general, window, recurrent, recurrent-scalar, "
        "coverage, coverage-neural",
    )
    readout: str = Field("maxout", description="maxout (A.2.2), tanh")
    wiring: Literal["eq4", "appendix", "released"] = Field("released", description="which states meet in the readout")
    decoder: Literal["forward", "backward", "bidirectional"] = Field(
        "forward", description="reads the target from left to right, from right to left, or one decoder each over one encoder"
    )
    embedding_size: Positive = Field(620, description="m")
    hidden_size: Positive = Field(1000, description="n, of the decoder and of each encoder direction")
    encoder_size: Positive | None = Field(None, description="hidden units of each encoder direction, if not hidden_size")
    alignment_size: Positive = Field(1000, description="n', of the recurrent score d")
    maxout_size: Positive = Field(500, description="l")
    factored_output: bool = Field(False, description="l → m → K as the released implementation, instead of l → K as the paper")
    initialisation: Literal["paper", "glorot"] = Field("paper", description="B.1, or Glorot & Bengio 2010's variances")
    tie_output: bool = Field(False, description="one matrix for target embeddings and output layer (needs factored_output or l = m)")


class TrainingSettings(_Section):
    """The procedure (appendix B); everything that later practice added is off by default."""

    max_length: Positive = Field(50, description="both sides at most this many words or pieces, end of sentence not counted (4.2)")
    batch_size: Positive = Field(80, description="sentence pairs of one update (B.2)")
    batch_tokens: Positive | None = Field(None, description="instead: at most this many source or target positions, padding counted")
    length_multiple: Positive = Field(
        1, description="sentences are padded to a multiple of it: fewer shapes, for GPUs that repeat a graph per shape; padding costs time"
    )
    pool_batches: Positive = Field(20, description="batches cut from one length-sorted pool (B.2)")
    reshuffle: bool = Field(False, description="a new order every epoch; the paper shuffles once")
    accumulate: Positive = Field(1, description="batches whose gradients are summed for one update")
    optimiser: Literal["adadelta", "adam", "adamw", "sgd"] = Field("adadelta", description="Adadelta (B.2), or a later one")
    learning_rate: float = Field(1.0, gt=0, description="factor of every step; 1 for Adadelta, which has none")
    rho: Probability = Field(0.95, description="Adadelta's decay (B.2)")
    epsilon: float = Field(1e-6, gt=0, description="Adadelta's (B.2) or Adam's")
    betas: tuple[Probability, Probability] = Field((0.9, 0.999), description="Adam's decays")
    weight_decay: float = Field(0.0, ge=0, description="of the optimiser")
    schedule: Literal["constant", "inverse_sqrt", "cosine", "linear"] = Field("constant", description="of the learning rate after warm-up")
    warmup: int = Field(0, ge=0, description="updates over which the learning rate rises from 0")
    clip_norm: float = Field(1.0, ge=0, description="largest L2 norm of a gradient (B.2); 0 = never clip")
    dropout_embedding: Probability = Field(0.0, description="on the embeddings of both sides")
    dropout_recurrent: Probability = Field(0.0, description="one mask a sequence on the states inside the recurrences (Gal & Ghahramani)")
    dropout_readout: Probability = Field(0.0, description="on t, the hidden layer of the output")
    label_smoothing: Probability = Field(0.0, description="share of the reference distribution that is spread over all words")
    alignment_loss: Literal["none", "cross-entropy", "squared", "product"] = Field(
        "none", description="second loss that pulls α towards the corpus's word links: −Σ a log α, Σ (a − α)², −log Σ a α"
    )
    alignment_weight: float = Field(1.0, ge=0, description="factor of the alignment loss, which is summed over words as the NLL is")
    alignment_annealing: int = Field(0, ge=0, description="updates over which alignment_weight becomes alignment_final_weight; 0 = never")
    alignment_final_weight: float = Field(0.0, ge=0, description="factor of the alignment loss after the annealing")
    alignment_forcing: Literal["none", "known", "mixed"] = Field(
        "none", description="contexts made of the word links instead of α in training: never, always, or in a share of the sentences"
    )
    alignment_forcing_probability: Probability = Field(0.5, description="of each sentence, with alignment_forcing = mixed")
    average_decay: Probability = Field(0.0, description="exponential average of the weights, used for validation and the saved model")
    precision: Literal["float32", "bfloat16"] = Field("float32", description="of the matrix products; states and weights stay float32")
    processes: Positive = Field(
        1, description="that share each batch's pairs and the parameters, on one machine without a GPU; other rounding"
    )
    threads: int = Field(0, ge=0, description="processor threads of each process; 0 = as many as there are cores for it")
    device: str = Field("cpu", description="cpu, cuda or cuda:N")
    seed: Seed = Field(1, description="of the first weights, dropout and the order of batches")
    max_updates: int = Field(0, ge=0, description="stop after this many updates; 0 = no such limit")
    max_epochs: float = Field(0.0, ge=0, description="stop after this many passes over the corpus; 0 = no such limit")
    max_minutes: float = Field(0.0, ge=0, description="stop after this much training time, validation included; 0 = no such limit")
    patience: int = Field(0, ge=0, description="stop after this many validations without a better score; 0 = never")
    validate_every: Positive = Field(1000, description="updates")
    validate_beam: Positive = Field(1, description="beam of the development translations")
    validate_bleu: bool = Field(True, description="translate the development set too, not only its NLL")
    select_by: Literal["bleu", "nll"] = Field("bleu", description="development score that decides which checkpoint is best")
    samples: int = Field(3, ge=0, description="development translations shown at each validation")
    save_every: Positive = Field(500, description="updates between checkpoints to resume from")


class SearchSettings(_Section):
    """Beam search; the defaults are the paper's plain search for the most probable translation."""

    beam: Positive = Field(12, description="hypotheses kept of a sentence")
    nbest: Positive = Field(1, description="translations returned of a sentence")
    batch_size: Positive = Field(64, description="sentences translated together")
    precision: Literal["float32", "bfloat16", "int8"] = Field(
        "float32", description="of the matrix products; scores and states stay float32"
    )
    normalise: Literal["none", "length", "gnmt"] = Field(
        "none", description="score / words, or GNMT's ((5+words)/6)^alpha; at the final choice"
    )
    length_alpha: float = Field(0.6, ge=0, description="GNMT's exponent")
    coverage_beta: float = Field(0.0, ge=0, description="weight of GNMT's coverage penalty at the final choice")
    frequent_candidates: int = Field(100, ge=0, description="with a lexical table: the target's first words are always candidates, so many")
    candidates_per_word: Positive = Field(50, description="with a lexical table: best translations of a source word that are candidates")
    no_unk: bool = Field(False, description="never write UNK (Table 1's last column)")
    min_length_ratio: float = Field(0.0, ge=0, le=100, description="no end of sentence before this share of |x| words (released: 0.5)")
    max_length_ratio: float = Field(3.0, gt=0, le=100, description="at most this many times |x| words")
    replace_unk: bool = Field(False, description="write the strongest aligned source word, or its dictionary entry, for UNK")


class Settings(_Section):
    """Everything that decides what a run becomes: the sections of a recipe."""

    data: DataSettings = DataSettings()
    model: ModelSettings = ModelSettings()
    training: TrainingSettings = TrainingSettings()
    search: SearchSettings = SearchSettings()

    @model_validator(mode="after")
    def _fits_together(self) -> Settings:
        model, training, search = self.model, self.training, self.search
        if model.tie_output and not model.factored_output and model.maxout_size != model.embedding_size:
            raise ValueError("model.tie_output needs model.factored_output = true, or model.maxout_size = model.embedding_size")
        if model.alignment == "fixed" and not training.alignment_loss == training.alignment_forcing == "none":
            raise ValueError('model.alignment = "fixed" learns no alignment: training.alignment_loss and alignment_forcing must be "none"')
        if search.precision == "int8" and training.device != "cpu":
            raise ValueError(f'search.precision = "int8" is for processors, and training.device = "{training.device}"')
        if search.nbest > search.beam:
            raise ValueError(f"search.nbest = {search.nbest} is more than search.beam = {search.beam}")
        return self

    def save(self, path: Path) -> None:
        """Writes the resolved settings as TOML."""
        path.write_text(tomli_w.dumps(self.model_dump(exclude_none=True)), encoding="utf-8")


def changed(settings: SearchSettings, overrides: dict[str, Any]) -> SearchSettings:
    """Search settings with some values changed; raises InputError for an unknown name or a value that does not fit."""
    return validated({"search": settings.model_dump() | overrides}, "search settings").search


def recipe_names() -> list[str]:
    """The recipes that come with the package."""
    folder = resources.files("rnnsearch") / "recipes"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load_config(recipe: str | Path = "", overrides: list[str] | tuple[str, ...] = ()) -> Settings:
    """Reads a built-in recipe (by name) or a TOML file, then applies `section.key=value` overrides.

    Raises InputError for a recipe that does not exist, text that is not TOML, an unknown key or a value that does not fit.
    """
    where, table = read_recipe(recipe)
    for override in overrides:
        apply_override(table, override)
    return validated(table, where)


def validated(table: dict[str, Any], where: str) -> Settings:
    """Settings of a table as TOML gives it; `where` is named in the InputError that an unknown key or a wrong value raises."""
    return checked(Settings, table, where, "see docs/reference/settings.md")


def checked(kind: type[Table], table: dict[str, Any], where: str, remedy: str) -> Table:
    """A table as TOML gives it, validated; its first fault becomes an InputError. remedy: for an unknown key."""
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise InputError(f"unknown setting {key}", file=where, remedy=remedy) from None
        message = first["msg"].removeprefix("Value error, ")
        raise InputError(f"{key}: {message}" if key else message, file=where) from None


def read_recipe(recipe: str | Path) -> tuple[str, dict[str, Any]]:
    """(what messages call it, its table) of a built-in recipe or a TOML file; "" is the empty recipe. Raises as `load_config`."""
    if not str(recipe):
        return "settings", {}
    path = Path(recipe)
    if path.suffix != ".toml" and not path.is_file():
        name = str(recipe).replace("*", "-star")  # the paper's RNNsearch-50*
        built_in = resources.files("rnnsearch") / "recipes" / f"{name}.toml"
        if not built_in.is_file():
            raise InputError(f"no recipe {str(recipe)!r}", remedy=f"name a TOML file or one of {', '.join(recipe_names())}")
        return f"recipe {recipe}", tomllib.loads(built_in.read_text(encoding="utf-8"))
    try:
        return str(path), tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is not TOML: {error}", file=path) from None


def apply_override(table: dict[str, Any], override: str) -> None:
    """Writes the value of `section.key=value` into the table. Raises InputError for anything that is not so written."""
    key, separator, text = override.partition("=")
    section, dot, name = key.strip().partition(".")
    if not separator or not dot:
        raise InputError(f"--set {override!r} is not section.key=value", remedy="for example --set model.hidden_size=512")
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    table.setdefault(section, {})
    if not isinstance(table[section], dict):
        raise InputError(f"--set {override!r}: {section} is not a section")
    table[section][name] = value
