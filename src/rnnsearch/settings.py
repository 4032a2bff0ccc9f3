"""The tables of settings. Defaults are the paper's; a key has its description below it."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

LARGEST = 10**9
"""Largest count of sentences, words or updates that a setting may name, unless its own bound is
smaller."""


Positive = Annotated[int, Field(gt=0, le=LARGEST)]
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Size = Annotated[int, Field(gt=0, le=100_000)]
Hypotheses = Annotated[int, Field(gt=0, le=1_000)]
Language = Annotated[str, Field(pattern=r"^[\w-]{0,40}$")]
Amount = Annotated[float, Field(ge=0)]
Probability = Annotated[float, Field(ge=0.0, lt=1.0)]
Seed = Annotated[int, Field(ge=0, le=10**18)]


class _Section(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_value(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuses true for a number: pydantic reads it as 1."""
        default = cls.model_fields[str(info.field_name)].default
        if isinstance(value, bool) and not isinstance(default, bool):
            raise ValueError("true and false are no values of it")
        return value


class DataSettings(_Section):
    """Settings of the way from text to token ids. `rnnsearch prepare` uses these settings;
    afterwards they are fixed for the corpus and its runs."""

    source_language: Language = "en"
    """language code of the source, for the tokeniser; text without spaces (zh, ja, th, lo, km, my,
    bo) is split into subwords or, without subwords, characters"""
    target_language: Language = "fr"
    """language code of the target, for the tokeniser"""
    tokeniser: Literal["moses", "space"] = "moses"
    """Moses's tokeniser, or text that is already split by spaces"""
    unicode: Literal["normalise", "keep"] = "normalise"
    """write each character in one way, in all text that is read: Unicode's NFC, and no ligatures,
    full-width letters, unusual spaces and hyphens, soft hyphens and invisible marks; or keep them
    as they are"""
    lowercase: bool = False
    """lowercase all words; translations are then lowercase too"""
    subwords: Literal["none", "unigram", "bpe"] = "none"
    """split words into sentencepiece subwords of this kind, or not"""
    vocabulary_size: Positive = 30_000
    """number of most frequent words of each language (the shortlist of Sec. 4.1); with subwords,
    number of subwords"""
    minimum_count: Positive = 1
    """a word must occur at least this often to enter the vocabulary"""
    max_words: Size = 200
    """drop pairs with more words than this on either side; text without spaces has a word per 1.5
    (Chinese) to 4 (Thai) characters, here and in max_ratio"""
    max_ratio: Amount = 9.0
    """drop pairs if one side has more than this many times the words of the other; 0 = never"""
    drop_identical: bool = False
    """drop pairs whose two sides have the same words"""
    drop_duplicates: bool = False
    """drop repeated pairs, all but the first"""
    french_elisions: bool = False
    """repair the French lines of training text: qu' il → qu'il, ’ → ', cur → cœur, Quoi? → Quoi ?;
    translation mends elisions only, where `translation.faithful` is on"""
    seed: Seed = 1
    """random seed of the shuffle of the training pairs (B.2), and of the links that `links`
    makes"""


class ModelSettings(_Section):
    """The network (appendix A), with the sizes of A.2.3. For each part, name a built-in one or your
    own `package.module:Class`."""

    cell: str = "gated"
    """recurrent unit f: gated (A.1.1), lstm, tanh"""
    encoder: str = "bidirectional"
    """encoder: bidirectional (3.2), forward, embedding, embedding-position"""
    alignment: str = "additive"
    """alignment model a: additive (A.1.2), fixed (RNNencdec, with encoder = forward), dot, general,
    window, recurrent, recurrent-scalar, coverage, coverage-neural"""
    readout: str = "maxout"
    """hidden layer before the output: maxout (A.2.2), tanh"""
    wiring: Literal["eq4", "appendix", "released"] = "released"
    """decoder variant: which state and context predict y_i (Eq. 4, appendix A.2.2, or the authors'
    released code)"""
    decoder: Literal["forward", "backward", "bidirectional"] = "forward"
    """direction in which the target is read and written; bidirectional = one decoder for each
    direction"""
    embedding_size: Size = 620
    """m, size of a word embedding"""
    hidden_size: Size = 1000
    """n, hidden units of the decoder and of each encoder direction"""
    encoder_size: Size | None = None
    """hidden units of each encoder direction, if different from hidden_size"""
    alignment_size: Size = 1000
    """n', hidden units of the alignment model; with recurrent, the size d of its state"""
    maxout_size: Size = 500
    """l, maxout units"""
    factored_output: bool = False
    """output layer l → m → K, as in the authors' released code; otherwise l → K, as in the paper"""
    initialisation: Literal["paper", "glorot"] = "paper"
    """initial weights: as in B.1, or with the variances of Glorot & Bengio 2010"""
    tie_output: bool = False
    """share one matrix between target embeddings and output layer; needs factored_output or
    maxout_size = embedding_size"""


