"""The schemes of the paper, drawn by us: one round of CYCle, an encrypted answer, one round of gossip."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from reproduction.draw.style import COLOURS, GROUNDS, WIDE

MINE, THEIRS, PLAIN = GROUNDS["mine"], GROUNDS["theirs"], GROUNDS["plain"]  # the participant shown, its peers, neutral
ONCE, ALWAYS = COLOURS["vpdl"], "black"  # arrows: at the start of the protocol, in every round


def _canvas(height: float):
    """Boxes do not fit a phone: there the drawing scrolls in its box."""
    figure, ax = plt.subplots(figsize=(WIDE, height))
    ax.set(xlim=(0, 100), ylim=(0, 100))
    ax.axis("off")
    return figure, ax


def _box(ax, x, y, text, ground=PLAIN):
    """A text in a box around (x, y); the box comes back, for arrows to end at."""
    style = {"boxstyle": "round,pad=0.45", "facecolor": ground, "edgecolor": "black", "linewidth": 0.8}
    return ax.text(x, y, text, ha="center", va="center", size=9, bbox=style, zorder=3)


def _arrow(ax, start, end, text="", colour=ALWAYS, dashed=False, bend=0.0, at=None):
    """From one box to another; `at` is where the text stands."""
    ends = [box.get_position() for box in (start, end)]
    style = {"arrowstyle": "-|>", "color": colour, "lw": 1.3, "linestyle": "--" if dashed else "-"}
    style |= {"connectionstyle": f"arc3,rad={bend}", "shrinkA": 2, "shrinkB": 4}
    style |= {"patchA": start.get_bbox_patch(), "patchB": end.get_bbox_patch()}
    ax.annotate("", ends[1], ends[0], arrowprops=style, zorder=4)  # after the boxes, whose outlines end it
    if text:
        at = at or [(a + b) / 2 for a, b in zip(*ends, strict=True)]
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        ax.text(*at, text, ha="center", va="center", size=9, color=colour, bbox=ground, zorder=5)


def protocol() -> Figure:
    """One round of CYCle between two participants: answers, score, weight, and who answers whom next."""
    figure, ax = _canvas(4.4)
    ax.text(25, 97, r"$\mathcal{P}_n$ (learns)", ha="center", weight="bold")
    ax.text(82, 97, r"$\mathcal{P}_k$ (answers)", ha="center", weight="bold")
    samples = _box(ax, 12, 82, r"samples $\mathcal{D}_n$", MINE)
    model = _box(ax, 82, 82, r"model $\mathcal{M}_{\theta_k}$", THEIRS)
    own = _box(ax, 12, 56, r"$\nabla_{\theta_n} \mathcal{L}_{CE_n}$", MINE)
    theirs = _box(ax, 40, 56, r"$\nabla_{\theta_n} \mathcal{L}_{DL_{(n,k)}}$", MINE)
    score = _box(ax, 25, 33, r"$\tilde r = h(s)$,  $s = (1 - \cos)/2$", MINE)
    reputation = _box(ax, 25, 12, r"$r_{(n,k)} \leftarrow \alpha\, r_{(n,k)} + (1-\alpha)\, \tilde r$", MINE)
    draw = _box(ax, 82, 56, "answers with\n" + r"probability $r_{(k,n)}$," + "\nalways when $t$ mod $R = 0$", THEIRS)
    step = _box(ax, 62, 33, r"step on $\mathcal{L}_{CE_n} + \lambda_0 \sum_k r_{(n,k)} \mathcal{L}_{DL_{(n,k)}}$", MINE)
    answers = _box(
        ax, 76, 12, r"$\mathcal{P}_n$ answers $\mathcal{P}_k$" + "\n" + r"with probability $r_{(n,k)}$", MINE
    )
    _arrow(ax, samples, model, "questions (encrypted)", ONCE, dashed=True)
    _arrow(ax, model, draw)
    _arrow(ax, draw, theirs, "answers", dashed=True)
    _arrow(ax, samples, own)
    _arrow(ax, own, score)
    _arrow(ax, theirs, score)
    _arrow(ax, score, reputation, "every $R$ rounds", at=(12, 22))
    _arrow(ax, reputation, step, "weight", bend=0.1)
    _arrow(ax, reputation, answers, "sharing")
    return figure


def encrypted_answer() -> Figure:
    """CaPriDe's scheme for P_1 and one peer: what travels once, what travels in every round, who can read it."""
    figure, ax = _canvas(4.4)
    ax.axvspan(56, 100, ymax=0.93, color=THEIRS, alpha=0.35, zorder=0)
    ax.text(26, 97, r"$\mathcal{P}_1$ (has the key)", ha="center", weight="bold")
    ax.text(78, 97, r"$\mathcal{P}_k$ (sees ciphertexts only)", ha="center", weight="bold")
    data = _box(ax, 10, 84, r"$\mathcal{X}_1$, $\mathcal{Y}_1$", MINE)
    sent = _box(ax, 36, 84, r"$\mathcal{E}(\mathcal{X}_1)$", MINE)
    model = _box(ax, 78, 84, r"$\mathcal{M}_{\theta_k}$ on $\mathcal{E}(\mathcal{X}_1)$", THEIRS)
    logits = _box(ax, 78, 60, r"$\mathcal{E}(z_{(1,k)})$", THEIRS)
    product = _box(ax, 78, 34, r"$\sum_j \mathcal{E}(p_{(1,1)}) \cdot \mathcal{E}(z_{(1,k)})/T$", THEIRS)
    own = _box(ax, 10, 60, r"$p_{(1,1)}$", MINE)
    hidden = _box(ax, 36, 60, r"$\mathcal{E}(p_{(1,1)})$", MINE)
    opened = _box(ax, 30, 34, r"decrypt: $\mathcal{L}_{DL_{(1,k)}}$", MINE)
    step = _box(ax, 26, 10, r"step on $\mathcal{L}_{CE_1} + \lambda_1 \sum_k \mathcal{L}_{DL_{(1,k)}}$", MINE)
    _arrow(ax, data, sent)
    _arrow(ax, sent, model, "once", ONCE, dashed=True)
    _arrow(ax, model, logits)
    _arrow(ax, logits, product)
    _arrow(ax, data, own, r"$\mathcal{M}_{\theta_1}$")
    _arrow(ax, own, hidden)
    _arrow(ax, hidden, product, "every round", dashed=True)
    _arrow(ax, product, opened, "every round", dashed=True)
    _arrow(ax, own, opened, bend=0.15)
    _arrow(ax, opened, step)
    return figure


