"""What benchmarks tell, and what they refuse to tell."""

import json
from pathlib import Path

import pytest

from bench import summary
from bench.figures import Sample
from bench.report import AccountFailed, Report, table

pytestmark = pytest.mark.any_database


def filled() -> Report:
    report = Report("relay", "Relay", circumstances={"cores": 2})
    samples = [Sample(12_000, seconds, 0.6, 70 + seconds) for seconds in (1.0, 2.0, 4.0)]
    report.add_rates("Rates", {"product": samples}, notes={"product": "as shipped"})
    report.add_times("Times", {"click": [0.004, 0.006, 0.25]})
    report.at_least("share", 0.9, 0.85)
    report.at_most("p99", 250, 60, unit="ms")
    for _ in range(2):
        report.account("receipts", found=3, expected=3)
    return report


def test_a_report_is_a_page_of_tables() -> None:
    text = filled().markdown()

    assert "| product | 6 000 | 3 000 … 12 000 | 50 µs | 74 MB | as shipped |" in text
    assert "| click | 3 | 6.0 ms | 250 ms | 250 ms | 250 ms |" in text
    assert "| share | ≥ 0.85 | 0.9 | yes |" in text
    assert "| p99 | ≤ 60 ms | 250 ms | **no** |" in text
    assert "receipts: 3 (seen 2 times)" in text


def test_an_account_that_does_not_add_up_ends_the_benchmark() -> None:
    with pytest.raises(AccountFailed, match="receipts: 2 instead of 3"):
        Report("relay", "Relay").account("receipts", found=2, expected=3)


def test_a_table_keeps_its_columns_whatever_a_cell_holds() -> None:
    lines = table(["", "rate"], [["a | b", "1 000"], ["c", ""]]).splitlines()

    assert lines == ["|  | rate |", "| --- | ---: |", "| a \\| b | 1 000 |", "| c |  |"]


def test_results_are_kept_as_figures_and_put_into_a_page(tmp_path: Path) -> None:
    filled().write(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{summary.BEGIN}\nold\n{summary.END}\nafter\n", encoding="utf-8")

    summary.put_into(page, tmp_path)

    kept = json.loads((tmp_path / "relay.json").read_text(encoding="utf-8"))
    assert [each["seconds"] for each in kept["sections"][0]["data"]["product"]] == [1.0, 2.0, 4.0]
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| product | 6 000 |" in text
    assert "old" not in text
