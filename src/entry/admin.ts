/**
 * The subpath `skein/admin`: types for operating a workspace: agents, memory, tokens, webhooks, policies,
 * retention, erasure, verification, bundles, moves and costs.
 */
export type { TokenPrice } from "../core/budget/price.ts";
export type { Policy, PolicyAction } from "../core/govern/policy.ts";
export type { PrincipalId, TokenId } from "../core/ids.ts";
export type { MemoryBy, MemoryName, MemoryRef, MemoryScope } from "../core/memory/name.ts";
export type { Doubt } from "../core/memory/proposal.ts";
export type { RunLimit } from "../core/trigger/schedule.ts";
export type { TemplateRef } from "../core/trigger/template.ts";
export type { TokenScope } from "../core/workspace/access-token.ts";
export type { AcceptOptions, AcceptResult, Anchor, AnchorOptions } from "../runtime/govern/anchor.ts";
export type { EraseKept } from "../runtime/govern/erase-copies.ts";
export type { EraseOptions, EraseReport, EraseShare } from "../runtime/govern/erase.ts";
export type { RebuildReport } from "../runtime/govern/rebuild.ts";
export type { RetainAction, RetainOptions, RetainReport, RetainSkip } from "../runtime/govern/retain.ts";
export type { SessionReview } from "../runtime/govern/review.ts";
export type { ScanFinding, ScanOptions, ScanReport } from "../runtime/govern/scan.ts";
export type { VerifyAllOptions, VerifyAllReport } from "../runtime/govern/verify-all.ts";
export type { VerifyOptions, VerifyProblem, VerifyReport } from "../runtime/govern/verify.ts";
export type { DeliverProgress, DeliverReport, PendingDelivery } from "../runtime/message/deliver.ts";
export type { CostOptions, CostRow } from "../runtime/read/cost.ts";
export type { EngineStats, StatsOptions } from "../runtime/engine/engine.ts";
export type { ImportedRow, ImportedStats, ImportedSum } from "../runtime/read/imported-stats.ts";
export type { IndexProgress } from "../runtime/read/projection.ts";
export type { ExportOptions, Signer } from "../runtime/transfer/bundle.ts";
export type { ExportedTranscript, ExportTranscriptOptions } from "../runtime/transfer/foreign-transcript.ts";
export type {
  ImportTranscriptOptions,
  ImportTranscriptReport,
  TranscriptSource,
} from "../runtime/transfer/history.ts";
export type {
  OriginalChunk,
  RedactionReport,
  TranscriptRedaction,
} from "../runtime/transfer/history-original.ts";
export type { ImportOptions, ImportReport } from "../runtime/transfer/import.ts";
export type { MigrateOptions, MigrateReport } from "../runtime/transfer/migrate.ts";
export type {
  DecideMemoryOptions,
  PendingMemory,
  PendingMemoryOptions,
  PendingMemoryPage,
} from "../runtime/workspace/memory-queue.ts";
export type { MigrateAllOptions, MigrateAllReport, MigrateProgress } from "../runtime/transfer/move-all.ts";
export type { ModelReport } from "../runtime/transfer/move-model.ts";
export type { CarriedCounts } from "../runtime/transfer/move-workspace.ts";
export type { MoveReport } from "../runtime/transfer/move.ts";
export type { TemplateOptions, TriggerTemplate } from "../runtime/trigger/templates.ts";
export type { WebhookAnswer, WebhookCall } from "../runtime/trigger/webhook.ts";
export { parseAgent } from "../runtime/workspace/agent-file.ts";
export type { AgentFileOptions } from "../runtime/workspace/agent-file.ts";
export type { AgentSummary, AgentVersion } from "../runtime/workspace/agents.ts";
export type { Approval } from "../runtime/workspace/approvals.ts";
export type {
  EraseCopy,
  ForgetOptions,
  ForgetResult,
  MemoryEntry,
  MemoryErasure,
  MemoryOptions,
  PromoteOptions,
  RememberOptions,
} from "../runtime/workspace/memory.ts";
export type { ConsolidateOptions, ConsolidateReport } from "../runtime/workspace/memory-consolidate.ts";
export type {
  MemoryCarrier,
  MemoryCarriers,
  MemoryCarriersOptions,
} from "../runtime/context/memory-carriers.ts";
export type { MemoryReview, ReviewedMemory } from "../runtime/workspace/memory-review.ts";
export type { PolicyEntry, SetPolicyOptions } from "../runtime/workspace/policies.ts";
export type { TokenHolder } from "../runtime/workspace/token-reader.ts";
export type {
  AddTokenOptions,
  IssuedToken,
  TokenEntry,
  TokenStatus,
  TokensOptions,
} from "../runtime/workspace/tokens.ts";
export type { WebhookFailure } from "../runtime/workspace/webhook-failures.ts";
export type { HookEntry, SetHookOptions } from "../runtime/workspace/webhooks.ts";
