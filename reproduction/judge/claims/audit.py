"""The paper's sentences about its tables, held to the values that it prints."""

import numpy as np

from cycle import metrics
from reproduction.judge.claim import Check, Claim
from reproduction.paper import printed_runs

TABLE, FIVE_MORE, BY_NUMBER = ("performance-study",), ("imbstudy",), ("noofparticipantsv3-part1",)
SKIN = ("cycle-gossip-sgd-mcg-cgs",)
FAIR = ("CFFL", "RFFL", "CGSV")
GRAPHS = ("Gossip-SGD (Complete)", "Gossip-SGD (Ring)", "Gossip-SGD (Exponential)")
QUOTED = {
    ("CIFAR-10", "Gossip-SGD", "MCG"): 28.59,
    ("CIFAR-10", "CYCle", "MCG"): 27.87,
    ("CIFAR-10", "CYCle", "CGS"): 6.06,
    ("CIFAR-10", "Gossip-SGD", "CGS"): 7.70,
    ("CIFAR-10", "CYCle", "rho"): 0.9353,
    ("CIFAR-10", "Gossip-SGD", "rho"): -0.4637,
    ("CIFAR-100", "Gossip-SGD", "rho"): -0.7297,
    ("CIFAR-100", "CYCle", "rho"): 0.8164,
}


def compare(tables, method, others, metric, holds, chosen=lambda label: True) -> Check:
    """One case for each printed run and other method; `chosen` are the splits, by their printed names."""

    def check(values):
        frame = values[values["table"].isin(tables) & values["participant_or_metric"].eq(metric)]
        cases = []
        for run, group in frame[frame["label"].map(chosen)].groupby(printed_runs.RUN, sort=False):
            value = group.set_index("method")["value"]
            cases += [
                (
                    f"{_where(run)}: {value[method]:.2f} against {other} {value[other]:.2f}",
                    holds(value[method], value[other]),
                )
                for other in others
                if {method, other} <= set(value.index)
            ]
        return cases

    return check


def both(*checks: Check) -> Check:
    return lambda values: [case for check in checks for case in check(values)]


def gains(chosen, who, sign: int) -> Check:
    """One case for each gain of those asked for (`who` picks from all gains and accuracies alone): has it this sign?"""

    def check(values):
        cases = []
        for row in filter(chosen, printed_runs.per_participant(values).itertuples()):
            gain = metrics.gains(row.before, row.after)
            for n in who(row.before):
                cases.append((f"{row.method} {_where(row.run)}, P{n + 1}: {gain[n]:+.2f}", sign * gain[n] > 0))
        return cases

    return check


def certified(tables) -> Check:
    """MCG and CGS of CYCle leave no room for a loser in a table that prints nothing else."""

    def check(values):
        frame = printed_runs.smallest_gains(values)
        frame = frame[frame["table"].isin(tables) & frame["method"].isin(["CYCle", "CYCle[Gossip]"])]
        rows = zip(frame["run"], frame["smallest possible gain"], frame["verdict"], strict=True)
        return [(f"{run}: {gain:.2f}", verdict == "nobody loses") for run, gain, verdict in rows]

    return check


def on_average(metric, holds) -> Check:
    """CYCle's mean over the ten CIFAR-10 splits with ResNet18 against those of FedAvg and VPDL."""

    def check(values):
        frame = values[values["table"].isin(TABLE + FIVE_MORE) & values["model"].eq("ResNet18")]
        mean = frame[frame["participant_or_metric"].eq(metric)].groupby("method")["value"].mean()
        others = mean.drop("CYCle").items()
        return [
            (f"CYCle {mean['CYCle']:.2f}, {name} {value:.2f}", holds(mean["CYCle"], value)) for name, value in others
        ]

    return check


def flipping_lowers_the_average(values):
    frame = values[values["participant_or_metric"].eq("avg_honest") & values["method"].str.contains("flip")]
    cases = []
    for table, group in frame.groupby("table", sort=False):
        average = group.set_index("method")["value"]
        clean = average.pop("CYCle flip=0.0")
        cases += [(f"{table} {method}", value < clean) for method, value in average.items()]
    return cases


