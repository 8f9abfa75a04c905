"""GTP players by name. Bots need no torch; it is loaded only for networks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ludus.evaluation.players import check_device, game_of_player
from ludus.flow.inputs.shown import shown
from ludus.games import spec
from ludus.games.match import Match
from ludus.gtp.expectation import NetworkReader
from ludus.gtp.players import BotPlayer, GoPlayer, MoveChoice, RawNetwork
from ludus.mcts.text import is_search
from ludus.presets.errors import ConfigError
from ludus.rollouts.actor import ActInput
from ludus.storage import zoo
from ludus.storage.references import is_reference, refuse_run


def resolve_player(
    text: str, params: Mapping[str, str], *, seed: int = 1, greedy: bool = False, device: str = "auto"
) -> GoPlayer:
    """Return the player that ``text`` names, whose network is on ``device``.

    Raises:
        ConfigError: No such player or device.
        StorageError: No such run, version or file.
    """
    check_device(device)
    bots = [b.name for b in spec("go").bots]
    if text in bots:
        return BotPlayer(text)
    named, (text, by_card) = text, zoo.played(text)
    greedy = greedy or by_card
    if is_search(text):
        from ludus.gtp.searched import SearchedPlayer

        player = SearchedPlayer(text, params, seed, greedy, device)
        player.name = player.name if named == text else named
        return player
    refuse_run(text)
    if not is_reference(text):
        from ludus.flow.names import did_you_mean

        raise ConfigError(
            f"{text}: go has no such bot{did_you_mean(text, bots)}; a player is a bot's name, RUN@best, "
            "RUN@last, RUN@VERSION, RUN@PLAYER of a league, a weights file or zoo:NAME, any of these weights "
            "with +search:VISITS, or mcts:VISITS"
        )
    return NetworkPlayer(text, params, seed, greedy, device)


class NetworkPlayer:
    """A trained policy without search: it samples a move, or takes the most probable with ``greedy``."""

    def __init__(
        self, text: str, params: Mapping[str, str], seed: int, greedy: bool, device: str = "auto"
    ) -> None:
        """Load the weights that ``text`` names.

        Args:
            text: Reference of the weights.
            params: Parameters of the game; those that the weights were trained on replace them.
            seed: Seed of sampling.
            greedy: Take the most probable move instead of sampling.
            device: Device of the network.

        Raises:
            ConfigError: The weights are of another game, or have a memory.
        """
        from ludus.evaluation.players import resolve_player
        from ludus.rollouts.network_actor import NetworkActor

        trained = game_of_player(text)
        if trained is None or trained[0] != "go":
            game = shown(trained[0]) if trained else "no game"
            raise ConfigError(f"{text}: weights of {game}; GTP plays go")
        kept = {k: v for k, v in trained[1].items() if k in ("size", "features", "resignation")}
        self.needs: Mapping[str, str] = {"size": spec("go").params[0].default_value, **kept}
        rules = spec("go", {**params, **self.needs})
        player = resolve_player(text, rules, seed=seed, greedy=greedy, device=device)
        if player.actor is None or player.actor.memory_shape is not None:
            raise ConfigError(
                f"{text}: GTP does not support policies with memory (undo and set-up positions)"
            )
        assert isinstance(player.actor, NetworkActor)
        self.name = player.name
        self._actor, self._step = player.actor, 0
        self._reader = NetworkReader(player.actor.network)

    def prepare(self, params: Mapping[str, str]) -> None:
        """Do nothing: the size is in ``needs``, and the network does not observe komi."""

    def choose(self, match: Match, seconds: float | None) -> MoveChoice:
        """Choose a move, as :class:`~ludus.gtp.players.GoPlayer`; ``seconds`` is ignored."""
        (seat,) = match.to_act
        obs = {name: array[None].copy() for name, array in match.observe(seat).items()}
        mask = match.legal(seat)[None].copy()
        self._step += 1
        rows = np.zeros(1, np.int32)
        decision = self._actor.act(ActInput(obs, mask, None, np.ones(1, np.uint8), self._step, rows))
        return MoveChoice(int(decision.actions[0, 0]), float(decision.value[0]))

    def read(self, match: Match, symmetry: int) -> RawNetwork:
        """Return the network's outputs, as :class:`~ludus.gtp.players.PositionReader`."""
        return self._reader.read(match, symmetry)