class TrainingSettings(_Section):
    """Settings of an update: batches, random seed, and how it is computed. Whatever the paper did
    not use is off by default."""

    max_length: Size = 50
    """train on pairs with at most this many words (or subwords) on both sides, the end of sentence
    not counted (4.2)"""
    batch_size: Size = 80
    """sentence pairs in a batch (B.2)"""
    batch_tokens: Positive | None = None
    """limit batches by tokens instead: at most this many source or target positions, padding
    included"""
    pool_batches: Size = 20
    """batches that are sorted by length together (B.2)"""
    reshuffle: bool = False
    """shuffle the pairs again in every epoch; the paper shuffles once"""
    accumulate: int = Field(1, gt=0, le=10_000)
    """batches whose gradients are summed for one update; at most those of an epoch"""
    seed: Seed = 1
    """random seed of initial weights, dropout and the order of batches"""
    device: str = "cpu"
    """device: cpu, cuda or cuda:N"""
    precision: Literal["float32", "bfloat16", "fastest"] = "float32"
    """number format of the matrix products; states and weights are always float32; fastest:
    bfloat16 where its products are faster, else float32"""
    threads: int = Field(0, ge=0, le=1_024)
    """CPU threads of each rank; 0 = divide all cores among the ranks of this machine, fewer if
    that is clearly faster when training begins; a resumed run keeps their number"""
    kernels: bool = True
    """use the faster versions of model and loss (package rnnsearch.kernels); false: plain PyTorch,
    slower, in float32"""
    frozen: tuple[str, ...] = ()
    """parameters that keep their weights, by the beginnings of their names, as in ["encoder",
    "output"]"""
    capture: bool = False
    """on a GPU, record the work for each shape of batches as a CUDA graph, and repeat it; batches
    are padded to few shapes; not for several ranks"""


class OptimiserSettings(_Section):
    """The optimiser, its learning rate, and averaged weights (B.2)."""

    method: Literal["adadelta", "adam", "adamw", "sgd"] = "adadelta"
    """optimiser; the paper uses Adadelta (B.2)"""
    learning_rate: float = Field(1.0, gt=0)
    """learning rate; keep 1 for Adadelta, which has none of its own"""
    rho: Probability = 0.95
    """ρ, decay of Adadelta's averages (B.2)"""
    epsilon: float = Field(1e-6, gt=0)
    """ε of Adadelta (B.2) or Adam"""
    betas: tuple[Probability, Probability] = (0.9, 0.999)
    """β₁ and β₂ of Adam"""
    weight_decay: Amount = 0.0
    """weight decay of the optimiser"""
    schedule: Literal["constant", "inverse_sqrt", "cosine", "linear"] = "constant"
    """learning rate schedule after warm-up"""
    warmup: Count = 0
    """updates in which the learning rate rises linearly from 0"""
    clip_norm: Amount = 1.0
    """clip the L2 norm of the gradient to this value (B.2); 0 = never"""
    average_decay: Probability = 0.0
    """decay of an exponential average of the weights, which is then validated and saved; 0 = no
    average"""


