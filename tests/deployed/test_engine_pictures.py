"""What a failure of an engine draws: errors by distance, by layer and by pair, a window's edge."""

from collections.abc import Callable

import pytest

from posenc_conformance.pictures.picture import RIGHT, Lines, Map, Picture
from posenc_lab.deployed.outside.layers import layout_swapped, usual_base, window_one_more
from posenc_lab.deployed.outside.serving import Served
from tests.deployed.test_every_layer import deployed, run

pytestmark = pytest.mark.remembered(shipped=True)


def pictures(
    change: Callable[[int], type[Served]], bad: int, config: str, name: str
) -> list[Picture]:
    (*_, result) = run(deployed(change(bad), config), name)
    return list(result.outcome.pictures)


@pytest.mark.parametrize("bad", [1, 4])
def test_a_layer_that_is_wrong_has_the_only_wrong_row(bad: int) -> None:
    drawn = pictures(usual_base, bad, "llama-deep", "layers")
    by_layer = next(each for each in drawn if isinstance(each, Map) and each.down == "layer")
    wrong = [number for number, row in enumerate(by_layer.rows) if set(row) - {RIGHT, " "}]
    assert wrong == [bad]
    assert by_layer.ends_down == ("0", "5")


def test_angles_of_pairs_are_drawn_beside_zero() -> None:
    drawn = pictures(layout_swapped, 0, "llama-deep", "distance-64")
    (angles,) = (each for each in drawn if isinstance(each, Lines))
    expected, got = angles.series
    assert {y for _, y in expected.points} == {0.0}
    assert max(abs(y) for _, y in got.points) > 0.1
    assert [x for x, _ in got.points] == sorted(x for x, _ in got.points)


def test_an_edge_of_a_window_is_drawn_where_it_is_and_where_it_should_be() -> None:
    (edge,) = pictures(window_one_more, 0, "mistral-deep", "window[")
    assert isinstance(edge, Lines)
    expected, got = (dict(series.points) for series in edge.series)
    assert [distance for distance in expected if expected[distance] != got[distance]] == [180]