def gossip_round() -> Figure:
    """One round of Gossip-SGD with the weights that P_1 uses: everybody steps alone, then averages."""
    figure, ax = _canvas(3.8)
    titles = (14, "$x_i^{(t)}$"), (48, "SGD step: $x_i^{(t+1/2)}$"), (86, "gossip step: $x_i^{(t+1)}$")
    for x, title in titles:
        ax.text(x, 96, title, ha="center", weight="bold")
    mixed = _box(ax, 86, 78, r"$\sum_j w_{1j}\, x_j^{(t+1/2)}$", MINE)
    for y, name, weight in ((78, "1", "w_{11}"), (52, "2", "w_{12}"), (14, "N", "w_{1N}")):
        ground = MINE if name == "1" else THEIRS
        before = _box(ax, 14, y, rf"$\mathcal{{P}}_{name}$:  $x_{name}^{{(t)}}$", ground)
        after = _box(ax, 48, y, rf"$x_{name}^{{(t)}} - \eta\, g_{name}^{{(t)}}$", ground)
        _arrow(ax, before, after)
        _arrow(ax, after, mixed, f"${weight}$", dashed=name != "1")
        if name != "1":
            ax.text(86, y, f"likewise at $\\mathcal{{P}}_{name}$", ha="center", va="center", size=9, color="black")
    for x in (14, 48, 86):
        ax.text(x, 33, r"$\vdots$", ha="center", va="center")
    return figure