def ten_scenarios_for_all(values):
    frame = values[values["table"].isin(TABLE + FIVE_MORE)].groupby("method")["label"].nunique()
    return [(f"{method}: {count} splits", count >= 10) for method, count in frame.items()]


def cgsv_pays_with_spread(values):
    """Wherever CGSV's MCG is above CYCle's, so is its CGS."""
    less = compare(TABLE, "CYCle", ("CGSV",), "MCG", np.greater)(values)
    higher = {name.split(":")[0] for name, held in less if not held}
    return [
        case
        for case in compare(TABLE, "CGSV", ("CYCle",), "CGS", np.greater)(values)
        if case[0].split(":")[0] in higher
    ]


def as_quoted(values):
    table = values[values["table"] == "appendix-n20-results"].set_index(["dataset", "method", "participant_or_metric"])
    return [(f"{' '.join(key)}: {quoted}", table["value"][key] == quoted) for key, quoted in QUOTED.items()]


def _where(run):
    dataset, _, label, n = run
    return f"{dataset} {label}, N = {n}"


def _first(before):
    return [0]


def _homogeneous(label):
    return label == "Homogeneous"


def _imbalanced(label):
    return label.startswith("Imbalanced")


def _most_skewed(label):
    return label == "Imbalanced (0.8, 1)"


def claim(line, quote, means, check, otherwise="contradicted", share=1.0):
    return Claim(line, quote, means, check, share=share, otherwise=otherwise)


