"""The main sentences about CYCle and VPDL once more, both trained in a way that the paper does not print or name."""

from reproduction.judge.claim import Claim
from reproduction.judge.claims.cifar import POSITIVE, first_stays
from reproduction.judge.trials import compare, each, everybody_gains, fairer, first_loses, more, saves_a_third_to_a_half


def otherwise(experiment: str, variant: str, how: str) -> tuple[Claim, ...]:
    cycle, vpdl = f"cycle {variant}", f"vpdl {variant}"
    sixty = ("imbalanced-0.6-1",)
    checks = (
        (395, "[CYCle's MCG stands above VPDL's in every split]", "larger MCG than VPDL",
         compare(cycle, (vpdl,), more)),
        (395, "[CYCle's CGS stands below VPDL's in every split]", "smaller CGS than VPDL",
         compare(cycle, (vpdl,), fairer)),
        (424, "our method consistently provides positive collaboration gains to all participants", POSITIVE,
         each((cycle,), everybody_gains)),
        (424, "not the case for [...] VPDL, which is evident in the outcomes for P1", "P1 loses in (0.6, 1)",
         each((vpdl,), first_loses, sixty)),
        (1052, "since P1 holds 60% of the data, its reputation remains consistent",
         "(0.6, 1): P1's mean score is similar at the first and the last calibration",
         each((cycle,), first_stays, sixty)),
        (993, "a 35-50% reduction in encrypted communication", "35 to 50 % of the answers are not sent",
         each((cycle,), saves_a_third_to_a_half)),
    )  # fmt: skip
    return tuple(Claim(*parts, (experiment,), how=how) for parts in checks)


CLAIMS = (
    *otherwise("augmentation", "augmented", "with augmented images"),
    *otherwise("cifar10-cnn-augmented", "augmented-lr0.1", "with augmented images at the printed rate"),
)
