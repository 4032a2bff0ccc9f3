"""Validated settings. Defaults are the paper's; a recipe has only the settings that differ; an
unknown key is an error. Descriptions of keys, and suggestions for unknown ones."""

from __future__ import annotations

import warnings
from collections.abc import Container, Iterator, Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import product
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from rnnsearch.arguments import given_texts, require
from rnnsearch.errors import InputError, InputWarning, did_you_mean
from rnnsearch.settings import Sections, Settings
from rnnsearch.system.files import parse_toml, read_toml, reading

RENAMED: dict[str, str] = {
    f"{before}.{old}": f"{after}.{new or old}"
    for before, after, keys in (
        ("training", "optimiser", "optimiser>method learning_rate rho epsilon betas weight_decay"),
        ("training", "optimiser", "schedule warmup clip_norm average_decay"),
        ("training", "dropout", "dropout_embedding>embedding dropout_recurrent>recurrent"),
        ("training", "dropout", "dropout_readout>readout label_smoothing"),
        ("training", "known_alignments", "alignment_loss>loss alignment_weight>weight"),
        ("training", "known_alignments", "alignment_annealing>annealing"),
        ("training", "known_alignments", "alignment_final_weight>final_weight"),
        ("training", "known_alignments", "alignment_smoothing>smoothing alignment_forcing>forcing"),
        ("training", "known_alignments", "alignment_forcing_probability>forcing_probability"),
        ("training", "stopping", "max_updates max_epochs max_minutes patience samples save_every"),
        ("training", "stopping", "validate_every validate_beam validate_bleu validate_metric"),
        ("training", "stopping", "select_by"),
        (
            "search",
            "translation",
            "split_sentences max_source_length replace_unk faithful confidence",
        ),
    )
    for old, _, new in (key.partition(">") for key in keys.split())
}
"""Setting of earlier versions → its name today. Everything that was written with the former is
still read."""

TRANSLATING = ("search", "translation")
"""Tables of settings that a translation may change."""
SHORT = {
    **{name: f"search.{name}" for name in ("beam", "nbest", "batch_size", "normalise")},
    "replace_unk": "translation.replace_unk",
}
"""Option of `Translator.translate` → its setting."""

BUILT_IN = {"recipe": "recipes", "study": "lab/studies"}
"""Kind of TOML file that comes with the package → its folder."""

Values = dict[str, Any]
"""Values by name, as in a TOML file."""
Tables = dict[str, Values]
"""The values of settings by section and key."""
Table = TypeVar("Table", bound=BaseModel)


def changed(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Returns the settings with some of TRANSLATING changed. changes: `section.key` → value. Raises
    InputError for an unknown setting, one without effect on translations, or an invalid value."""
    table = {name: getattr(settings, name).model_dump() for name in TRANSLATING}
    made = validated(merged(table, effective(nested(changes), TRANSLATING)), "search settings")
    return settings.model_copy(update={name: getattr(made, name) for name in TRANSLATING})


def with_short(changes: Mapping[str, Any], short: Mapping[str, Any]) -> Values:
    """Returns the changes, with those of options, by their names in SHORT. Raises InputError for an
    unknown name, and for a setting that is given twice."""
    result = dict(changes)
    for name, value in short.items():
        if name not in SHORT:
            tables = [table for table in TRANSLATING if name in dict(getattr(Sections(), table))]
            given = [f'give settings={{"{table}.{name}": …}}' for table in tables]
            remedy = "".join(given) or did_you_mean(name, SHORT)
            raise InputError(f"there is no option {name}", remedy)
        if SHORT[name] in changes:
            raise InputError(f"{name} and {SHORT[name]} are the same", "give one of them")
        result[SHORT[name]] = value
    return result


def nested(values: Mapping[str, Any]) -> Tables:
    """Returns section → key → value for `section.key` → value, with today's names."""
    table = Tables()
    for key, value in values.items():
        require("the name of a setting", key, str)
        section, _, name = key.partition(".")
        table.setdefault(section, {})[name] = value
    rename(None, table)
    return table


def rename(where: str | None, *tables: Any, said: bool = True) -> None:
    """Replaces the settings of RENAMED in tables of settings, in place, and issues an InputWarning
    about them if it is to be `said`.
    Raises InputError if the table has the new one, too. where: file in this message."""
    found = dict[str, None]()
    for table, (old, new) in product(tables, RENAMED.items()):
        (before, key), (after, name) = old.split("."), new.split(".")
        values = table.get(before) if isinstance(table, dict) else None
        if not isinstance(values, dict) or key not in values:
            continue
        others, what = table.setdefault(after, {}), f"{old} is now {new}"
        if not isinstance(others, dict):
            raise InputError(f"{after} is no table", f"write [{after}]", file=where)
        if name in others:
            raise InputError(f"{what}, and both are given", f"remove {old}", file=where)
        others[name] = values.pop(key)
        found[what] = None
    if found and said:
        warnings.warn("; ".join(found), InputWarning, stacklevel=2)


def merged(*tables: Values) -> Values:
    """Returns a table with the settings of all tables; those of later tables take precedence."""
    result = Values()
    for table in tables:
        for section, values in table.items():
            before = result.get(section, {})
            if isinstance(before, dict):
                result[section] = before | values if isinstance(values, dict) else values
    return result


def built_in(kind: str) -> dict[str, Traversable]:
    """Returns the recipes or the studies that come with the package, by name. kind: recipe or
    study."""
    entries = resources.files("rnnsearch").joinpath(BUILT_IN[kind]).iterdir()
    found = ((Path(entry.name), entry) for entry in entries)
    return dict(sorted((name.stem, entry) for name, entry in found if name.suffix == ".toml"))


def recipe_names() -> list[str]:
    """Lists the recipes that come with the package."""
    return list(built_in("recipe"))


def load_config(recipe: str | Path = "", overrides: Sequence[str] = ()) -> Settings:
    """Reads a built-in recipe (by name) or a TOML file, then applies `section.key=value` overrides.

    Raises InputError for a recipe that does not exist, text that is not TOML, an unknown key or an
    invalid value.
    """
    where, table = read_recipe(recipe)
    return validated(merged(table, read_overrides(given_texts(overrides, "overrides"))), where)


def validated(table: Values, where: str) -> Settings:
    """Returns the settings of a TOML table. Raises InputError for an unknown key or a wrong value.
    where: file or recipe in messages."""
    return checked(Settings, table, where, "`rnnsearch settings` lists them all")


def stored(table: Values, where: str) -> Settings:
    """Returns the settings in the config.toml of a run or model, of this version or earlier ones.
    Raises as `validated`."""
    rename(where, table, said=False)
    return validated(table, where)


def checked(kind: type[Table], table: Values, where: str | None, remedy: str) -> Table:
    """Validates a TOML table. Raises InputError for its first fault. remedy: advice in the message
    about an unknown key, after the suggested one."""
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] != "extra_forbidden":
            raise InputError(first_fault(error), file=where) from None
        key = [str(part) for part in first["loc"]]
        if len(key) == 1 and isinstance(inner := table.get(key[0]), dict):  # an unknown section
            key += [one for one in [*inner][:1] if one]
        remedy = f"{suggested_key(kind, key)} {remedy}".strip()
        raise InputError(f"unknown setting {'.'.join(key)}", remedy, file=where) from None


