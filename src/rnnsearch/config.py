"""Validated settings: defaults are the paper's; a recipe holds only what differs; an unknown key is an
error."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from rnnsearch.errors import InputError, did_you_mean
from rnnsearch.schema import meant
from rnnsearch.system.parsing import parse_toml, read_toml

LARGEST = 10**9
"""Largest count of sentences, words or updates that a setting may name, unless its own bound is smaller."""

Positive = Annotated[int, Field(gt=0, le=LARGEST)]
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Size = Annotated[int, Field(gt=0, le=100_000)]
Hypotheses = Annotated[int, Field(gt=0, le=1_000)]
Length = Annotated[int, Field(gt=0, le=100_000)]
Language = Annotated[str, Field(pattern=r"^[\w-]{0,40}$")]
Probability = Annotated[float, Field(ge=0.0, lt=1.0)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Table = TypeVar("Table", bound=BaseModel)


class _Section(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", validate_assignment=True, frozen=True, allow_inf_nan=False
    )


class DataSettings(_Section):
    """How text becomes token ids. `rnnsearch prepare` uses these settings; afterwards they are fixed for the
    corpus and its runs."""

    source_language: Language = Field("en", description="language code of the source, for the tokeniser")
    target_language: Language = Field("fr", description="language code of the target, for the tokeniser")
    tokeniser: Literal["moses", "space"] = Field(
        "moses", description="Moses's tokeniser, or text that is already split by spaces"
    )
    lowercase: bool = Field(False, description="lowercase all words; translations are then lowercase too")
    subwords: Literal["none", "unigram", "bpe"] = Field(
        "none", description="split words into sentencepiece subwords of this kind, or not"
    )
    vocabulary_size: Positive = Field(
        30_000,
        description="number of most frequent words of each language (the shortlist of Sec. 4.1); with "
        "subwords, number of subwords",
    )
    minimum_count: Positive = Field(
        1, description="a word must occur at least this often to enter the vocabulary"
    )
    max_words: Length = Field(200, description="drop pairs with more words than this on either side")
    max_ratio: float = Field(
        9.0,
        ge=0,
        description="drop pairs if one side has more than this many times the words of the other; 0 = never",
    )
    drop_identical: bool = Field(False, description="drop pairs whose two sides have the same words")
    drop_duplicates: bool = Field(False, description="drop repeated pairs, all but the first")
    drop_control_characters: bool = Field(
        False, description="drop pairs that contain a control character; otherwise it is replaced by a space"
    )
    entities: Literal["keep", "resolve", "drop"] = Field(
        "keep", description="HTML entities such as &amp;: keep them, decode them, or drop the pair"
    )
    french_elisions: bool = Field(
        False,
        description="repair the French lines of training text: qu' il → qu'il, ’ → ', cur → cœur, Quoi? → "
        "Quoi ?; "
        "translation leaves its input as it is",
    )
    language_certainty: float = Field(
        0.0,
        ge=0,
        le=1,
        description="drop pairs if a side is in another language with at least this probability, for "
        "example 0.9; 0 = never; "
        "needs the extra `language`",
    )
    seed: Seed = Field(1, description="random seed of the shuffle of the training pairs (B.2)")

    @field_validator("max_ratio")
    @classmethod
    def _keeps_some(cls, ratio: float) -> float:
        if 0 < ratio < 1:
            raise ValueError("a ratio is at least 1, or 0 to drop no pair")
        return ratio


class ModelSettings(_Section):
    """The network (appendix A), with the sizes of A.2.3. For each part, name a built-in one or your own
    `package.module:Class`."""

    cell: str = Field("gated", description="recurrent unit f: gated (A.1.1), lstm, tanh")
    encoder: str = Field(
        "bidirectional", description="encoder: bidirectional (3.2), forward, embedding, embedding-position"
    )
    alignment: str = Field(
        "additive",
        description="alignment model a: additive (A.1.2), fixed (RNNencdec, with encoder = forward), dot, "
        "general, window, recurrent, "
        "recurrent-scalar, coverage, coverage-neural",
    )
    readout: str = Field("maxout", description="hidden layer before the output: maxout (A.2.2), tanh")
    wiring: Literal["eq4", "appendix", "released"] = Field(
        "released",
        description="decoder variant: which state and context predict y_i (Eq. 4, appendix A.2.2, or the "
        "authors' released code)",
    )
    decoder: Literal["forward", "backward", "bidirectional"] = Field(
        "forward",
        description="direction in which the target is read and written; bidirectional = one decoder for "
        "each direction",
    )
    embedding_size: Size = Field(620, description="m, size of a word embedding")
    hidden_size: Size = Field(
        1000, description="n, hidden units of the decoder and of each encoder direction"
    )
    encoder_size: Size | None = Field(
        None, description="hidden units of each encoder direction, if different from hidden_size"
    )
    alignment_size: Size = Field(
        1000, description="n', hidden units of the alignment model; with recurrent, the size d of its state"
    )
    maxout_size: Size = Field(500, description="l, maxout units")
    factored_output: bool = Field(
        False,
        description="output layer l → m → K, as in the authors' released code; otherwise l → K, as in the "
        "paper",
    )
    initialisation: Literal["paper", "glorot"] = Field(
        "paper", description="initial weights: as in B.1, or with the variances of Glorot & Bengio 2010"
    )
    tie_output: bool = Field(
        False,
        description="share one matrix between target embeddings and output layer; needs factored_output or "
        "maxout_size = embedding_size",
    )


class TrainingSettings(_Section):
    """How the network is trained (appendix B). Whatever the paper did not use is off by default."""

    max_length: Length = Field(
        50,
        description="train on pairs with at most this many words (or subwords) on both sides, the end of "
        "sentence not counted (4.2)",
    )
    batch_size: int = Field(80, gt=0, le=100_000, description="sentence pairs in a batch (B.2)")
    batch_tokens: Positive | None = Field(
        None,
        description="limit batches by tokens instead: at most this many source or target positions, "
        "padding included",
    )
    length_multiple: int = Field(
        1,
        gt=0,
        le=1_024,
        description="pad sentences to a multiple of this length, so that a GPU meets fewer shapes; padding "
        "costs time",
    )
    pool_batches: int = Field(
        20, gt=0, le=100_000, description="batches that are sorted by length together (B.2)"
    )
    reshuffle: bool = Field(
        False, description="shuffle the pairs again in every epoch; the paper shuffles once"
    )
    accumulate: int = Field(
        1, gt=0, le=10_000, description="batches whose gradients are summed for one update"
    )
    optimiser: Literal["adadelta", "adam", "adamw", "sgd"] = Field(
        "adadelta", description="optimiser; the paper uses Adadelta (B.2)"
    )
    learning_rate: float = Field(
        1.0, gt=0, description="learning rate; keep 1 for Adadelta, which has none of its own"
    )
    rho: Probability = Field(0.95, description="ρ, decay of Adadelta's averages (B.2)")
    epsilon: float = Field(1e-6, gt=0, description="ε of Adadelta (B.2) or Adam")
    betas: tuple[Probability, Probability] = Field((0.9, 0.999), description="β₁ and β₂ of Adam")
    weight_decay: float = Field(0.0, ge=0, description="weight decay of the optimiser")
    schedule: Literal["constant", "inverse_sqrt", "cosine", "linear"] = Field(
        "constant", description="learning rate schedule after warm-up"
    )
    warmup: Count = Field(0, description="updates in which the learning rate rises linearly from 0")
    clip_norm: float = Field(
        1.0, ge=0, description="clip the L2 norm of the gradient to this value (B.2); 0 = never"
    )
    dropout_embedding: Probability = Field(
        0.0, description="dropout probability of the embeddings of both sides"
    )
    dropout_recurrent: Probability = Field(
        0.0,
        description="dropout probability of the recurrent states, with one mask per sequence (Gal & "
        "Ghahramani 2016)",
    )
    dropout_readout: Probability = Field(
        0.0, description="dropout probability of t, the hidden layer before the output"
    )
    sampled_softmax: Count = Field(
        0,
        description="train with a softmax over this many target words, including those of the next "
        "sentences, instead of all words "
        "(Jean et al. 2015); 0 = all words",
    )
    label_smoothing: Probability = Field(
        0.0, description="probability mass that is moved from the reference word to all words"
    )
    alignment_loss: Literal["none", "cross-entropy", "squared", "product"] = Field(
        "none",
        description="second loss that teaches α the word links of the corpus: −Σ a log α, Σ (a − α)², or "
        "−log Σ a α",
    )
    alignment_weight: float = Field(
        1.0, ge=0, description="factor of the alignment loss, which is summed over words like the NLL"
    )
    alignment_annealing: Count = Field(
        0,
        description="updates in which the factor changes linearly from alignment_weight to "
        "alignment_final_weight; 0 = never",
    )
    alignment_final_weight: float = Field(
        0.0, ge=0, description="factor of the alignment loss after alignment_annealing updates"
    )
    alignment_forcing: Literal["none", "known", "mixed"] = Field(
        "none",
        description="compute contexts from the word links instead of α during training: never, always, or "
        "for some sentences",
    )
    alignment_forcing_probability: Probability = Field(
        0.5, description="probability that a sentence uses its word links, with alignment_forcing = mixed"
    )
    average_decay: Probability = Field(
        0.0,
        description="decay of an exponential average of the weights, which is then validated and saved; 0 "
        "= no average",
    )
    precision: Literal["float32", "bfloat16"] = Field(
        "float32", description="number format of the matrix products; states and weights are always float32"
    )
    kernels: bool = Field(
        True,
        description="use the faster versions of model and loss (package rnnsearch.kernels); false: plain "
        "PyTorch, slower, in float32",
    )
    processes: int = Field(
        1,
        gt=0,
        le=256,
        description="worker processes on this machine's CPU that share each batch; changes rounding and "
        "dropout masks; "
        "torchrun sets the number otherwise",
    )
    exchange_timeout: float = Field(
        600.0,
        gt=0,
        le=1e6,
        description="seconds after which a process that does not answer the others ends the training",
    )
    threads: int = Field(
        0,
        ge=0,
        le=1_024,
        description="CPU threads of each process; 0 = divide all cores among the processes, fewer while "
        "that is clearly faster",
    )
    device: str = Field("cpu", description="device: cpu, cuda or cuda:N")
    seed: Seed = Field(1, description="random seed of initial weights, dropout and the order of batches")
    max_updates: Count = Field(0, description="stop after this many updates; 0 = no limit")
    max_epochs: float = Field(0.0, ge=0, le=LARGEST, description="stop after this many epochs; 0 = no limit")
    max_minutes: float = Field(
        0.0, ge=0, le=LARGEST, description="stop after this many minutes, validation included; 0 = no limit"
    )
    patience: Count = Field(
        0, description="stop after this many validations without a better score; 0 = never"
    )
    validate_every: Positive = Field(1000, description="updates between validations")
    validate_beam: Hypotheses = Field(1, description="beam size for translating the development set")
    validate_bleu: bool = Field(
        True, description="at a validation, also translate the development set and compute its BLEU"
    )
    select_by: Literal["bleu", "nll"] = Field(
        "bleu", description="development score that decides which weights are the best"
    )
    samples: int = Field(3, ge=0, le=1_000, description="development translations shown at each validation")
    save_every: Positive = Field(500, description="updates between checkpoints")


class SearchSettings(_Section):
    """Beam search. The default is the paper's search for the most probable translation."""

    beam: Hypotheses = Field(12, description="beam size: hypotheses per sentence")
    nbest: Hypotheses = Field(1, description="translations returned per sentence")
    batch_size: int = Field(64, gt=0, le=10_000, description="sentences translated together")
    max_source_length: int = Field(
        400,
        ge=10,
        le=5_000,
        description="maximum length of a source, in words or subwords; a longer line is split at ends of "
        "sentences and translated in parts",
    )
    precision: Literal["float32", "bfloat16", "int8"] = Field(
        "float32", description="number format of the matrix products; scores and states are always float32"
    )
    kernels: bool = Field(
        True,
        description="use the faster versions of model and search (package rnnsearch.kernels); false: plain "
        "PyTorch, slower, in float32",
    )
    normalise: Literal["none", "length", "gnmt"] = Field(
        "none",
        description="length normalisation of the final scores: none, by the number of words, or by GNMT's "
        "((5 + words) / 6)^alpha",
    )
    length_alpha: float = Field(0.6, ge=0, description="alpha of normalise = gnmt")
    coverage_beta: float = Field(
        0.0, ge=0, description="weight of GNMT's coverage penalty in the final scores"
    )
    lexical_shortlist_frequent: Count = Field(
        100,
        description="with a lexical shortlist: number of most frequent target words that are always in it",
    )
    lexical_shortlist_per_word: Positive = Field(
        50, description="with a lexical shortlist: number of translations that each source word adds to it"
    )
    no_unk: bool = Field(False, description="never write UNK (the last column of Table 1)")
    min_length_ratio: float = Field(
        0.0,
        ge=0,
        le=100,
        description="least length of a translation, relative to the source (released code: 0.5)",
    )
    max_length_ratio: float = Field(
        3.0, gt=0, le=100, description="greatest length of a translation, relative to the source"
    )
    replace_unk: bool = Field(
        False,
        description="replace each UNK by the source word with the greatest attention weight, or by that "
        "word's dictionary entry",
    )
    faithful: bool = Field(
        False,
        description="copy numbers and addresses from the source; replace words that never occur in the "
        "training's target text as UNK is replaced",
    )
    confidence: tuple[Annotated[float, Field(gt=0, le=100)], Annotated[float, Field(ge=-100, le=100)]] = (
        Field(
            (1.0, 0.0),
            description="slope and bias of the map from a word's probability to its confidence, as "
            "`rnnsearch calibrate` fits them",
        )
    )


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
            raise ValueError(
                "model.tie_output needs model.factored_output = true, or model.maxout_size = "
                "model.embedding_size"
            )
        if model.alignment == "fixed" and not training.alignment_loss == training.alignment_forcing == "none":
            raise ValueError(
                'model.alignment = "fixed" learns no alignment: training.alignment_loss and '
                'alignment_forcing must be "none"'
            )
        if search.precision == "int8" and training.device != "cpu":
            raise ValueError(
                f'search.precision = "int8" needs a CPU, but training.device = "{training.device}"'
            )
        if search.nbest > search.beam:
            raise ValueError(f"search.nbest = {search.nbest} is more than search.beam = {search.beam}")
        return self


