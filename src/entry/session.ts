/**
 * The subpath `skein/session`: the details of a session: folded state, events, diffs, merges, lineage, a loop
 * of your own.
 */
export type { DiffItem, FieldChange, ItemChange } from "../core/branch/diff.ts";
export type { ResolvedConflict } from "../core/branch/merge-summary.ts";
export type { MergeResolution, MergeWrite } from "../core/branch/merge.ts";
export type { BodyOf, ContentOf, EventType, SessionEventType, WorkspaceEventType } from "../core/catalog.ts";
export type { AcceptCheck, CheckKind, CheckState, CheckStatus } from "../core/check/check.ts";
export type { TierName } from "../core/context/tiers.ts";
export type { BroughtReason, PartKind, PartReason } from "../core/context/source.ts";
export type { ZoneTokens } from "../core/context/zone.ts";
export type { EventOf, OpaqueEvent, SessionLogEvent, WorkspaceEvent } from "../core/event.ts";
export type { ItemStatus } from "../core/item/kind.ts";
export type { Range, Ranges } from "../core/range.ts";
export type { AfterSessions } from "../core/session/commands.ts";
export type { SortedMap } from "../core/sorted-map.ts";
export type {
  Amounts,
  ImportedUsage,
  OtherUsage,
  CallCounts,
  Inbox,
  ItemRef,
  Lease,
  Mind,
  OpenCall,
  Overlay,
  Ref,
  OpenModelCall,
  Standing,
  State,
  TriggerRef,
  TurnState,
  UsedAmounts,
} from "../core/state.ts";
export type { Spend } from "../core/text/money.ts";
export type { SavedCommand } from "../core/tool/commands.ts";
export type { FileVersion } from "../core/tool/file-version.ts";
export type { TriggerKind } from "../core/trigger/events.ts";
export type { MissedRule, WakeTrigger } from "../core/trigger/trigger.ts";
export type { CountedUsage } from "../core/turn/commands.ts";
export type { SplitOptions } from "../runtime/branch/split.ts";
export type { RolloverOptions } from "../runtime/branch/succession.ts";
export type { CarriedPart, CarryOver } from "../runtime/branch/carry-over.ts";
export type { ExploredAlternative, ExploreOptions, ExploreReport } from "../runtime/check/explore.ts";
export type { CheckOptions, CheckReport, CheckRow } from "../runtime/check/session-checks.ts";
export type { CancelTreeResult } from "../runtime/branch/children.ts";
export type { FileDiff, FilesDiff } from "../runtime/branch/diff-files.ts";
export type {
  DiffAspect,
  DiffContextPart,
  DiffOptions,
  DiffPlace,
  SessionDiff,
  TranscriptEntry,
} from "../runtime/branch/diff.ts";
export type { MergeConflict, MergeSide } from "../runtime/branch/merge.ts";
export type { FilesRestored } from "../runtime/branch/rewind-files.ts";
export type { RecordOptions } from "../runtime/context/record.ts";
export type { ContextTier, LeftOut } from "../runtime/context/context-tiers.ts";
export type { RenderedContext } from "../runtime/context/context-view.ts";
export type { MessageContract } from "../runtime/message/contract.ts";
export type { FeedEvents } from "../runtime/read/event-reader.ts";
export type { Relation } from "../runtime/read/family.ts";
export type { UnknownFileChange } from "../runtime/read/file-versions.ts";
export type { Lineage, LineageNode } from "../runtime/read/lineage.ts";
export type { SessionRun } from "../runtime/turn/ask.ts";
export type { CompressStrategy } from "../runtime/turn/compress.ts";
export type { UncompressOptions } from "../runtime/turn/uncompress.ts";
export type { CompactionStage, CompactionStages } from "../runtime/read/stages.ts";
export type {
  Drive,
  DriveOptions,
  DrivenCall,
  FailOptions,
  RequestOptions,
  RequestResult,
  RespondOptions,
} from "../runtime/turn/drive.ts";
export type { SettleOptions, SettleResult } from "../runtime/turn/external-call.ts";
export type { SessionLease } from "../runtime/turn/lease.ts";
export type { OfferedTool } from "../runtime/turn/run-context.ts";
export type { ProjectEventType } from "../core/catalog.ts";
export type { ProjectId, SharedLogId } from "../core/ids.ts";
export type { ProjectItemRef, ProjectOutcome, ProjectStatus } from "../core/project/project.ts";
export type { Spendable } from "../core/state.ts";
export type { ConflictSide, PossibleConflict } from "../core/item/possible-conflict.ts";
export type { PlanRule } from "../core/project/plan.ts";
export type { TicketSpec } from "../core/project/ticket.ts";
export type { PlannedStatus } from "../core/project/ticket-status.ts";
export type { NamedCheck } from "../core/check/check.ts";
export type { ProjectBudgetResult, ProjectBudgetView, ProjectLimits } from "../runtime/project/budget.ts";
export type {
  ConfigureProjectOptions,
  MarkTicketOptions,
  PlannedTicketRow,
  PlanTicketsOptions,
  ProjectPlan,
  ProjectTicket,
} from "../runtime/project/plan.ts";
export type {
  OpenProjectOptions,
  ProjectItem,
  ProjectNote,
  ProjectRecordOptions,
  ProjectRow,
  ProjectSummary,
  ProjectView,
} from "../runtime/project/projects.ts";
export type { AmendOptions, ForkAmendment } from "../runtime/branch/amend.ts";
export type { InstructionName } from "../core/session/instruction-names.ts";
export type { SettingsChange } from "../core/amend/commands.ts";
export type { AgentRef, AmendedTexts, ModelSettings } from "../core/state.ts";
export type { ProjectLineage } from "../runtime/project/project-lineage.ts";
export type { ProjectActivity, ProjectCost, ProjectStanding } from "../runtime/project/project-standing.ts";
export type {
  EraseProjectOptions,
  EraseProjectReport,
  VerifyProjectReport,
} from "../runtime/govern/project-govern.ts";
export type { ExportProjectOptions } from "../runtime/transfer/bundle.ts";
export type { SearchOptions } from "../runtime/engine/engine.ts";
export type { Dependency } from "../core/depend/dependency.ts";
export type { DependencyOptions, DependencyRow } from "../runtime/depend/dependencies.ts";
export type { SourceNow } from "../runtime/depend/source-now.ts";
export type { AffectedBy, AffectedRow } from "../runtime/depend/affected.ts";
export type { OnChangeOptions } from "../runtime/trigger/react.ts";
export type { Reaction } from "../core/trigger/trigger.ts";
