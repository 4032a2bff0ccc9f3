"""MkDocs' configuration. Nothing is fetched: no web fonts of the theme, no analytics, no social cards,
formulas as MathML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mathml
from pymdownx.slugs import slugify
from sources import ROOT

TOGGLES = [
    {
        "media": "(prefers-color-scheme: light)",
        "scheme": "default",
        "toggle": {"icon": "material/weather-night", "name": "Dark"},
    },
    {
        "media": "(prefers-color-scheme: dark)",
        "scheme": "slate",
        "toggle": {"icon": "material/weather-sunny", "name": "Light"},
    },
]
FEATURES = ["tabs", "sections", "indexes", "top", "footer", "path"]


def configuration(pages: Path, out: Path, nav: list[object], version: str) -> dict[str, Any]:
    """pages: the staged pages; out: the folder of the finished site."""
    return {
        "site_name": "RNNsearch",
        "site_description": "The attention paper (Bahdanau, Cho & Bengio 2015) as a tool",
        "docs_dir": str(pages),
        "site_dir": str(out),
        "use_directory_urls": False,  # so that the folder can be read without a server, too
        "copyright": f"RNNsearch {version} · MIT licence · this site loads nothing from elsewhere",
        "theme": {
            "name": "material",
            "font": False,
            "palette": [{**toggle, "primary": "custom", "accent": "custom"} for toggle in TOGGLES],
            "features": [
                *(f"navigation.{name}" for name in FEATURES),
                "search.suggest",
                "search.highlight",
                "content.code.copy",
                "toc.follow",
            ],
            "icon": {"logo": "material/arrow-decision-outline"},
            "favicon": "assets/favicon.svg",
        },
        "extra": {"generator": False, "release": version, "homepage": "index.html"},
        "extra_css": ["assets/palette.css", "assets/site.css"],
        "nav": nav,
        # __main__ counts MkDocs' warnings with the other faults, so that all are shown at once
        "strict": False,
        # anchors are looked at in the finished pages (check.py), where those of code lines exist
        "validation": {
            "nav": {"omitted_files": "info", "not_found": "warn", "absolute_links": "warn"},
            "links": {
                "not_found": "warn",
                "anchors": "info",
                "absolute_links": "warn",
                "unrecognized_links": "warn",
            },
        },
        "markdown_extensions": [
            "attr_list",
            "md_in_html",
            "tables",
            "footnotes",
            "admonition",
            "toc",
            "mathml",
            "inline_code",
        ]
        + [
            f"pymdownx.{name}"
            for name in ("highlight", "superfences", "inlinehilite", "details", "emoji", "tabbed")
        ],
        "plugins": {
            "material/search": {"lang": "en"},
            "mkdocstrings": {"handlers": {"python": python_handler()}},
        },
    }


def extension_options() -> dict[str, Any]:
    """Of the Markdown extensions that have any."""
    return {
        "toc": {
            "permalink": True,
            "slugify": slugify(case="lower"),
        },  # anchors as GitHub makes them, where the same pages are read too
        "pymdownx.highlight": {
            "anchor_linenums": True,
            "line_spans": "__span",
            "linenums_style": "pymdownx-inline",
            "pygments_lang_class": True,
        },
        "pymdownx.superfences": {
            "custom_fences": [{"name": "math", "class": "math", "format": mathml.block}]
        },
        "pymdownx.tabbed": {"alternate_style": True},
    }


def python_handler() -> dict[str, Any]:
    """mkdocstrings reads the source without importing it. Docstrings are prose; their parameters become
    tables."""
    return {
        "paths": [str(ROOT / "src")],
        "options": {
            "docstring_style": None,
            "extensions": [str(Path(__file__).with_name("parameters.py"))],
            "show_source": True,
            "show_root_heading": True,
            "show_root_full_path": False,
            "show_symbol_type_heading": True,
            "show_symbol_type_toc": True,
            "show_signature_annotations": True,
            "separate_signature": True,
            "signature_crossrefs": True,
            "line_length": 90,
            "heading_level": 3,
            "members_order": "source",
            "merge_init_into_class": False,
            "filters": ["!^_", "!^model_config$"],
            "inherited_members": False,
            "show_bases": False,
            "show_if_no_docstring": False,
        },
    }
