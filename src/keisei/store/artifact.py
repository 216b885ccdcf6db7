"""Reading artifacts."""

import msgspec

from keisei.records.artifact import ArtifactRecord
from keisei.records.id import TaskId
from keisei.store.ask import known
from keisei.store.reader import Reader

OF_TASK = "SELECT record FROM artifacts WHERE task_id = :task_id ORDER BY seq"

_artifact = msgspec.json.Decoder(ArtifactRecord).decode


def read_artifacts(reader: Reader, task_id: TaskId) -> list[ArtifactRecord]:
    """Files of a task, oldest first."""
    return [_artifact(row[0]) for row in reader.read(OF_TASK, {"task_id": known(task_id)})]
