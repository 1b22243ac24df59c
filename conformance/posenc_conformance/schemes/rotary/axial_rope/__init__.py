"""Rotary embedding of several axes, their widths and their grids: invariants and deviations."""

from collections.abc import Callable

from posenc_conformance.diagnose.predictors import negated_positions, other_conventions
from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.families.rotary import LAYOUT_SWAPPED, positions_shifted
from posenc_conformance.families.rotary_tables import tables_mixed
from posenc_conformance.judge.case import exact_terms
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.schemes.rotary.axial_rope import axial_rotation, grids, tiled, widths

Check = Callable[[Trial], None]


KNOWLEDGE = {
    "axial_rope": CallKnowledge(
        error_terms=axial_rotation.ROTATION.error_terms,
        arguments=axial_rotation.arguments,
        sweep=axial_rotation.sweep,
        sizes=axial_rotation.sizes,
        frequencies=axial_rotation.ROTATION.read_frequencies,
        invariants={
            "isometry": axial_rotation.ROTATION.isometry,
            "identity-at-zero": axial_rotation.ROTATION.identity_at_zero,
            "relative-scores": axial_rotation.ROTATION.relative_scores,
            "scores-of-ones": axial_rotation.ROTATION.scores_of_ones,
            "each-axis-is-rope": axial_rotation.each_axis_is_rope,
            "axis-locality": axial_rotation.ROTATION.axis_locality,
            "layout-permutation": axial_rotation.ROTATION.layout_permutation,
        },
        deviations={
            "axes-swapped": axial_rotation.axes_swapped,
            "widths-swapped": axial_rotation.widths_swapped,
            "one-axis-for-all": axial_rotation.one_axis_for_all,
            "one-progression": axial_rotation.other_angles(
                "matches one progression over the whole head, not one for each axis",
                axial_rotation.one_progression,
            ),
            "head-dim-exponents": axial_rotation.other_angles(
                "matches exponents 2t/head_dim, not 2t/width", axial_rotation.head_dim_exponents
            ),
            "layout-swapped": LAYOUT_SWAPPED,
            "waves-in-other-layout": tables_mixed(axial_rotation.ROTATION),
            "negative-reversed": axial_rotation.negative_reversed,
            "positions-shifted": positions_shifted,
            "sign-flipped": negated_positions,
            "unrotated": axial_rotation.ROTATION.unrotated,
            "wrong-base": axial_rotation.other_base,
            "low-precision-angles": axial_rotation.ROTATION.low_precision_angles,
        },
    ),
    "axial_rope_tiled": CallKnowledge(
        error_terms=tiled.error_terms,
        arguments=tiled.arguments,
        sweep=tiled.sweep,
        sizes=tiled.sizes,
        invariants={
            "tiled-identity-at-zero": tiled.identity_at_zero,
            "tiled-determinant": tiled.determinant,
            "tiled-one-pair": tiled.one_pair,
            "tiled-rest-passes": tiled.rest_passes,
        },
        deviations={
            "tiled-as-a-rotation": tiled.model(
                "matches one angle for both channels of a pair", tiled.paired_angles
            ),
            "tiled-halves": tiled.halves,
            "tiled-axes-swapped": tiled.axes_swapped,
            "tiled-shared-out": tiled.shared_out,
            "tiled-head-dim-exponents": tiled.model(
                "matches exponents 2t/head_dim, not 2t/width", tiled.exponents
            ),
            "tiled-positions-shifted": positions_shifted,
            "tiled-sign-flipped": negated_positions,
            "tiled-low-precision-angles": tiled.low_precision,
        },
    ),
    "axial_rope_widths": CallKnowledge(
        error_terms=exact_terms,
        arguments=widths.arguments,
        sweep=no_sweep,
        sizes=widths.sizes,
        shape=lambda case: (3,),
        invariants={
            "widths-add-up": widths.widths_add_up,
            "widths-are-pairs": widths.widths_are_pairs,
            "sides-alike": widths.sides_alike,
        },
        deviations={
            "allocation-swapped": other_conventions(
                "allocation", "matches the allocation {value}; {claimed} was claimed"
            ),
            "thirds": widths.model("matches thirds of the head, even or not", widths.thirds),
            "rest-to-width": widths.model(
                "matches what is left given to the width, not the time", widths.rest_to_width
            ),
        },
    ),
    "axial_rope_position_ids": CallKnowledge(
        error_terms=exact_terms,
        arguments=grids.arguments,
        sweep=no_sweep,
        sizes=grids.sizes,
        shape=grids.shape,
        invariants={
            "rows-and-columns": grids.rows_and_columns,
            "patches-apart": grids.patches_apart,
            "text-apart": grids.text_apart,
            "centred": grids.centred,
        },
        deviations={
            "height-and-width-exchanged": grids.changed_patches(
                "matches rows for columns", grids.exchanged
            ),
            "not-centred": grids.changed_patches(
                "matches rows and columns counted from 0, not from the middle",
                grids.recounted(lambda side: 0),
            ),
            "centred-the-other-way": grids.changed_patches(
                "matches a middle that is rounded the other way",
                grids.recounted(lambda side: -(side // 2)),
            ),
            "first-axis-shifted": grids.first_axis_shifted,
            "images-on-one-plane": grids.images_on_one_plane,
            "text-after-the-image": grids.text_start(
                "matches a text that begins at the largest height or width, not at half of it",
                grids.largest_side,
            ),
            "text-at-zero": grids.text_at_zero,
            "grid-swapped": grids.grid_swapped,
        },
    ),
}
