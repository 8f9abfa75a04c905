"""Policy network: packed observations in, distributions, value and memory out.

Shapes: ``N`` rows, ``T`` steps, ``B`` rows of a sequence, ``A`` choices of all heads. Observations are
given packed, as they lie in a slab: ``obs[name]: [N, *packed_shape]``.
"""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import Tensor, nn

from ludus.flow import GameSpec, HeadSpec
from ludus.policies.accelerator import executor_of
from ludus.policies.actions.action_distribution import ActionDistribution, Independent
from ludus.policies.actions.autoregressive import AutoregressiveDistribution, AutoregressiveHeads
from ludus.policies.actions.continuous import FreeDeviation
from ludus.policies.actions.heads import heads_of
from ludus.policies.actions.outputs import check_output
from ludus.policies.actions.own_draws import own_draws
from ludus.policies.actions.pointed import check_pointer
from ludus.policies.actions.q_values import QValues
from ludus.policies.config import EncoderConfig, encode_config
from ludus.policies.critic import Critic, CriticInput, Mates, Others, split_memory
from ludus.policies.encoder import Encoder
from ludus.policies.encoding import Encoding as Encoding
from ludus.policies.encoding import Sequence as Sequence
from ludus.policies.encoding import spread, spread_rows
from ludus.policies.initial import draw_orthogonal
from ludus.policies.layers.batch_norm import batch_norms, counting
from ludus.policies.layers.normaliser import HeadsNormaliser, ObservationNormaliser, ValueNormaliser
from ludus.policies.layers.torso import Planes, Residual, Rows
from ludus.policies.memory import Recall, Recurrent
from ludus.policies.protocol import BoardNetwork, Observation, Step, autocast


