"""What each benchmark's numbers mean, and the aims that were set before anything was measured."""

import fnmatch
from dataclasses import dataclass


@dataclass(frozen=True)
class Aim:
    """A meaning in words; `most` or `least` where a number has an aim."""

    meaning: str
    most: float | None = None
    least: float | None = None

    @property
    def text(self) -> str:
        if self.most is not None:
            return f"at most {self.most:,g}"
        return "" if self.least is None else f"at least {self.least:,g}"

    def verdict(self, value: float) -> str:
        if not self.text:
            return ""
        met = value <= self.most if self.most is not None else value >= self.least
        return "met" if met else "MISSED"


ROUND = {
    "vpdl_vs_published": Aim("time of a VPDL round, of one shaped like the published trainer", most=0.6),
    "cycle_vs_published": Aim("the same of CYCle, half of the answers sent, scoring included", most=0.5),
    "round_vs_bare_compute": Aim("time of a VPDL round, of its forward and backward passes alone", most=1.15),
    "cycle_round_vs_bare_compute": Aim("the same of CYCle, scoring included in both", most=1.15),
    "fedavg_vs_loader": Aim("time of a FedAvg round, of plain DataLoader loops over the same samples", most=0.75),
    "ops_per_step": Aim("operations dispatched by a training step with four peers", most=110),
    "ops_per_step_alone": Aim("the same of a step without peers"),
    "reputation_overhead": Aim("part of a CYCle round that goes into scoring"),
    "saved_by_*": Aim("part of the published round's time saved by this habit alone"),
    "answers_sent": Aim("part of the possible answers sent in the measured CYCle round"),
}
SCALE = {
    "seconds|*": Aim("processor seconds of a round: kind, participants"),
    "messages|*": Aim("messages of a round"),
    "bytes|*": Aim("bytes of a round's messages"),
    "memory|*": Aim("bytes of all tensors"),
}
THEORY = {
    "grid_seconds": Aim("seconds for 200 x 200 exact values of CYCle's usefulness", most=2),
    "exact_vs_simulation": Aim("how many times faster an exact point is than 10,000 simulated runs", least=100),
}
FHE = {
    "kl_us_per_sample": Aim("microseconds for p . z of a sample, encrypted, 4,096 at once", most=10),
    "kl_vs_naive": Aim("how many times faster than one ciphertext a sample", least=300),
    "kl_error": Aim("largest error of p . z", most=1e-5),
    "mlp_ms_per_sample": Aim("milliseconds a digit, encrypted, through the network 64-32-10", most=0.1),
    "mlp_vs_single_image": Aim("how many times faster than TenSEAL's vector, one image at a time", least=5000),
    "mlp_vs_tensor_batch": Aim("how many times faster than TenSEAL's tensor, all at once", least=10),
    "cnn_ms_per_sample": Aim("milliseconds a 28 x 28 image through a convolution, a square and a linear layer", most=2),
    "cifar_ms_per_sample": Aim("the same of a 3 x 32 x 32 image"),
    "cifar_logit_error": Aim("largest error of a decrypted logit of these images", most=5e-4),
    "cifar_peak_mb": Aim("megabytes of the process at most, with 4,096 such images"),
    "flooding_bits": Aim("bits by which the flood exceeds what evaluation leaves in a logit", least=15),
    "bytes_per_prediction_128": Aim("bytes of an answer for each of 128 samples", most=1100),
    "upload_vs_unseeded": Aim("size of the uploaded samples, of that without seeds", most=0.5),
    "logit_error": Aim("largest error of a decrypted logit", most=5e-4),
    "argmax_agreement": Aim("part of the samples whose class is that of the plain network", least=1),
    "gradient_cosine": Aim("cosine of the gradient from an encrypted answer with the true one", least=0.999999),
    "peak_memory_gb": Aim("gigabytes of the process at most, convolution included", most=1.5),
    "memory_growth_mb": Aim("megabytes that 2,000 encrypted answers leave behind", most=20),
    "refused": Aim("part of the messages forged without the key that are refused", least=1),
}
AIMS = {"round": ROUND, "scale": SCALE, "theory": THEORY, "fhe": FHE}
MINUTES = {"round": 6, "scale": 8, "theory": 0.2, "fhe": 2}  # about, on one core


def aim(benchmark: str, number: str) -> Aim:
    """What a number of a benchmark means."""
    for pattern, found in AIMS[benchmark].items():
        if fnmatch.fnmatchcase(number, pattern):
            return found
    raise ValueError(f"number must be one that reproduction/bench/aims.py explains, got {number!r}: add a line there")


def explained(benchmark: str, measured: dict[str, float]) -> str:
    """Each number with its aim, whether that is met, and what the number says."""
    width = max(map(len, measured))
    rows = []
    for number, value in measured.items():
        of = aim(benchmark, number)
        shown = f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"
        rows.append(f"{number:{width}}  {shown:>12}  {of.text:17} {of.verdict(value):6}  {of.meaning}")
    return "\n".join(row.rstrip() for row in rows)
