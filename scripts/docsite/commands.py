"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer

from rnnsearch.cli import app

METAVARS = {int: "N", float: "X", Path: "PATH"}
"""What stands for a value whose option names nothing better."""


def commands_page() -> str:
    """A section for each command: what it does, how it is called, its arguments and options, an example."""
    group: Any = typer.main.get_command(app)
    context = group.make_context("rnnsearch", ["--help"], resilient_parsing=True)
    commands = {name: group.get_command(context, name) for name in group.list_commands(context)}
    listed = "\n".join(
        f"| [`{name}`](#rnnsearch-{name}) | {escaped(first_line(command))} |"
        for name, command in commands.items()
    )
    sections = [section(name, command, context) for name, command in commands.items() if not command.hidden]
    everywhere = table(
        [
            parameter
            for parameter in group.params
            if parameter.name not in ("install_completion", "show_completion")
        ]
    )
    common = f"## Options of all commands\n\n{everywhere}"
    return "\n\n".join([f"| command | does |\n|---|---|\n{listed}", *sections, common])


def section(name: str, command: Any, parent: Any) -> str:
    context = type(parent)(command, info_name=name, parent=parent, resilient_parsing=True)
    usage = (
        " ".join(["rnnsearch", name, *command.collect_usage_pieces(context)])
        .replace("{", "")
        .replace("}...", "")
    )
    everywhere = {"quiet", "debug", "help"}
    own = [
        parameter
        for parameter in command.params
        if parameter.name not in everywhere and not getattr(parameter, "hidden", False)
    ]
    parts = [
        f"## rnnsearch {name} {{ #rnnsearch-{name} }}",
        described(command.help or ""),
        f"```sh\n{usage}\n```",
    ]
    if own:
        parts.append(table(own))
    if command.epilog:
        parts.append(f"Example:\n\n```sh\n{command.epilog.removeprefix('Example: ')}\n```")
    return "\n\n".join(parts)


def table(parameters: list[Any]) -> str:
    rows = [row(parameter) for parameter in parameters]
    return "\n".join(["| | | default |", "|---|---|---|", *rows])


def row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = f"`{parameter.metavar or parameter.name.upper()}`"
    else:
        value = (
            ""
            if parameter.is_flag
            else f" {parameter.metavar or METAVARS.get(parameter.type_descriptor.annotation, 'TEXT')}"
        )
        name = ", ".join([*(f"`{option}`" for option in parameter.opts[1:]), f"`{parameter.opts[0]}{value}`"])
    return f"| {name} | {escaped(parameter.help or '')} | {default_of(parameter)} |"


def default_of(parameter: Any) -> str:
    if parameter.required:
        return "required"
    default = parameter.default
    if (
        default is None
        or default is False
        or default in ((), "")
        or "Sentinel" in type(default).__name__
        or callable(default)
    ):
        return ""
    return f"`{default}`"


def described(text: str) -> str:
    """A docstring, without its indentation."""
    return "\n".join(line.strip() for line in text.split("\n"))


def first_line(command: Any) -> str:
    return re.split(r"[;:] |(?<!al)\.(?: |$)", described(command.help or "").replace("\n", " "))[0]


def escaped(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
