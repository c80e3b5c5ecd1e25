"""Answers between ranks: everybody's samples once, then in each round questions and answers, all as messages.

The numbers are those of `participants.live`: an answer is computed on the same batches in the same order.
"""

import torch
from torch import nn

from cycle import participants
from cycle.options import Options
from cycle.participants import SCORE, TRAIN, Participant, Task, answer, at_once, stored, stream
from cycle.ranks import Ranks


def question(participant: Participant, purpose: int, epoch: int, options: Options) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows that `learn` or `score` will look at, in order, and what the peers need to know: rows or images."""
    device = participant.device
    with stream(device, participant.seed, purpose, participant.index, epoch):
        order = torch.randperm(participant.size, device=device)
        if purpose == SCORE:
            rows = order[: options.score_samples]
            return rows, rows
        if not options.augment:
            return order, order
        batches = [participant.pixels(participant.images[rows], True) for rows in order.split(options.batch_size)]
        return order, torch.cat(batches).permute(0, 2, 3, 1)


class Correspondence:
    """What the participants here say to and hear from all others."""

    def __init__(self, ranks: Ranks, people: list[Participant], task: Task, options: Options):
        if options.privacy != "plain":
            raise ValueError("privacy must be 'plain' with several ranks")
        if options.augment and any(isinstance(part, nn.Dropout) for part in people[0].model.modules()):
            raise ValueError("augment must be False with several ranks and a model with dropout: they share a stream")
        self.ranks, self.options, self.sizes = ranks, options, [len(part) for part in task.parts]
        self.people = {person.index: person for person in people}
        self.device, self.classes = people[0].device, task.dataset.num_classes
        self.image = people[0].images.shape[1:]
        samples = {(n, k): person.images for n, person in self.people.items() for k in range(task.n) if k != n}
        self.samples = self._exchange(samples, lambda n, k: (self.sizes[n], *self.image), torch.uint8)

    def _exchange(self, messages, shape, dtype):
        return self.ranks.exchange(messages, shape, dtype, self.device)

    def ask(self, shares, epoch: int, scoring: bool):
        """(k, n, purpose) -> the answers of k that n hears, all of them delivered before anybody learns."""
        purposes = (SCORE, TRAIN) if scoring else (TRAIN,)
        heard = {pair: answers for purpose in purposes for pair, answers in self._round(shares, epoch, purpose).items()}
        return lambda k, n, purpose: heard[k, n, purpose]

    def _round(self, shares, epoch, purpose):
        asked = {n: question(person, purpose, epoch, self.options) for n, person in self.people.items()}
        images = purpose == TRAIN and self.options.augment
        count = [min(size, self.options.score_samples) if purpose == SCORE else size for size in self.sizes]
        questions = self._exchange(
            {(n, int(k)): content for n, (_, content) in asked.items() for k in shares[:, n].nonzero()[0]},
            lambda n, k: (count[n], *(self.image if images else ())),
            torch.float32 if images else torch.int64,
        )
        answers = self._exchange(
            {(k, n): self._answer(k, n, purpose, content) for (n, k), content in questions.items()},
            lambda k, n: (count[n], self.classes),
            torch.float32,
        )
        heard = {}
        for (k, n), logits in answers.items():
            table = torch.zeros(self.sizes[n], self.classes, device=self.device)
            table[asked[n][0]] = logits
            heard[k, n, purpose] = stored(table)
        return heard

    def _answer(self, k, n, purpose, content):
        """Batch by batch as n will use them."""
        person = self.people[k]
        model = person.model.eval()
        scored = at_once(self.samples[n, k], participants.GRAPH_PIXELS)
        batches = content.split(scored if purpose == SCORE else self.options.batch_size)
        if content.dim() > 1:
            return torch.cat([answer(model, batch.permute(0, 3, 1, 2)) for batch in batches])
        return torch.cat([answer(model, person.pixels(self.samples[n, k][rows])) for rows in batches])
