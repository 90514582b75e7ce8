"""The one place that writes files and reads them again: whole or not at all, and never trusted."""

from gradlab.files.folder_sums import FolderSums
from gradlab.files.links import refuse_links
from gradlab.files.paths import check_path
from gradlab.files.reading import (
    Damaged,
    check_content,
    decode,
    interpreting,
    parse_json,
    parse_toml,
    read_bytes,
    read_json,
    read_text,
    read_toml,
)
from gradlab.files.sums import SUMS, check_sums, sha256, write_sums
from gradlab.files.writing import (
    ANOTHER_PLACE,
    REMEDY,
    clear_leftovers,
    delete,
    flush,
    json_text,
    new_file,
    no_folder,
    remove,
    write_errors,
    write_file,
    write_folder,
    write_json,
)

__all__ = [
    "ANOTHER_PLACE",
    "REMEDY",
    "SUMS",
    "Damaged",
    "FolderSums",
    "check_content",
    "check_path",
    "check_sums",
    "clear_leftovers",
    "decode",
    "delete",
    "flush",
    "interpreting",
    "json_text",
    "new_file",
    "no_folder",
    "parse_json",
    "parse_toml",
    "read_bytes",
    "read_json",
    "read_text",
    "read_toml",
    "refuse_links",
    "remove",
    "sha256",
    "write_errors",
    "write_file",
    "write_folder",
    "write_json",
    "write_sums",
]