class DropoutSettings(_Section):
    """Dropout and label smoothing. The paper uses neither."""

    embedding: Probability = 0.0
    """dropout probability of the embeddings of both sides"""
    recurrent: Probability = 0.0
    """dropout probability of the recurrent states, with one mask per sequence (Gal & Ghahramani
    2016)"""
    readout: Probability = 0.0
    """dropout probability of t, the hidden layer before the output"""
    label_smoothing: Probability = 0.0
    """probability mass that is moved from the reference word to all words"""


class KnownAlignmentSettings(_Section):
    """Learning from the word links of the corpus. The paper does not."""

    loss: Literal["none", "cross-entropy", "squared", "product"] = "none"
    """second loss that teaches α the word links of the corpus: −Σ a log α, Σ (a − α)², or −log Σ a
    α"""
    weight: Amount = 1.0
    """factor of the alignment loss, which is summed over words like the NLL"""
    annealing: Count = 0
    """updates in which the factor changes linearly from weight to final_weight; 0 = never"""
    final_weight: Amount = 0.0
    """factor of the alignment loss after `annealing` updates"""
    smoothing: Probability = 0.0
    """probability mass that the alignment loss moves from the links of a target word to all source
    positions of the sentence"""
    forcing: Literal["none", "known", "mixed"] = "none"
    """compute contexts from the word links instead of α during training: never, always, or for some
    sentences"""
    forcing_probability: Probability = 0.5
    """probability that a sentence uses its word links, with forcing = mixed"""


class StoppingSettings(_Section):
    """Limits of training, validation on the development set, and checkpoints."""

    max_updates: Count = 0
    """stop after this many updates; 0 = no limit"""
    max_epochs: float = Field(0.0, ge=0, le=LARGEST)
    """stop after this many epochs; 0 = no limit"""
    max_minutes: float = Field(0.0, ge=0, le=LARGEST)
    """stop after this many minutes, validation included; 0 = no limit"""
    patience: Count = 0
    """stop after this many validations without a better score; 0 = never"""
    validate_every: Positive = 1000
    """updates between validations"""
    validate_beam: Hypotheses = 1
    """beam size for translating the development set"""
    validate_bleu: bool = True
    """at a validation, also translate the development set and compute its BLEU, in the tokenisation
    of the target language"""
    validate_metric: str = ""
    """function of your own, as package.module:function, that scores the development translations at
    each validation: its arguments are the translations, references and sources, as lists of
    lines"""
    select_by: Literal["bleu", "nll", "metric"] = "bleu"
    """development score that decides which weights are the best, of the highest BLEU or
    validate_metric or the lowest NLL; NLL decides between equal scores"""
    samples: int = Field(3, ge=0, le=1_000)
    """development translations shown at each validation"""
    save_every: Positive = 500
    """updates between checkpoints"""


class SearchSettings(_Section):
    """Settings of beam search. The default is the paper's search for the most probable
    translation."""

    beam: Hypotheses = 12
    """beam size: hypotheses per sentence"""
    nbest: Hypotheses = 1
    """translations returned per sentence"""
    batch_size: int = Field(64, gt=0, le=10_000)
    """sentences translated together"""
    precision: Literal["float32", "bfloat16", "fastest", "int8"] = "float32"
    """number format of the matrix products; scores and states are always float32; fastest: as in
    training"""
    kernels: bool = True
    """use the faster versions of model and search (package rnnsearch.kernels); false: plain
    PyTorch, slower, in float32"""
    normalise: Literal["none", "length", "gnmt"] = "none"
    """length normalisation of the final scores: none, by the number of words, or by GNMT's ((5 +
    words) / 6)^alpha"""
    length_alpha: float = Field(0.6, ge=0, le=10)
    """alpha of normalise = gnmt"""
    coverage_beta: Amount = 0.0
    """weight of GNMT's coverage penalty in the final scores"""
    no_unk: bool = False
    """never write UNK (the last column of Table 1)"""
    min_length_ratio: float = Field(0.0, ge=0, le=100)
    """minimum length of a translation, relative to the source (released code: 0.5)"""
    max_length_ratio: float = Field(3.0, gt=0, le=100)
    """maximum length of a translation, relative to the source"""


