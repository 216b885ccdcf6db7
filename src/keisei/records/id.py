"""Ids: each its own type, so that a task id never stands where an attempt id is meant."""

from typing import NewType

AgentId = NewType("AgentId", str)
SpawnId = NewType("SpawnId", str)
TaskId = NewType("TaskId", str)
AttemptId = NewType("AttemptId", str)
BundleId = NewType("BundleId", str)
ProfileId = NewType("ProfileId", str)
AdapterId = NewType("AdapterId", str)
SkillId = NewType("SkillId", str)
WorkflowId = NewType("WorkflowId", str)
ScheduleId = NewType("ScheduleId", str)
SensorEventId = NewType("SensorEventId", str)
ArtifactId = NewType("ArtifactId", str)
LandingId = NewType("LandingId", str)
FindingId = NewType("FindingId", str)
DecisionId = NewType("DecisionId", str)
InvocationId = NewType("InvocationId", str)
RunnerId = NewType("RunnerId", str)
