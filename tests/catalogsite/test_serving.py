"""The real gunicorn: what it serves, what it says, and how a wrong setting ends it."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.catalogsite.server import GUNICORN, serving
from tests.catalogsite.started import refused
from tests.environment import PROJECT, clean_environment


def test_gunicorn_ends_with_one_line_and_exit_2_before_it_listens() -> None:
    line = refused(*GUNICORN, AMQP_URL="amqp://u:SECRETPW@h:x")

    assert line.startswith("Wrong setting: AMQP_URL needs a port")


def test_gunicorn_wants_a_secret_key_while_debug_is_false(project: Path) -> None:
    line = refused(*GUNICORN, project=project, SECRET_KEY=None)

    assert line == "Wrong setting: SECRET_KEY is missing; pages need it while DEBUG is false."


def test_the_wsgi_module_alone_ends_the_same_way() -> None:
    line = refused("-c", "import catalogsite.wsgi", LOG_FORMAT="xml")

    assert line == "Wrong setting: LOG_FORMAT must be one of: console, json."


def test_gunicorn_without_its_configuration_file_does_not_restart_workers_for_ever(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, *GUNICORN, "--pythonpath", PROJECT, "--bind", "127.0.0.1:0"],
        cwd=tmp_path,
        env=clean_environment() | {"SECRET_KEY": "k", "LOG_FORMAT": "xml"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 3
    assert "Wrong setting: LOG_FORMAT must be one of: console, json.\n" in done.stderr
    assert "Traceback" not in done.stderr


def test_gunicorn_writes_its_records_as_all_others_are_written(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.process.send_signal(signal.SIGTERM)
        code = server.process.wait(5)

    records = [json.loads(line) for line in server.stderr.splitlines()]
    assert code == 0
    assert {"gunicorn.error"} <= {record["logger"] for record in records}
    assert all({"timestamp", "level", "event"} <= record.keys() for record in records)


def test_a_probe_is_answered_by_any_host_name_and_head_has_no_body(tmp_path: Path) -> None:
    with serving(tmp_path, SERVED_OVER_HTTPS="true") as server:
        status, headers, body = server.request("GET", "/healthz", Host="10.1.2.3:8000")
        head_status, head_headers, head_body = server.request("HEAD", "/healthz", Host="x")
        redirected, _, _ = server.request("GET", "/admin/login/", Host="localhost")

    assert (status, json.loads(body)) == (200, {"status": "ok"})
    assert headers["Content-Type"] == "application/json"
    assert headers["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in headers
    assert (head_status, head_body) == (200, b"")
    assert head_headers["Content-Type"] == "application/json"
    assert redirected == 301


def test_static_files_are_served_without_having_been_collected(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        status, headers, body = server.request("GET", "/static/admin/css/base.css")

    assert status == 200
    assert headers["Content-Type"].startswith("text/css")
    assert body


def test_a_failing_page_shows_a_stranger_nothing_and_is_logged_in_one_line(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        # No migrations have run: the login needs a table.
        status, _, body = server.request("GET", "/admin/login/", Cookie=f"sessionid={'a' * 32}")

    failures = [
        record
        for record in map(json.loads, server.stderr.splitlines())
        if record["logger"] == "django.request"
    ]
    assert status == 500
    assert b"Traceback" not in body
    assert b"no such table" not in body
    assert [record["event"] for record in failures] == ["Internal Server Error: /admin/login/"]
    assert "no such table" in failures[0]["exception"]


def test_whatever_a_client_calls_the_encoding_it_is_utf_8_or_refused(tmp_path: Path) -> None:
    form = {"Host": "localhost", "Cookie": f"csrftoken={'a' * 32}", "Content-Length": "0"}
    asked = {}
    with serving(tmp_path) as server:
        for charset in ("=rot13", "=hex", "=idna", "=undefined", "=nonsense", "*=utf-8''a%00"):
            kind = {"Content-Type": f"text/plain; charset{charset}"}
            status, _, _ = server.request("GET", "/api/openapi.json?q=x", Host="localhost", **kind)
            asked[charset] = status
        sent = {
            charset: server.request(
                "POST",
                "/preferences/?q=%D1%8F",
                **form | {"Content-Type": f"application/x-www-form-urlencoded; charset={charset}"},
            )[0]
            for charset in ("UTF8", "utf_8", "utf-16", "latin-1", "rot13", "nonsense")
        }

    assert set(asked.values()) == {200}, asked
    # Read as UTF-8 it comes as far as the question which site it is from.
    assert sent == {"UTF8": 403, "utf_8": 403} | dict.fromkeys(
        ("utf-16", "latin-1", "rot13", "nonsense"), 415
    )


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_probe_is_only_asked(tmp_path: Path, path: str) -> None:
    with serving(tmp_path) as server:
        status, headers, _ = server.request("POST", path)

    assert status == 405
    assert headers["Allow"] == "GET, HEAD"


def test_collected_static_files_are_kept_by_browsers_under_their_hashed_names(
    project: Path, tmp_path: Path
) -> None:
    manage = [sys.executable, "manage.py"]
    environment = clean_environment() | {"SECRET_KEY": "k" * 50}
    collected = subprocess.run(
        [*manage, "collectstatic", "--noinput", "--verbosity=0"],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert collected.returncode == 0, collected.stderr

    with serving(tmp_path, project=project) as server:
        _, _, page = server.request("GET", "/admin/login/", Host="localhost")
        [path] = re.findall(r'href="(/static/admin/css/base\.[^"]+)"', page.decode())
        status, headers, _ = server.request("GET", path)

    assert re.fullmatch(r"/static/admin/css/base\.[0-9a-f]{12}\.css", path)
    assert status == 200
    assert "immutable" in headers["Cache-Control"]