class TranslationSettings(_Section):
    """Settings of what is done with a line before and after the search."""

    split_sentences: bool = True
    """translate each sentence of a line by itself, and join the translations (not with tokeniser =
    space); the paper's recipes translate whole lines"""
    max_source_length: int = Field(400, ge=10, le=5_000)
    """maximum length of a source, in words or subwords; a longer sentence is translated in parts"""
    replace_unk: bool = False
    """replace each UNK by the source word with the largest attention weight, or by that word's
    dictionary entry"""
    faithful: bool = False
    """copy numbers and addresses from the source; replace words that never occur in the training's
    target text as UNK is replaced"""
    confidence: tuple[
        Annotated[float, Field(gt=0, le=100)], Annotated[float, Field(ge=-100, le=100)]
    ] = (1.0, 0.0)
    """slope and bias of the map from a word's probability to its confidence, as
    scripts/fit_confidence.py fits them"""


class AlignSettings(_Section):
    """Settings of word links, for `align`."""

    posterior: bool = False
    """link words by the alignment posterior, which also uses the target word, instead of α"""
    exact: bool = False
    """use float32 products, and estimate nothing of the posterior: many times slower, with nearly
    the same links"""
    threshold: float | None = Field(None, ge=0, le=1)
    """link all word pairs with at least this weight; absent: link each target word to its source
    word of largest weight, or for symmetrise = product use 0.4"""
    symmetrise: Literal[
        "grow-diag-final-and", "grow-diag-final", "grow-diag", "grow", "intersection", "union",
        "forward", "reverse", "product",
    ] = "grow-diag-final-and"  # fmt: skip
    """how to symmetrise the links of two directions: as `rnnsearch links --forward` does, or the
    product of the weights of both"""
    words: Literal["tokenised", "given"] = "tokenised"
    """words that the links refer to: those of the tokeniser, or words as given (split at spaces)"""


class ShortOptions(TypedDict, total=False):
    """The settings that are also keyword arguments of `Translator.translate`."""

    beam: int
    nbest: int
    batch_size: int
    normalise: Literal["none", "length", "gnmt"]
    replace_unk: bool


class Sections(_Section):
    """Settings of which each is valid by itself."""

    data: DataSettings = DataSettings()
    model: ModelSettings = ModelSettings()
    training: TrainingSettings = TrainingSettings()
    optimiser: OptimiserSettings = OptimiserSettings()
    dropout: DropoutSettings = DropoutSettings()
    known_alignments: KnownAlignmentSettings = KnownAlignmentSettings()
    stopping: StoppingSettings = StoppingSettings()
    search: SearchSettings = SearchSettings()
    translation: TranslationSettings = TranslationSettings()
    align: AlignSettings = AlignSettings()


class Settings(Sections):
    """All settings of a run, which must fit together: the sections of a recipe."""

    @model_validator(mode="after")
    def _fits_together(self) -> Settings:
        model, known, search = self.model, self.known_alignments, self.search
        if self.stopping.select_by == "metric" and not self.stopping.validate_metric:
            raise ValueError('stopping.select_by = "metric" needs stopping.validate_metric')
        same_size = model.factored_output or model.maxout_size == model.embedding_size
        if model.tie_output and not same_size:
            raise ValueError(
                "model.tie_output needs model.factored_output = true, or model.maxout_size = "
                "model.embedding_size"
            )
        if model.alignment == "fixed" and not known.loss == known.forcing == "none":
            raise ValueError(
                'model.alignment = "fixed" learns no alignment: known_alignments.loss and '
                'known_alignments.forcing must be "none"'
            )
        if search.precision == "int8" and (device := self.training.device) != "cpu":
            what = 'search.precision = "int8" needs a CPU'
            raise ValueError(f'{what}, but training.device = "{device}"')
        for least, most in (("min_length_ratio", "max_length_ratio"), ("nbest", "beam")):
            low, high = getattr(search, least), getattr(search, most)
            if low > high:
                raise ValueError(f"search.{least} = {low} is more than search.{most} = {high}")
        return self