def changed(settings: SearchSettings, overrides: dict[str, Any]) -> SearchSettings:
    """Returns the search settings with some values changed. Raises InputError for an unknown name or a value
    that does not fit."""
    return validated({"search": settings.model_dump() | overrides}, "search settings").search


def recipe_names() -> list[str]:
    """Lists the recipes that come with the package."""
    folder = resources.files("rnnsearch") / "recipes"
    return sorted(
        entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")
    )


def load_config(recipe: str | Path = "", overrides: list[str] | tuple[str, ...] = ()) -> Settings:
    """Reads a built-in recipe (by name) or a TOML file, then applies `section.key=value` overrides.

    Raises InputError for a recipe that does not exist, text that is not TOML, an unknown key or a value that
    does not fit.
    """
    where, table = read_recipe(recipe)
    for override in overrides:
        apply_override(table, override)
    return validated(table, where)


def validated(table: dict[str, Any], where: str) -> Settings:
    """Returns the settings of a table as TOML gives it. Raises InputError for an unknown key or a wrong
    value; where: the file or recipe that the message names."""
    return checked(Settings, table, where, "`rnnsearch settings` lists them all")


def checked(kind: type[Table], table: dict[str, Any], where: str, remedy: str) -> Table:
    """Validates a table as TOML gives it. Raises InputError for its first fault. remedy: what the message on
    an unknown key says after the likely one."""
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "extra_forbidden":
            likely = meant(kind, [str(part) for part in first["loc"]])
            raise InputError(
                f"unknown setting {'.'.join(map(str, first['loc']))}",
                file=where,
                remedy=f"{likely} {remedy}".strip(),
            ) from None
        raise InputError(first_fault(error), file=where) from None