CLAIMS = (
    claim(349, "this extension maintains fairness and improves utility", "Fed-ISIC2019: MCG not below that of a graph",
          compare(SKIN, "CYCle", GRAPHS, "MCG", np.greater_equal), "stretched"),
    claim(424, "FedAvg has better MCG compared to other methods", "larger MCG than VPDL and CYCle",
          compare(TABLE, "FedAvg", ("VPDL", "CYCle"), "MCG", np.greater)),
    claim(424, "significantly lower CGS values compared to the FedAvg algorithm in the imbalanced", "smaller CGS",
          compare(TABLE, "CYCle", ("FedAvg",), "CGS", np.less, _imbalanced)),
    claim(424, "our method consistently provides positive collaboration gains to all participants",
          "everybody gains wherever participants are printed and nobody flips labels",
          gains(lambda row: row.method == "CYCle" and row.table not in printed_runs.HONEST,
                lambda before: range(len(before)), 1)),
    claim(424, "not the case for FedAvg or VPDL, which is evident in the outcomes for P1 in the imbalanced (0.8, 1) "
          "and (0.6, 1) settings", "P1 loses",
          gains(lambda row: row.table == "performance-study-table-c10-left" and row.method in ("FedAvg", "VPDL")
                and row.run[2] in ("Imbalanced (0.8, 1)", "Imbalanced (0.6, 1)"), _first, -1)),
    claim(425, "better or comparable CG values [...] in most of the scenarios", "larger MCG, in half of the cases",
          compare(TABLE, "CYCle", FAIR, "MCG", np.greater), share=0.5),
    claim(425, "the lowest CGS values in all but one scenario", "no CGS below CYCle's, (0.8, 1) aside",
          compare(TABLE, "CYCle", FAIR, "CGS", np.less, lambda label: not _most_skewed(label))),
    claim(425, "the imbalanced (0.8, 1) setting, where it is on par with RFFL", "CGS not above RFFL's",
          compare(TABLE, "CYCle", ("RFFL",), "CGS", np.less_equal, _most_skewed), "stretched"),
    claim(426, "other methods degrade performance for the most contributing participant", "whoever is best alone loses",
          gains(lambda row: row.method in FAIR, lambda before: [before.argmax()], -1), "stretched"),
    claim(479, "In all settings, we consistently achieve a positive collaboration gain for all participants",
          "MCG and CGS leave no room for a loser", certified(BY_NUMBER), "not shown"),
    claim(479, "the CYCle method consistently has lower CGS compared to VPDL", "smaller CGS",
          compare(BY_NUMBER, "CYCle[PDL]", ("VPDL",), "CGS", np.less)),
    claim(480, "CYCle significantly reduces CGS", "smaller CGS than the complete graph",
          compare(BY_NUMBER, "CYCle[Gossip]", ("DSGD",), "CGS", np.less), "stretched"),
    claim(480, "without compromising MCG", "MCG not below the complete graph's",
          compare(BY_NUMBER, "CYCle[Gossip]", ("DSGD",), "MCG", np.greater_equal), "stretched"),
    claim(555, "in the presence of flipped labels, the collaboration gain declines",
          "the honest participants' average is lower at every flip rate above zero", flipping_lowers_the_average),
    claim(577, "the lowest CGS while preserving collaborative utility", "MCG not below that of a graph",
          compare(SKIN, "CYCle", GRAPHS, "MCG", np.greater_equal), "stretched"),
    claim(1183, "Gossip-SGD with a complete graph topology achieves the highest", "no larger MCG",
          compare(SKIN, GRAPHS[0], (*GRAPHS[1:], "CYCle"), "MCG", np.greater_equal)),
    claim(1269, "FedAvg algorithm results in a decline in accuracy for P1", "CIFAR-100, (0.8, 1): P1 loses",
          gains(lambda row: row.table == "performance-study-table-c100" and row.method == "FedAvg"
                and _most_skewed(row.run[2]), _first, -1)),
    claim(1271, "VPDL [...] underperforms in both MVA and MCG across all scenarios", "less than FedAvg and CYCle",
          both(*(compare(("performance-study-c100",), "VPDL", ("FedAvg", "CYCle"), metric, np.less)
                 for metric in ("MVA", "MCG")))),
    claim(1347, "ensuring positive collaboration gains for each participant", "MCG and CGS leave no room for a loser",
          certified(FIVE_MORE), "not shown"),
    claim(1347, "VPDL [...] significantly underperforms in both accuracy and fairness", "lowest MVA and highest CGS",
          both(compare(FIVE_MORE, "VPDL", ("FedAvg", "CYCle"), "MVA", np.less),
               compare(FIVE_MORE, "VPDL", ("FedAvg", "CYCle"), "CGS", np.greater)), "stretched"),
    claim(1347, "lower CGS across all five settings", "smaller CGS than FedAvg and VPDL",
          compare(FIVE_MORE, "CYCle", ("FedAvg", "VPDL"), "CGS", np.less)),
    claim(1353, "the honest participants (P1, P2, and P3) maintain positive collaboration gains",
          "they gain at every flip rate of P4 and P5",
          gains(lambda row: row.method.endswith("two flip"), lambda before: range(3), 1)),
    claim(1422, "28.59 [...] 27.87 [...] 6.06 vs. 7.70 [...] 0.9353 [...] -0.4637 (and L1440)",
          "the table for N = 20 prints them", as_quoted),
    claim(1450, "the MCG and CGS values for 10 different data-split scenarios",
          "each method of the figure has values for all ten splits", ten_scenarios_for_all, "not shown"),
    claim(1452, "On average, CYCle achieves the highest MCG [...] in the 10 scenarios", "larger mean MCG, ResNet-18",
          on_average("MCG", np.greater_equal), "stretched"),
    claim(1452, "On average, CYCle achieves [...] the lowest CGS in the 10 scenarios", "smaller mean CGS, ResNet-18",
          on_average("CGS", np.less_equal)),
    claim(1453, "CGSV may occasionally achieve a higher MCG, but its CGS is substantially worse",
          "where the MCG is higher, so is the CGS", cgsv_pays_with_spread),
    claim(1466, "[improved MCG] is expected as higher values [of tau] bring our algorithm closer to the VPDL framework",
          "homogeneous: VPDL's MCG is above CYCle's",
          compare((*BY_NUMBER, "noofparticipantsv3-part2"), "VPDL", ("CYCle[PDL]",), "MCG", np.greater, _homogeneous)),
    claim(1506, "negative gain experienced by the participant P1 [...] under most existing FL algorithms",
          "P1 loses in half of the imbalanced settings under methods with a server",
          gains(lambda row: "c10-" in row.table and row.method in ("FedAvg", *FAIR) and _imbalanced(row.run[2]), _first,
                -1), share=0.5),
)  # fmt: skip
