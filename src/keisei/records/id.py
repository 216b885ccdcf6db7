"""Ids: each its own type, so that a task id never stands where an attempt id is meant."""

from typing import Annotated, NewType

from msgspec import Meta

Name = Annotated[str, Meta(min_length=1)]
"""An id is never empty."""

AgentId = NewType("AgentId", Name)
SpawnId = NewType("SpawnId", Name)
TaskId = NewType("TaskId", Name)
AttemptId = NewType("AttemptId", Name)
BundleId = NewType("BundleId", Name)
ProfileId = NewType("ProfileId", Name)
AdapterId = NewType("AdapterId", Name)
SkillId = NewType("SkillId", Name)
WorkflowId = NewType("WorkflowId", Name)
ScheduleId = NewType("ScheduleId", Name)
SensorEventId = NewType("SensorEventId", Name)
ArtifactId = NewType("ArtifactId", Name)
LandingId = NewType("LandingId", Name)
FindingId = NewType("FindingId", Name)
DecisionId = NewType("DecisionId", Name)
InvocationId = NewType("InvocationId", Name)
RunnerId = NewType("RunnerId", Name)
ApprovalId = NewType("ApprovalId", Name)
