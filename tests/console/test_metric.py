from prometheus_client.parser import text_string_to_metric_families

from tests.console.house import open_house

SCRIPT = {"task_type": "script", "payload": {"args": ["-c", "true"]}}


def _scraped(text):
    return {family.name: family for family in text_string_to_metric_families(text)}


def test_prometheus_reads_what_is_told(tmp_path):
    with open_house(tmp_path) as house:
        assert house.order("/tasks", **SCRIPT).status_code == 201
        answer = house.client.get("/metrics")

        assert answer.headers["content-type"].startswith("text/plain")
        found = _scraped(answer.text)
        tasks = {sample.labels["status"]: sample.value for sample in found["keisei_tasks"].samples}
        assert tasks["pending"] == 1
        assert tasks["completed"] == 0
        assert found["keisei_tasks_claimable"].samples[0].value == 1


def test_openmetrics_is_told_where_it_is_asked_for(tmp_path):
    with open_house(tmp_path) as house:
        answer = house.client.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
        assert answer.headers["content-type"].startswith("application/openmetrics-text")
        assert answer.text.endswith("# EOF\n")


def test_that_it_is_there_is_all_that_strangers_hear(tmp_path):
    with open_house(tmp_path, visitor=None) as house:
        assert house.client.get("/healthz").text == "ok\n"