def first_fault(error: ValidationError) -> str:
    """Returns the first fault that pydantic has found, as `key: message`."""
    first = error.errors(include_url=False, include_input=False)[0]
    key, message = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
    return f"{key}: {message}" if key else message


def read_recipe(recipe: str | Path) -> tuple[str, dict[str, Any]]:
    """Returns the name for messages and the table of a built-in recipe or a TOML file; "" is the empty
    recipe. Raises as `load_config`."""
    if not str(recipe):
        return "settings", {}
    path = Path(recipe)
    if path.suffix != ".toml" and not path.is_file():
        name = str(recipe).replace("*", "-star")  # the paper's RNNsearch-50*
        built_in = resources.files("rnnsearch") / "recipes" / f"{name}.toml"
        if not built_in.is_file():
            names = f"name a TOML file or one of {', '.join(recipe_names())}"
            raise InputError(
                f"no recipe {str(recipe)!r}", remedy=f"{did_you_mean(name, recipe_names())} {names}".strip()
            )
        return f"recipe {recipe}", parse_toml(built_in.read_text(encoding="utf-8"))
    try:
        return str(path), read_toml(path)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    except ValueError as error:
        raise InputError(f"is not TOML: {error}", file=path) from None


def apply_override(table: dict[str, Any], override: str) -> None:
    """Writes the value of `section.key=value` into the table. Raises InputError for anything that is not so
    written."""
    key, separator, text = override.partition("=")
    key = key.strip()
    section, dot, name = key.partition(".")
    if not separator or not dot:
        likely = meant(Settings, [section]) if separator else ""
        raise InputError(
            f"--set {override!r} is not section.key=value",
            remedy=likely or "for example --set model.hidden_size=512",
        )
    try:
        value = parse_toml(f"value = {text.strip()}")["value"]
    except ValueError:
        value = text.strip()
    table.setdefault(section, {})
    if not isinstance(table[section], dict):
        raise InputError(f"--set {override!r}: {section} is not a section")
    table[section][name] = value
