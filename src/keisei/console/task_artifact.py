"""Artifacts: files that a task was asked for, handed out from the artifact folder and from nowhere else.

Agents write there, so nothing in it is believed: no link is followed, no pipe is waited for, and a browser is told to
keep the file, not to show it.
"""

import errno
import os
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO, Final
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from keisei.console.answer import failed, wrong
from keisei.console.page import API, Missing
from keisei.console.premises import Premises
from keisei.records.artifact import ArtifactRecord
from keisei.records.error import KeiseiError, WorldFault
from keisei.records.id import TaskId
from keisei.records.task import TaskRecord
from keisei.rules.progression import workflow_behind

PATH: Final = "/tasks/{task_id}/artifacts/{artifact_id}"
FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
PIECE: Final = 256 * 1024


def open_artifact(premises: Premises, task_id: str, artifact_id: str) -> tuple[ArtifactRecord, BinaryIO]:
    """An artifact's record and its file, to be read and closed. Raises Missing, WorldFault."""
    task = premises.store.task(TaskId(task_id))
    found = [] if task is None else premises.store.artifacts(task.task_id)
    record = next((each for each in found if each.artifact_id == artifact_id), None)
    if task is None or record is None:
        raise Missing(f"task `{task_id}` has no artifact `{artifact_id}`", "the page of the task lists them")
    try:
        return record, os.fdopen(_opened(premises, task, record), "rb")
    except (FileNotFoundError, ValueError):
        raise Missing(f"artifact `{record.relative_path}` is not there any more", "it was removed, or moved") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EINVAL):
            raise Missing(
                f"artifact `{record.relative_path}` is no file any more", "a link or a folder stands there"
            ) from None
        raise WorldFault(f"artifact `{record.relative_path}` cannot be read: {error.strerror}") from None


def _opened(premises: Premises, task: TaskRecord, record: ArtifactRecord) -> int:
    """A descriptor of a regular file, reached name by name below the artifact folder. Raises OSError, ValueError."""
    workflow_id = workflow_behind(task)
    own = (task.task_id,) if workflow_id is None else ("workflows", workflow_id)
    *folders, name = (part for part in (*own, *record.relative_path.split("/")) if part != ".")
    folder = os.open(premises.home.artifacts, FOLDER & ~os.O_NOFOLLOW)
    try:
        for each in folders:
            inner = os.open(_plain(each), FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        descriptor = os.open(_plain(name), FILE, dir_fd=folder)
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file")
    return descriptor


def _plain(name: str) -> str:
    """One part of a path. Raises ValueError for what leads elsewhere."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(name)
    return name


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """What stands there when it is opened; whoever goes on writing does not keep anybody waiting."""
    with file:
        left = os.fstat(file.fileno()).st_size
        while left > 0 and (piece := file.read(min(PIECE, left))):
            left -= len(piece)
            yield piece


async def _hand_out(request: Request) -> Response:
    """The file, to be kept."""
    premises: Premises = request.app.state.premises
    try:
        asked = request.path_params["task_id"], request.path_params["artifact_id"]
        record, file = await run_in_threadpool(open_artifact, premises, *asked)
    except (KeiseiError, UnicodeError) as error:
        return await run_in_threadpool(failed, request, wrong(error))
    name = quote(record.relative_path.rpartition("/")[2], safe="")
    headers = {
        "content-disposition": f"attachment; filename*=UTF-8''{name}",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    }
    return StreamingResponse(_pieces(file), 200, headers, media_type="application/octet-stream")


ROUTES: Final = (
    Route(API + PATH, _hand_out, methods=["GET"]),
    Route(PATH, _hand_out, methods=["GET"]),
)
EXTRA_PATHS: Final[dict[str, Any]] = {
    API + PATH: {
        "get": {
            "operationId": "show_task_artifact",
            "summary": "A file that a task was asked for, byte for byte",
            "tags": ["tasks"],
            "parameters": [
                {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
                for name in ("task_id", "artifact_id")
            ],
            "responses": {
                "200": {"description": "the file", "content": {"application/octet-stream": {"schema": {}}}},
                **{
                    str(status): {
                        "description": words,
                        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
                    }
                    for status, words in (
                        (401, "the token is missing or wrong"),
                        (403, "not allowed to whoever asks"),
                        (404, "there is no such artifact, or its file is gone"),
                        (405, "another method is meant"),
                        (421, "this server does not answer for that host"),
                        (429, "too many requests"),
                        (503, "the disk is away; try again"),
                    )
                },
            },
        }
    }
}