class PolicyNetwork(Encoder):
    """An encoder; optional memory; masked heads and a value.

    The value head reads the same features as the policy's heads, or the features of ``critic``, an encoder
    (``config.critic = "own"``). The value then depends on no parameter of the policy. It may see other seats'
    observations (``critic.py``); then only :meth:`flat` evaluates it.
    With ``config.output = "q"`` the policy's heads give Q-values, and the value is the best decision's
    if every choice were legal: the mask is not known here.
    Frozen statistics: observation columns of vectors and of value targets (``normaliser.py``).
    """

    epsilon: Tensor | None

    @own_draws
    def __init__(
        self, config: EncoderConfig, spec: GameSpec, seed: int | None = 0, precision: str = "float32"
    ) -> None:
        """Make a network with initial weights.

        Args:
            config: Configuration of the network.
            spec: Spec of the game.
            seed: Seed of the initial weights, without torch's global generator; None: the caller loads them.
            precision: ``float32`` or ``bfloat16``, of the encoders.

        Raises:
            ValueError: Configuration and spec do not match.
        """
        super().__init__(config, spec, seed=seed)
        for key, text in config.problems():
            if key.startswith("critic"):
                raise ValueError(f"policy.{key} {text}")
        check_output(config, spec)
        self.spec = spec
        self.precision = precision
        self.heads = heads_of(spec)
        vector = self.vector_size
        self.normaliser = ObservationNormaliser(vector) if vector and config.normalise_observations else None
        self.recall: Recall | None = None
        if config.memory == "recall":
            if not vector:
                raise ValueError("policy.memory = recall reads vector inputs; policy.inputs names none")
            self.recall = Recall(vector)
        self.recurrent = (
            Recurrent(config.memory, self.join.size, config.memory_size)
            if config.memory in ("gru", "lstm")
            else None
        )
        features = self.recurrent.size if self.recurrent is not None else self.join.size
        self.policy_head = self._policy_head(features)
        own_critic = self.own is not None and config.critic == "own"  # it has no torsos of pointing heads
        valued = self.own_size if own_critic and self.recurrent is None else features
        self.value_head = nn.Linear(valued, config.value_heads)
        self.values: ValueNormaliser | None = None
        if config.normalise_values:
            several = config.value_heads > 1
            self.values = HeadsNormaliser(config.value_heads) if several else ValueNormaliser()
        #: of the value only; None if it shares the policy's encoder
        self.critic = Critic(config, spec, seed) if config.critic == "own" else None
        self._static: bool | None = None
        #: share of choices drawn evenly while Q-values act; set by the learner, 0 in weights files
        self.register_buffer("epsilon", torch.zeros(()) if config.output == "q" else None)
        if seed is not None:
            self.initialise(seed)

    def _policy_head(self, features: int) -> nn.Linear | FreeDeviation | AutoregressiveHeads:
        if self.config.deviation == "free":
            return FreeDeviation(features, self.heads)
        pointers = [h for h in self.spec.heads if h.points_at]
        if self.heads.dependent or pointers:
            sizes = {h.points_at: self._entity_size(h) for h in pointers}
            return AutoregressiveHeads(self.spec, features, sizes, self.config.context)
        return nn.Linear(features, self.heads.choices)

    def _entity_size(self, head: HeadSpec) -> int:
        kind = check_pointer(self.spec.name, head, self.layouts).kind
        if kind == "planes":
            planes = self.planes[head.points_at]
            assert isinstance(planes, Planes | Residual)
            return planes.cell_size
        rows = self.rows[head.points_at]
        assert isinstance(rows, Rows)
        return rows.each.size

    def initialise(self, seed: int, only: Collection[str] | None = None) -> None:
        """Draw orthogonal matrices (Saxe et al. 2014) and zero biases, for a nearly uniform policy.

        Args:
            seed: Seed of the draws.
            only: Names of the matrices to draw, which take most of the time; None for all.
        """
        generator = torch.Generator().manual_seed(seed)
        near_zero = (
            self.policy_head.linear if isinstance(self.policy_head, FreeDeviation) else self.policy_head
        )
        small = {id(near_zero): 0.01, id(self.value_head): 1.0}
        encoders = (self.own, self.critic.own if self.critic is not None else None)
        draw_orthogonal(self, small, [own for own in encoders if own is not None], generator, only)
        if isinstance(self.policy_head, AutoregressiveHeads):
            with torch.no_grad():
                self.policy_head.initialise(generator)

    def critic_parameters(self) -> dict[str, nn.Parameter]:
        """Return the parameters that only the value depends on, by name.

        These are the value head's and a separate critic's.
        """
        return {n: p for n, p in self.named_parameters() if n.startswith(("value_head.", "critic."))}

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return self.value_head.weight.device

    @property
    def static(self) -> bool:
        """Whether outputs are computed by static forms: no shape depends on data, the host waits for nothing.

        The executor of the weights' device decides until it is set.
        """
        return executor_of(self.device).static if self._static is None else self._static

    @static.setter
    def static(self, static: bool) -> None:
        self._static = static
        if self.values is not None:
            self.values.static = static

    @property
    def memory_shape(self) -> tuple[int, ...] | None:
        """Shape of one row's memory, or None."""
        memory = self.recurrent or self.recall
        if memory is None:
            return None
        theirs = self.critic.memory_size if self.critic is not None else 0
        return (*memory.shape[:-1], memory.shape[-1] + theirs)

    @property
    def architecture(self) -> str:
        """The configuration as JSON text, as in a weights file."""
        return encode_config(self.config)

    @property
    def board(self) -> BoardNetwork | None:
        """None: see :class:`ludus.policies.protocol.Network`."""
        return None

    def initial_memory(self, rows: int) -> Tensor | None:
        """Return zeros ``[rows, *memory_shape]``, or None."""
        shape = self.memory_shape
        return None if shape is None else torch.zeros((rows, *shape), device=self.device)

    def recalled(self, obs: Observation, first: Tensor, active: Tensor, memory: Tensor | None) -> Tensor:
        """Return the state of :class:`Recall` after each time step: ``[T, B, 2, D]``. Takes no gradient."""
        if self.recall is None or memory is None:
            raise ValueError("a policy with memory needs the memory at the start of a sequence")
        steps, rows = first.shape
        with torch.no_grad():
            vector = self.vectors({t.name: obs[t.name].flatten(0, 1) for t in self.inputs}, self.static)
            assert vector is not None
            return self.recall.sequence(
                vector.reshape(steps, rows, *vector.shape[1:]), memory, first.bool(), active
            )

    @property
    def centralised(self) -> bool:
        """Whether the value depends on other seats' observations, so that only the learner computes it."""
        return self.critic is not None and self.critic.seats > 0

    @property
    def team_memories(self) -> bool:
        """Whether the value depends on the memories of the other seats of a team."""
        return self.centralised and self.recurrent is not None

    @property
    def values_in_acting(self) -> bool:
        """Whether acting gives values; only the learner evaluates several heads or other seats."""
        return not self.centralised and self.config.value_heads == 1

    def encode(
        self,
        obs: Observation,
        recalled: Tensor | None = None,
        others: Others | None = None,
        counted: Tensor | None = None,
    ) -> Encoding:
        """Encode ``obs[name]: [N, *packed]`` for the heads.

        Args:
            obs: Observations of the seats that decide.
            recalled: ``[N, 2, D]``, the state of :class:`Recall` after these observations.
            others: Observations of the seats that a centralised critic sees; None: do not evaluate it.
            counted: ``bool[N]``, the rows that batch norms record; None: all. The rest only fills a shape.
        """
        if counted is None:
            return self._encode(obs, recalled, others, None)
        with counting(batch_norms(self), counted):
            return self._encode(obs, recalled, others, counted)

    def _encode(
        self, obs: Observation, recalled: Tensor | None, others: Others | None, counted: Tensor | None
    ) -> Encoding:
        static = self.static
        vector = self._vector(obs, static, recalled)
        features, pointed = self.features(obs, vector, static)
        critic: Tensor | None = features
        if self.critic is not None:
            critic = None
            if self.critic.recurrent is not None:
                return Encoding(features, None, pointed)  # its memory runs apart
            if not self.centralised or others is not None:
                critic = self.critic.features(obs, vector, static)[0]
            if critic is not None and others is not None:
                seen = self._of_others(self.critic, others, counted)
                critic = self.critic.joined(critic, seen, others)
        return Encoding(features, critic, pointed)

    def _of_others(self, critic: Critic, others: Others, counted: Tensor | None) -> Tensor:
        """Return features of other seats, ``[M, size]``."""
        vector = self._vector(others.obs, self.static)
        present = others.present
        if counted is not None:
            every = counted.unsqueeze(1).expand(-1, critic.seats).flatten()
            present = every.index_select(0, others.place) if present is None else present & every
        if present is None:
            return critic.features(others.obs, vector, self.static)[0]
        with counting(batch_norms(critic), present):
            return critic.features(others.obs, vector, self.static)[0]

    def _vector(self, obs: Observation, static: bool, recalled: Tensor | None = None) -> Tensor | None:
        """Return the input of dense torsos."""
        vector = self.vectors(obs, static)
        if vector is None:
            return None
        if recalled is not None:  # each in the units of the input that it recalls
            vector = torch.cat([vector.unsqueeze(1), recalled], dim=1)
        if self.normaliser is not None:
            vector = self.normaliser(vector)
        return vector.flatten(1)

    def outputs(self, encoded: Encoding) -> tuple[ActionDistribution, Tensor | None]:
        """Return action distributions and normalised values, None without ``encoded.critic``."""
        features = encoded.features.float()
        value: Tensor | None = None
        if encoded.critic is not None:
            critic = features if encoded.critic is encoded.features else encoded.critic.float()
            value = self.value_head(critic).squeeze(-1)
        if isinstance(self.policy_head, AutoregressiveHeads):
            return AutoregressiveDistribution(self.policy_head, features, encoded.pointed, self.static), value
        scores = self.policy_head(features)
        if self.epsilon is not None:
            q = QValues(self.heads, scores, value if self.config.duelling else None, self.epsilon)
            return q, q.best_unmasked()
        return Independent(self.heads, scores), value

    def for_acting(self) -> PolicyNetwork:
        """Store the weights of the torsos in the precision of their use, and return the network itself.

        Outputs stay the same, and no decision converts weights. The network cannot be trained afterwards.
        """
        if self.precision == "bfloat16":
            for encoder in (self, self.critic):
                if encoder is not None:
                    encoder.store_as_used(torch.bfloat16)
        return self

    def denormalise(self, value: Tensor) -> Tensor:
        """Return predictions of the value head in the game's own units."""
        return self.values.denormalise(value) if self.values is not None else value

    def normalise(self, returns: Tensor) -> Tensor:
        """Return targets of the value head for returns in the game's own units."""
        return self.values.normalise(returns) if self.values is not None else returns

    @torch.no_grad()
    def step(self, obs: Observation, memory: Tensor | None = None, first: Tensor | None = None) -> Step:
        """Decide once for ``N`` rows. ``memory[N, ...]`` and ``first: bool[N]`` only with memory.

        Values that acting does not give (:attr:`values_in_acting`) are 0.
        """
        if self.memory_shape is not None and (memory is None or first is None):
            raise ValueError("a policy with memory needs memory and first at every step")
        if self.recall is not None:
            assert memory is not None
            assert first is not None
            vector = self.vectors(obs, self.static)
            assert vector is not None
            memory = self.recall.step(vector, memory, first.bool())
        with autocast(self.device, self.precision):
            encoded = self.encode(obs, memory if self.recall is not None else None)
        if self.recurrent is not None:
            assert memory is not None
            assert first is not None
            memory, theirs = split_memory(memory, self.recurrent.size)
            memory = self.recurrent.step(encoded.features.float(), memory, first.bool())
            output = self.recurrent.output(memory)
            encoded = Encoding(output, output, encoded.pointed)
            if self.critic is not None:
                critic, theirs = self.critic.step(self._critic_features(obs), theirs, first.bool())
                encoded = encoded._replace(critic=critic)
                memory = torch.cat([memory, theirs], dim=-1)
        distribution, value = self.outputs(encoded)
        if value is None or not self.values_in_acting:
            return Step(distribution, encoded.features.new_zeros(len(encoded.features)).float(), memory)
        return Step(distribution, self.denormalise(value), memory)

    def flat(
        self,
        obs: Observation,
        recalled: Tensor | None = None,
        others: Others | None = None,
        counted: Tensor | None = None,
    ) -> tuple[ActionDistribution, Tensor]:
        """Return action distributions and normalised values of any time steps, without learned memory.

        Values are ``[N]``, or ``[N, K]`` with K > 1 value heads.

        Args:
            obs: ``obs[name]: [N, *packed]``.
            recalled: ``[N, 2, D]`` of these time steps (:meth:`recalled`), for policies with ``Recall``.
            others: Observations of other seats at these time steps, for a centralised critic.
            counted: ``bool[N]``, the time steps that batch norms record; None: all.

        Raises:
            ValueError: A centralised critic without ``others``.
        """
        with autocast(self.device, self.precision):
            encoded = self.encode(obs, recalled, others, counted)
        distribution, value = self.outputs(encoded)
        if value is None:
            raise ValueError("a centralised critic needs the observations of other seats")
        return distribution, value

    def sequence(
        self,
        obs: Observation,
        memory: Tensor | None,
        first: Tensor,
        active: Tensor | None = None,
        mates: Mates | None = None,
    ) -> Sequence:
        """Run the network over rows of time steps. Without memory this is one flat batch.

        Values of a centralised critic are 0: it is not evaluated, unless ``mates`` are known.

        Args:
            obs: ``obs[name]: [T, B, *packed]``.
            memory: ``[B, ...]`` at the start, or None for a policy without memory.
            first: ``bool[T, B]``, whether the row's match starts here.
            active: ``bool[T, B]``. Inactive time steps do not change memory; their outputs are undefined.
            mates: Other seats of the rows' teams, for a critic with memory.
        """
        steps, rows = first.shape
        if active is None:
            active = torch.ones_like(first, dtype=torch.bool)
        flat = {t.name: obs[t.name].flatten(0, 1) for t in self.inputs}
        recalled: Tensor | None = None
        if self.recall is not None:
            each = self.recalled(obs, first, active, memory)
            recalled, memory = each.flatten(0, 1), each[-1]
        with autocast(self.device, self.precision):
            encoded = self._encode_active(flat, recalled, active.flatten())
        if self.recurrent is not None:
            if memory is None:
                raise ValueError("a policy with memory needs the memory at the start of a sequence")
            memory, theirs = split_memory(memory, self.recurrent.size)
            features = encoded.features.float().reshape(steps, rows, *encoded.features.shape[1:])
            outputs, memory = self.recurrent.sequence(features, memory, first.bool(), active)
            output = outputs.flatten(0, 1)
            encoded = Encoding(output, output, encoded.pointed)
            if self.critic is not None:
                inputs = CriticInput({t.name: obs[t.name] for t in self.inputs}, theirs, first.bool(), active)
                critic, theirs = self.critic.sequence(inputs, mates, self._critic_features)
                encoded = encoded._replace(critic=critic)
                memory = torch.cat([memory, theirs], dim=-1)
        distribution, value = self.outputs(encoded)
        if value is None:
            value = encoded.features.new_zeros(steps * rows).float()
        return Sequence(distribution, value.reshape(steps, rows, *value.shape[1:]), memory)

    def _encode_active(self, obs: Observation, recalled: Tensor | None, active: Tensor) -> Encoding:
        """Encode the time steps that are ``active: bool[N]``; the rest is undefined."""
        if self.static:
            return self.encode(obs, recalled, counted=active)
        index = active.nonzero().squeeze(1)
        if index.numel() == active.numel():
            return self.encode(obs, recalled)
        if recalled is not None:
            recalled = recalled.index_select(0, index)
        some = self.encode({name: x.index_select(0, index) for name, x in obs.items()}, recalled)
        return spread(some, index, active.numel())

    def _critic_features(
        self, obs: Observation, active: Tensor | None = None, counted: Tensor | None = None
    ) -> Tensor:
        """Return the critic's features ``float32[N, D]``; see ``critic.Encode`` for the flags."""
        critic, static = self.critic, self.static
        assert critic is not None
        with autocast(self.device, self.precision):
            if active is None or counted is None:
                return critic.features(obs, self._vector(obs, static), static)[0].float()
            if static:
                with counting(batch_norms(critic), counted):
                    return critic.features(obs, self._vector(obs, static), static)[0].float()
            index = active.nonzero().squeeze(1)
            some = {name: x.index_select(0, index) for name, x in obs.items()}
            with counting(batch_norms(critic), counted.index_select(0, index)):
                features = critic.features(some, self._vector(some, static), static)[0].float()
        return spread_rows(features, index, active.numel())