def first_fault(error: ValidationError) -> str:
    """Returns the first fault that pydantic has found, as `key: message`."""
    first = error.errors(include_url=False, include_input=False)[0]
    key, message = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
    message = message.replace("valid tuple", "valid list")  # as in TOML
    return f"{key}: {message}" if key else message


def read_recipe(recipe: str | Path) -> tuple[str, Values]:
    """Returns the name for messages and the table of a recipe; "" is the empty recipe. Raises as
    `load_config`."""
    where, table = read_named("recipe", recipe) if str(recipe) else ("settings", {})
    rename(where, table)
    return where, table


def read_named(kind: str, name: str | Path) -> tuple[str, Values]:
    """Returns the name for messages and the table of a TOML file, or of a built-in recipe or
    study."""
    require(f"the {kind}", name, str, Path)
    path = Path(name)
    with reading(path, "check the path", damaged="is not TOML"):
        if path.suffix == ".toml" or path.is_file():
            return str(path), read_toml(path)
        known, own = built_in(kind), str(name).replace("*", "-star")  # the paper's RNNsearch-50*
        if own not in known:
            remedy = f"{did_you_mean(own, known)} name a TOML file or one of {', '.join(known)}"
            raise InputError(f"no {kind} {str(name)!r}", remedy.strip())
        return f"{kind} {name}", parse_toml(known[own].read_text(encoding="utf-8"))


def overrides_of(overrides: Sequence[str], allowed: Container[str]) -> Tables:
    """Returns the values of `section.key=value` overrides by section and key. Raises InputError as
    `effective` does, and for an override of another form."""
    return effective(read_overrides(overrides), allowed)


def effective(table: Tables, allowed: Container[str]) -> Tables:
    """Returns the table. Raises InputError for an invalid value, an unknown key, and a setting
    without effect. allowed: sections, and `section.key`, that have one."""
    checked(Sections, table, None, "`rnnsearch settings` lists them")
    for section, values in table.items():
        for key in values:
            if section not in allowed and f"{section}.{key}" not in allowed:
                raise InputError(f"{section}.{key} has no effect here", "remove it")
    return table


def read_overrides(overrides: Sequence[str]) -> Tables:
    """Returns the values of `section.key=value` overrides by section and key; of two values of a
    key, the last. Raises InputError for an override of another form."""
    values = Values()
    for override in overrides:
        key, separator, text = (part.strip() for part in override.partition("="))
        section, dot, _ = key.partition(".")
        if not separator or not dot:
            known = section in Settings.model_fields  # a table, without its key
            likely = "" if known or not separator else suggested_key(Settings, [section])
            remedy = likely or "for example --set model.hidden_size=512"
            raise InputError(f"--set {override!r} is not section.key=value", remedy)
        try:
            values[key] = parse_toml(f"value = {text}")["value"]
        except ValueError:
            values[key] = text
    return nested(values)


def suggested_key(table: type[BaseModel], key: Sequence[str]) -> str:
    """Returns `did you mean 'model.hidden_size'?`, or the empty string if no key of the table
    resembles the unknown one. key: the parts of the unknown key."""
    name, paths = ".".join(key), list(_paths(table, key))
    same = [path for path in paths if path.rpartition(".")[2] == key[-1]]
    if same:
        return did_you_mean(name, same) or f"did you mean '{same[0]}'?"
    return did_you_mean(name, paths)


def _paths(annotation: Any, key: Sequence[str]) -> Iterator[str]:
    """Yields every key of a table and of the tables in it; of a dictionary of tables, those of the
    one that `key` names."""
    if get_origin(annotation) is dict:
        for name in key[:1]:
            yield from (f"{name}.{path}" for path in _paths(get_args(annotation)[1], key[1:]))
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            yield name
            yield from (f"{name}.{path}" for path in _paths(field.annotation, key[1:]))
