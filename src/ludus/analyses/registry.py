"""The analyses by name, for records that are read."""

from __future__ import annotations

from pathlib import Path

from ludus.analyses.analysis import Analysis, computed
from ludus.analyses.doubled_visits import VisitsAnalysis
from ludus.analyses.elo import EloAnalysis
from ludus.analyses.gating import GatingAnalysis
from ludus.analyses.losses import LossesAnalysis
from ludus.analyses.positions.agreement import AgreementAnalysis
from ludus.analyses.positions.ladders import LaddersAnalysis
from ludus.analyses.record import AnalysisRecord, check_tables, read_record
from ludus.analyses.setting_values import PuctAnalysis, VirtualLossAnalysis
from ludus.flow.inputs.shown import shown
from ludus.flow.names import did_you_mean
from ludus.storage.errors import CorruptFile

ANALYSES: dict[str, type[Analysis]] = {
    analysis.name: analysis
    for analysis in (
        EloAnalysis,
        LossesAnalysis,
        PuctAnalysis,
        VirtualLossAnalysis,
        VisitsAnalysis,
        GatingAnalysis,
        LaddersAnalysis,
        AgreementAnalysis,
    )
}


def read_checked(path: Path) -> tuple[type[Analysis], AnalysisRecord]:
    """Return a record and its analysis, once its tables have been computed again from its lines.

    Raises:
        OSError: The file cannot be read.
        CorruptFile: No record of an analysis, or tables that do not follow from its lines.
    """
    record = read_record(path)
    analysis = ANALYSES.get(record.name)
    if analysis is None:
        hint = did_you_mean(record.name, ANALYSES, "analyses")
        raise CorruptFile(f"{path}: unknown analysis {shown(record.name)}{hint}")
    check_tables(path, record, computed(analysis, record.lines, str(path)))
    return analysis, record
