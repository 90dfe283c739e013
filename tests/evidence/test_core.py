"""Evidence joins to the weaker, travels on carriers, and cannot be left behind."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aidc.evidence import Evidence, EvidenceError, Layer, Provenance, evidence_of, step
from tests.evidence.carriers import Amount, amount

evidence = st.builds(
    Evidence,
    layer=st.sampled_from(Layer),
    provenance=st.sampled_from(Provenance),
    inputs=st.frozensets(st.sampled_from(["a", "b", "c", "setting:s"]), min_size=1),
)


@given(st.lists(evidence, min_size=1, max_size=5))
def test_a_join_is_no_stronger_than_its_weakest_part(parts: list[Evidence]) -> None:
    joined = Evidence.join(parts)
    assert all(joined.layer >= part.layer for part in parts)
    assert all(joined.provenance >= part.provenance for part in parts)
    assert all(part.inputs <= joined.inputs for part in parts)
    assert joined.layer in {part.layer for part in parts}
    assert joined.provenance in {part.provenance for part in parts}


@given(evidence, evidence, evidence)
def test_joining_is_associative_commutative_and_idempotent(
    a: Evidence, b: Evidence, c: Evidence
) -> None:
    assert Evidence.join([a, b]) == Evidence.join([b, a])
    assert Evidence.join([Evidence.join([a, b]), c]) == Evidence.join([a, Evidence.join([b, c])])
    assert Evidence.join([a, a]) == a


def test_nothing_comes_from_nowhere() -> None:
    with pytest.raises(EvidenceError, match="every value has an origin"):
        Evidence.join([])


@pytest.mark.parametrize(("of", "raised"), list(product(Layer, Layer)))
def test_a_step_raises_to_its_layer_and_never_lowers(of: Layer, raised: Layer) -> None:
    @step(raised)
    def same(value: Amount) -> Amount:
        return Amount(value=value.value)

    result = same(amount("x", layer=of, provenance=Provenance.UNVERIFIED))
    assert evidence_of(result) == Evidence(max(of, raised), Provenance.UNVERIFIED, frozenset({"x"}))


def test_a_step_finds_carriers_inside_collections_and_keywords() -> None:
    @step(Layer.OBSERVED)
    def total(first: Amount, rest: list[Amount], named: dict[str, Amount]) -> Amount:
        return Amount(value=first.value + len(rest) + len(named))

    synthetic = amount("s", provenance=Provenance.SYNTHETIC)
    verified = amount("v")
    setting = amount("setting:k", layer=Layer.CONSTRUCTED)
    result = total(verified, rest=[setting], named={"x": synthetic})
    assert evidence_of(result) == Evidence(
        Layer.CONSTRUCTED, Provenance.SYNTHETIC, frozenset({"s", "v", "setting:k"})
    )


def test_a_step_refuses_bare_values_in_and_out() -> None:
    @step(Layer.DERIVED)
    def lose(value: object) -> Amount:
        return value if isinstance(value, Amount) else 3.0  # type: ignore[return-value]

    with pytest.raises(EvidenceError, match="every value has an origin"):
        lose(3.0)

    @step(Layer.DERIVED)
    def bare(value: Amount) -> Amount:
        return value.value  # type: ignore[return-value]

    with pytest.raises(EvidenceError, match="bare returned a bare float"):
        bare(amount("v"))


def test_only_a_carrier_made_by_a_step_has_evidence() -> None:
    with pytest.raises(EvidenceError, match="got a bare float"):
        evidence_of(300.0)
    with pytest.raises(EvidenceError, match="was built by hand"):
        evidence_of(Amount(value=300.0))


def test_what_could_not_be_evaluated_is_handed_on() -> None:
    @step(Layer.OBSERVED)
    def combine(first: Amount, second: Amount) -> Amount:
        return Amount(not_evaluable=("times", "state"))

    result = combine(amount("a", not_evaluable=("state",)), amount("b", not_evaluable=("user",)))
    assert result.not_evaluable == ("state", "user", "times")


def test_errors_show_as_one_line_in_a_notebook() -> None:
    assert EvidenceError("rule x")._render_traceback_() == ["EvidenceError: rule x"]
