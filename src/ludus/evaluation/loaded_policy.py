"""Trained weights as an object that acts: ``ludus.load_policy("RUN@best").act(observation)``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.evaluation.players import game_of_player
from ludus.evaluation.weights import check_spec
from ludus.flow import GameSpec, Weights, WeightsMeta, decode_spec
from ludus.flow.inputs.shown import visible
from ludus.flow.process.as_found import as_found
from ludus.flow.slab import Array
from ludus.flow.spec import HeadSpec, TensorSpec
from ludus.games import spec as game_spec
from ludus.games import typed
from ludus.games.exports.values import Face, SpecFace
from ludus.games.match import ParamError
from ludus.games.registry import BUILT_IN, maker
from ludus.mcts.text import is_search
from ludus.policies.protocol import Network
from ludus.policies.weights import WeightsError, build_policy, load_weights
from ludus.presets import hardware
from ludus.presets.checks.game import params_text
from ludus.presets.config import Device, ParamValue
from ludus.presets.errors import ConfigError
from ludus.rollouts.actor import ActInput
from ludus.rollouts.network_actor import NetworkActor
from ludus.storage import resolve_weights, zoo

GYMNASIUM = "gymnasium/"
_FEW = 12  # listed labels of a head


class LoadedPolicy:
    """A policy network with its memory, for one environment or a batch of them.

    Not safe for several threads. Sampled actions depend only on the seed, the number of calls and the row.
    A copy (``copy.deepcopy``, ``pickle``, an argument of another process) continues from the memory and the
    number of calls of that moment; :meth:`reset` clears its memory.
    """

    def __init__(
        self, network: Network, meta: WeightsMeta, face: Face, *, seed: int, deterministic: bool
    ) -> None:
        """Wrap a network; users call :func:`load_policy`."""
        self.spec: GameSpec = network.spec
        #: The game, as weights and runs name it.
        self.game = meta.game
        #: Version of the weights: the number of updates that made them.
        self.version = meta.version
        #: Ticks between two decisions in training; environments take it as ``frame_skip``.
        self.frame_skip = meta.frame_skip
        #: Whether :meth:`act` takes the most probable choices by default.
        self.deterministic = deterministic
        self._face = face
        self._network = network
        self._actor = NetworkActor(network, seed, meta.version)
        self._calls = 0
        self._memory: Array | None = None
        self._first: npt.NDArray[np.bool_] = np.ones(0, np.bool_)

    def __repr__(self) -> str:
        """Game, version and spaces on one line."""
        seen = ", ".join(map(_tensor_text, self._network.inputs))
        made = ", ".join(map(_head_text, self.spec.heads))
        return f"LoadedPolicy({visible(self.game)}, version {self.version}: {seen} -> {made})"

    def __str__(self) -> str:
        """Game, version, spaces and the manner of acting, one a line."""
        memory = self._actor.memory_shape
        manner = "the most probable choices" if self.deterministic else "samples"
        kept = f"memory of {'x'.join(map(str, memory))} numbers" if memory else "no memory"
        lines = [f"policy of {visible(self.game)}, version {self.version} of its weights"]
        lines += [f"  observes {_tensor_text(t)}" for t in self._network.inputs]
        lines += [f"  chooses  {_head_text(h)}" for h in self.spec.heads]
        often = "every tick" if self.frame_skip == 1 else f"every {self.frame_skip} ticks"
        return "\n".join([*lines, f"  acts     {often} by {manner}, {kept}"])

    def reset(self, rows: npt.ArrayLike | None = None) -> None:
        """Clear the memory: call it at the start of an episode.

        Args:
            rows: ``bool[N]``, the rows of a batch whose episode starts (default: all rows; the next batch
                may have another size).
        """
        if rows is None:
            self._memory, self._first = None, np.ones(0, np.bool_)
            return
        fresh = np.asarray(rows)
        if fresh.dtype != np.bool_ or fresh.ndim != 1:
            raise ValueError(f"reset: rows of {fresh.dtype}{list(fresh.shape)}, expected bool[N]")
        if len(self._first) != len(fresh):
            raise ValueError(f"reset: {len(fresh)} rows, the policy acts for {len(self._first)}")
        self._first |= fresh

    def act(self, observation: Any, mask: Any = None, *, deterministic: bool | None = None) -> Any:
        """Choose actions in the environment's own spaces.

        Args:
            observation: The environment's observation: a dict of arrays by tensor name (``ludus.gymnasium``,
                ``ludus.Match.observe``), or a member of the observation space of a ``gymnasium/...`` game.
                With a leading axis: a batch, as in vector environments.
            mask: ``info["legal"]`` or ``info["action_mask"]``; None: the ``action_mask`` in the observation
                of a ``gymnasium/...`` game; in other games, everything is legal.
            deterministic: The most probable choice of each head instead of a sample (default: as loaded).

        Returns:
            An action, or a batch of actions, that the environment's ``step`` takes. Continuous actions are
            float32 within the bounds of the space.

        Raises:
            ValueError: Observation or mask do not belong to the game, or hold a number that their tensors
                cannot (NaN, infinity); or the batch has another size than before without :meth:`reset`. The
                memory is as before then.
            NotFinite: The weights have diverged: outputs are NaN or infinite.
        """
        seen, count = self._face.rows(observation, self._network.inputs)
        rows = 1 if count is None else count
        legal = self._face.legal(observation, mask, count)
        if len(self._first) == 0:
            self._first = np.ones(rows, np.bool_)
            shape = self._actor.memory_shape
            self._memory = None if shape is None else np.zeros((rows, *shape), np.float32)
        elif len(self._first) != rows:
            raise ValueError(
                f"a batch of {rows} after one of {len(self._first)}: call reset() before the size changes"
            )
        self._actor.greedy = self.deterministic if deterministic is None else deterministic
        decision = self._actor.act(
            ActInput(seen, legal, self._memory, self._first, self._calls, np.arange(rows, dtype=np.int32))
        )
        self._calls += 1
        self._memory = decision.memory
        self._first = np.zeros(rows, np.bool_)
        return self._face.actions(decision.actions, count)


def _tensor_text(tensor: TensorSpec) -> str:
    return f"{visible(tensor.name)} {tensor.dtype}[{', '.join(map(str, tensor.shape))}]"


def _head_text(head: HeadSpec) -> str:
    """Return ``move: one of 9``, or the range of a number, with the labels where they are few."""
    if head.kind == "continuous":
        bounds = f" in [{head.low:g}, {head.high:g}]" if head.low < head.high else ""
        return f"{visible(head.name)}: a number{bounds}"
    few = 0 < len(head.labels) <= _FEW
    labels = f" ({', '.join(map(visible, head.labels))})" if few else ""
    return f"{visible(head.name)}: one of {head.size}{labels}"


@as_found()
def load_policy(
    reference: str,
    *,
    game: str = "",
    params: dict[str, ParamValue] | None = None,
    seed: int = 0,
    deterministic: bool = False,
    device: Device = "auto",
) -> LoadedPolicy:
    """Load weights as a policy that acts. Loading never runs code that the weights name.

    Args:
        reference: ``RUN@best``, ``RUN@last``, ``RUN@VERSION``, ``RUN@PLAYER`` or ``RUN@PLAYER:VERSION`` of a
            league, a run directory (its best), a weights file, or ``zoo:NAME``: its network, without a
            search.
        game: The game; the weights must belong to it. Needed if the environment comes from
            your own module (``gymnasium/my_package:MyEnv-v0``) or your game has its own codecs.
        params: Parameters of the game (default: the run's).
        seed: Seed of sampled actions.
        deterministic: The most probable choice of each head instead of a sample. Players of the zoo that
            play greedily take it anyway.
        device: Device of the network: ``auto`` (the processor), ``cpu`` or ``cuda``.

    Returns:
        The policy; ``print`` shows its game, version and spaces.

    Raises:
        ConfigError: Not weights of one network, of another game, or an environment with other spaces; no
            such device.
        StorageError: No such run, version or file.
    """
    if is_search(reference):
        raise ConfigError(
            f"{reference}: a searched player decides from states, not observations: ludus.search"
        )
    where = hardware.device_of(device)
    try:
        if game:  # a game of one's own brings its codecs
            game_spec(typed(game), _params_of(reference, params))
        weights = load_weights(resolve_weights(reference))
        network = build_policy(weights, where)
    except WeightsError as error:
        raise ConfigError(error) from error
    except ParamError as error:
        raise ConfigError(error, where=reference) from error
    face = _face(reference, weights, game, params)
    deterministic = deterministic or zoo.played(reference)[1]
    return LoadedPolicy(network, weights.meta, face, seed=seed, deterministic=deterministic)


def _params_of(reference: str, params: dict[str, ParamValue] | None) -> dict[str, str]:
    """Return ``params``, or the run's."""
    if params is not None:
        return params_text(params)
    trained = game_of_player(reference)
    return trained[1] if trained is not None else {}


def _face(reference: str, weights: Weights, game: str, params: dict[str, ParamValue] | None) -> Face:
    meta, theirs = weights.meta, decode_spec(weights.meta.spec)
    hosted = meta.game.startswith(GYMNASIUM)
    if hosted and ":" in meta.game and not game:
        raise ConfigError(
            f"{reference}: weights of {meta.game}, whose module is imported only if you name it: "
            f'load_policy("{reference}", game="{meta.game}")'
        )
    if not hosted and not game:
        if meta.game in BUILT_IN and game_spec(meta.game).version != theirs.version:
            raise ConfigError(
                f"{reference}: made for version {theirs.version} of {meta.game}, this is version "
                f"{game_spec(meta.game).version}"
            )
        return SpecFace(theirs)
    given = _params_of(reference, params)
    try:
        check_spec(meta, game_spec(game or meta.game, given), reference)
        if not hosted:
            return SpecFace(theirs)
        from ludus.games.adapters.gymnasium import GymnasiumMaker
        from ludus.games.adapters.gymnasium_face import GymnasiumFace

        made = maker(game or meta.game, given)
    except ParamError as error:
        raise ConfigError(error, where=reference) from error
    guest = getattr(made, "guest", made)  # the maker inside the one that contains its code
    assert isinstance(guest, GymnasiumMaker)
    return GymnasiumFace(guest)
