"""`keisei console` and `keisei forge`: served for whoever has a link, and not for the rest of the world by mistake."""

import http.client
import json
import signal
import socket
import subprocess
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

import pytest

from tests.cli.shell import BIN


@pytest.fixture(autouse=True)
def project(shell):
    folder = shell.folder_of("the project")
    (folder / "keisei.toml").write_text('[project]\nname = "house"\n')
    shell.setenv("KEISEI_HOME", shell.folder / "state")
    shell.setenv("XDG_RUNTIME_DIR", shell.folder_of("run"))
    shell.cd(folder)
    return folder


@contextmanager
def serving(*words):
    """A console of its own; what it says when it answers."""
    process = subprocess.Popen([BIN / words[0], *words[1:], "--port", "0", "--json"], stdout=subprocess.PIPE, text=True)
    try:
        yield json.loads(process.stdout.readline()), process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


def asked(link, path=None, **headers):
    """One request."""
    parts = urlsplit(link)
    with closing(http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)) as line:
        line.request("GET", path or f"{parts.path}?{parts.query}", headers=headers)
        answer = line.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()


def test_a_link_lets_one_browser_in_and_only_once(shell):
    with serving("keisei", "console") as (ready, process):
        assert asked(ready["url"], "/")[0] == 401
        status, headers, _ = asked(ready["link"])
        assert status == 200
        cookie = headers["set-cookie"].partition(";")[0]
        assert asked(ready["url"], "/", Cookie=cookie)[0] == 200
        assert asked(ready["link"])[0] == 410

        told = json.loads(shell.run("console", "link", "--viewer", "--json").out)
        assert told["runs"] is True
        assert told["link"].startswith(ready["url"])
        assert "as viewer" in asked(told["link"])[2]

        token = shell.run("console", "token").out.strip()
        assert asked(ready["url"], "/api/v1/home", Authorization=f"Bearer {token}")[0] == 200
        assert shell.run("console", "rotate").code == 0
        assert asked(ready["url"], "/api/v1/home", Authorization=f"Bearer {token}")[0] == 401
        assert asked(ready["url"], "/", Cookie=cookie)[0] == 401
    assert process.returncode == 0


def test_the_forge_leads_to_its_page_and_into_a_console_that_runs(shell):
    with serving("keisei", "console") as (ready, _process):
        said = shell.run("forge").out
        link = said.split()[1]
        assert link.startswith(ready["url"])
        assert link.endswith("&to=/forge")
        assert 'content="0; url=/forge"' in asked(link)[2]
    with serving("keisei", "forge") as (ready, _process):
        assert ready["link"].endswith("&to=/forge")


def test_a_link_is_made_before_a_console_runs_and_says_so(shell):
    done = shell.run("console", "link")
    assert done.code == 0
    assert done.out.startswith("http://127.0.0.1:4314/enter?key=")
    assert "no console of this project runs" in done.err


def test_a_read_only_console_takes_no_order(shell):
    with serving("keisei", "console", "--read-only") as (ready, _process):
        token = shell.run("console", "token").out.strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        with closing(http.client.HTTPConnection("127.0.0.1", urlsplit(ready["url"]).port, timeout=30)) as line:
            line.request("POST", "/api/v1/runners/pause", body="{}", headers=headers)
            answer = line.getresponse()
            assert (answer.status, "read-only" in answer.read().decode()) == (403, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--host", "::"), "is not this machine alone"),
        (("--host", "::", "--allow-remote"), "without TLS"),
        (("--host", "192.0.2.1"), "is not this machine alone"),
        (("--tls-cert", "cert.pem"), "go together"),
        (("--behind-proxy", "http://insecure.example"), "is not https"),
        (("--host", "::", "--allow-remote", "--tls-cert", "no.pem", "--tls-key", "no.key"), "every interface"),
    ],
    ids=["any", "plain", "elsewhere", "half", "proxy", "nameless"],
)
def test_it_is_not_served_to_strangers(shell, words, told):
    done = shell.run("console", *words)
    assert done.code == 1
    assert told in done.err
    assert "hint: " in done.err


def test_a_port_that_is_taken_is_told(shell):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = shell.run("console", "--port", port)
    assert done.code == 1
    assert f"port {port} of 127.0.0.1 cannot be used: address already in use" in done.err


def test_options_stand_behind_the_verb_they_belong_to(shell):
    assert shell.run("console", "--read-only", "link").code == 1


def test_the_document_is_printed_without_a_console(shell):
    assert json.loads(shell.run("console", "openapi").out)["openapi"] == "3.1.0"


def test_a_broken_project_is_told_and_nothing_is_served(shell, project):
    (project / "keisei.toml").write_text("[project\n")
    done = shell.run("console", "--port", "0")
    assert done.code == 1
    assert "keisei.toml" in done.err


def test_a_token_that_others_can_read_is_closed_to_them(shell):
    shell.run("console", "token")
    path = next((shell.folder / "state").rglob("operator-token"))
    path.chmod(0o644)
    shell.run("console", "token")
    assert path.stat().st_mode & 0o077 == 0
