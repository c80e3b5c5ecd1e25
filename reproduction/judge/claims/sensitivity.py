"""Sentences about tau, beta and twenty participants; CYCle and VPDL once more with lambda_0 for each peer."""

import numpy as np

from cycle import metrics
from reproduction.judge.claim import Check, Claim
from reproduction.judge.claims.augmentation import otherwise
from reproduction.judge.readings import pairs_of, reading_of
from reproduction.judge.trials import both, compare, each, fairer, held, kept, less, similar, variants_by_setting, wider

TAU, BETA, TWENTY = ("tau",), ("beta",), ("participants-20", "participants-20-cifar100")
BETAS = (5, 15, 35, 50, 100)  # printed
SLIGHT = 2.0  # points by which an accuracy may change and be said to vary slightly


def over_grid(option: str, measure: str, holds, split: str = "") -> Check:
    """One case for each setting in which an option takes three values or more: holds(its values, the measures)."""

    def check(found):
        cases = []
        for variants in variants_by_setting(found, "cycle").values():
            values = [trial.record["options"][option] for trial in variants.values()]
            trial = next(iter(variants.values()))
            if len(set(values)) > 2 and trial.split.startswith(split):
                cases.append(
                    (f"{trial}, {option}", bool(holds(values, [getattr(t.report, measure) for t in variants.values()])))
                )
        return cases

    return check


def rises(values, measured) -> bool:
    """The two go together: Pearson above 0 (an undefined one does not count as rising)."""
    keep = np.isfinite(measured)
    return keep.sum() > 2 and metrics.pearson(np.array(values)[keep], np.array(measured)[keep])[0] > 0


def comparable(values, measured) -> bool:
    return similar(min(measured), max(measured))


def below_default_threshold(found):
    """tau_opt = 0 against 0.25 at the same tau_max: less gain and more spread."""
    cases = []
    for variants in variants_by_setting(found, "cycle").values():
        grid = {(t.record["options"]["tau_opt"], t.record["options"]["tau_max"]): t for t in variants.values()}
        for (opt, top), trial in grid.items():
            if opt < 0.25 and (0.25, top) in grid:
                usual = grid[0.25, top]
                cases.append((f"{trial}, tau_max {top}", both(less, wider)(trial, usual)))
    return cases


def over_betas(holds, needed=BETAS) -> Check:
    """One case for each setting: holds({beta: CYCle's trial}, the complete graph); None where a beta is missing."""

    def check(found):
        groups: dict[tuple, tuple] = {}
        for one, complete in pairs_of(found):
            if reading_of(one.record) == "as printed":
                groups.setdefault(one.setting, ({}, complete))[0][one.record["options"]["beta"]] = one
        cases = []
        for betas, complete in groups.values():
            chosen = {beta: betas[beta] for beta in needed if beta in betas}
            cases.append((str(complete), held(holds(chosen, complete)) if len(chosen) == len(needed) else None))
        return cases

    return check


def apart(trials) -> float:
    """The largest difference of one participant's accuracies."""
    return float(np.ptp(np.array([trial.record["accuracy"] for trial in trials]), axis=0).max())


def unbeaten(betas, complete):
    """35 or 50 is a fair choice: no other printed beta has both a higher MCG and a higher correlation."""
    points = {beta: (one.report.mcg, one.report.correlation) for beta, one in betas.items()}
    beaten = {beta for beta, (gain, rho) in points.items() if any(m > gain and r > rho for m, r in points.values())}
    return not {35, 50} <= beaten


def positive(trial):
    return trial.report.correlation > 0 and trial.report.correlation_p < 0.05


def negative(trial):
    return trial.report.correlation < 0 if np.isfinite(trial.report.correlation) else None


ON_BETA = (
    Claim(908, "lower values [...] emulating a fully-connected graph [its accuracies]",
          f"beta = 0: each accuracy within {SLIGHT:g} points of the complete graph's",
          over_betas(lambda betas, complete: apart([betas[0], complete]) <= SLIGHT, (0,)), BETA, name="like complete"),
    Claim(908, "lower values [...] emulating a fully-connected graph [its messages]",
          "beta = 0: no fewer messages than on the complete graph",
          over_betas(lambda betas, complete: betas[0].record["messages"]["sent"] >= complete.record["messages"]["sent"],
                     (0,)), BETA, name="sends like complete"),
    Claim(908, "higher values of beta [...] promoting fairness",
          f"Pearson (B, A) higher at beta = {max(BETAS)} than at {min(BETAS)}",
          over_betas(lambda betas, complete: betas[100].report.correlation > betas[5].report.correlation), BETA,
          name="fairer"),
    Claim(1486, "participant-level performance varies slightly",
          f"each participant's accuracies over the printed betas within {SLIGHT:g} points",
          over_betas(lambda betas, complete: apart(betas.values()) <= SLIGHT), BETA, name="varies slightly"),
    Claim(1486, "intermediate values of beta (e.g., 35-50) strike a favorable balance",
          "35 or 50: no other printed beta has both a higher MCG and a higher Pearson (B, A)",
          over_betas(unbeaten), BETA, name="35 or 50 unbeaten in both"),
)  # fmt: skip
CLAIMS = (
    Claim(1466, "increasing the values of tau_max [...] correlates with improved MCG",
          "homogeneous: Pearson above 0 over the grid", over_grid("tau_max", "mcg", rises, "homogeneous"), TAU),
    Claim(1466, "increasing the values of [...] tau_opt correlates with improved MCG",
          "homogeneous: Pearson above 0 over the grid", over_grid("tau_opt", "mcg", rises, "homogeneous"), TAU),
    Claim(1466, "the MCG [...] values for different hyperparameter settings are comparable",
          "smallest and largest MCG of the grid are similar", over_grid("tau_opt", "mcg", comparable), TAU),
    Claim(1466, "[...] CGS [...] values for different hyperparameter settings are comparable",
          "smallest and largest CGS of the grid are similar", over_grid("tau_opt", "cgs", comparable), TAU),
    Claim(1484, "going below tau_opt=0.25 results in degraded collaboration fairness and utility",
          "less MCG and more CGS at tau_opt 0 than at 0.25", below_default_threshold, TAU),
    *otherwise("cifar10-cnn-per-peer", "per-peer", "with lambda_0 for each peer"),
    Claim(1422, "both methods achieve similar MCG values", "N = 20: MCG larger or similar",
          compare("cycle-gossip", ("gossip",), kept), TWENTY),
    Claim(1422, "the collaboration gain spread (CGS) is considerably lower", "N = 20: smaller CGS",
          compare("cycle-gossip", ("gossip",), fairer), TWENTY),
    Claim(1422, "the strong positive correlation [...] under CYCle", "N = 20: Pearson above 0, p below 0.05",
          each(("cycle-gossip",), positive), TWENTY),
    Claim(1422, "Gossip-SGD shows a negative correlation", "N = 20: Pearson below 0", each(("gossip",), negative),
          TWENTY),
    *ON_BETA,
)  # fmt: skip
