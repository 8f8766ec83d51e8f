/** Results: loose, so that an older client reads what a newer server adds. */
import { Count, Json, Millis, Seq, Sha256 } from "../core/schema.ts";
import * as z from "zod";
import { planRules } from "../core/project/plan.ts";
import { projectOutcomes, projectStatuses } from "../core/project/project.ts";
import { plannedStatuses } from "../core/project/ticket-status.ts";
import { once } from "../core/cache.ts";
import { statuses } from "../core/session/lifecycle.ts";

export { Count, Sha256 };

export const Text = z.string();
export const MaybeText = z.string().nullable();
export const Flag = z.boolean();
export const SessionId = z.string().regex(/^ses_[0-9a-z]{26}$/);
const LogId = z.string().regex(/^(ses|wsp|prj)_[0-9a-z]{26}$/);
export const ProjectId = z.string().regex(/^prj_[0-9a-z]{26}$/);
const Status = z.enum(statuses);
const Place = once(() => z.looseObject({ session: SessionId, seq: Count }));

/** The position of a change. */
export const AppendResult = once(() => z.looseObject({ seq: Seq, headSeq: Seq, duplicate: Flag }));
/** A new session. */
export const SessionRef = once(() => z.looseObject({ session: SessionId }));

const CarriedPart = once(() => z.looseObject({ what: Text, names: z.array(Text), why: Text.optional() }));
/** For a successor: what carried over and what did not. */
export const Successor = once(() =>
  SessionRef().extend({
    carriedOver: z
      .looseObject({ from: SessionId, moved: z.array(CarriedPart()), left: z.array(CarriedPart()) })
      .optional(),
  }),
);

export const Event = once(() =>
  z.looseObject({
    session: LogId,
    seq: Seq,
    at: Millis,
    type: Text,
    v: Seq,
    actor: Text,
    turn: Count.nullable(),
    cause: Seq.nullable(),
    key: MaybeText,
    contentHash: MaybeText,
    contentBytes: Count.nullable(),
    hash: Sha256,
    erased: Flag,
    body: Json.optional(),
    content: Json.optional(),
  }),
);

/** A part of a streaming answer. Live only. */
export const LiveDelta = once(() =>
  z.looseObject({
    type: z.literal("delta"),
    requestSeq: Seq,
    delta: z.looseObject({ type: Text }),
  }),
);

export const SessionUpdate = once(() => z.union([Event(), LiveDelta()]));
/** Why a run ended. */
export const RunResult = once(() => z.looseObject({ status: Status, by: MaybeText, seq: Seq }));

export const SessionRow = once(() =>
  z.looseObject({
    session: SessionId,
    status: Status,
    agent: MaybeText,
    name: MaybeText,
    objective: MaybeText,
    priority: Count,
    labels: z.record(Text, Text),
    headSeq: Seq,
    openedAt: Millis,
    activeAt: Millis,
    parent: Place().nullable(),
    zone: z.enum(["smart", "strained", "full"]),
    nanoUsd: Count,
    unconfirmedNanoUsd: z.int(),
    unpriced: Count,
    model: MaybeText,
    runnable: Flag,
    waitingFor: MaybeText,
    runBy: MaybeText,
    triggers: MaybeText,
    deadlineMs: Millis.nullable(),
    dueMs: Millis.nullable(),
  }),
);

/** Money and tokens of model calls; `src/core/budget/money.ts` says what each means. */
const Spend = once(() =>
  z.looseObject({
    calls: Count,
    inputTokens: Count,
    outputTokens: Count,
    nanoUsd: Count,
    unpriced: Count,
    estimated: Count,
    unconfirmedTokens: z.int(),
    unconfirmedNanoUsd: z.int(),
  }),
);
export const CostRow = once(() => Spend().extend({ group: MaybeText, day: Text.exactOptional() }));

const ImportedSum = once(() =>
  z.looseObject({
    sessions: Count,
    answers: Count,
    inputTokens: Count,
    outputTokens: Count,
    nanoUsd: Count,
    unpriced: Count,
    activeMs: Count,
  }),
);
const ImportedRow = once(() => ImportedSum().extend({ group: MaybeText }));
export const ImportedStats = once(() =>
  z.looseObject({
    total: ImportedSum(),
    tools: z.array(ImportedRow()),
    projects: z.array(ImportedRow()),
    models: z.array(ImportedRow()),
    weeks: z.array(ImportedRow()),
  }),
);

export const Item = once(() =>
  z.looseObject({
    kind: Text,
    key: Text,
    value: Json.optional(),
    because: MaybeText,
    status: MaybeText,
    pinned: Flag.optional(),
    seq: Seq,
    at: Millis,
    erased: Flag,
  }),
);

/** A state with its contents. */
export const StateView = once(() =>
  z.looseObject({
    session: SessionId,
    seq: Seq,
    at: Millis,
    status: Status,
    name: MaybeText,
    objective: MaybeText,
    model: MaybeText,
    labels: z.record(Text, Text),
    priority: Count,
    openedAt: Millis,
    items: z.array(Item()),
    zone: Text,
    zoneCauses: z.array(Text),
    zoneActions: z.array(Text),
    mindHash: Text,
  }),
);

const Doubt = once(() => z.looseObject({ why: Text, tool: Text.optional(), seq: Seq.optional() }));

export const MemoryEntry = once(() =>
  z.looseObject({
    scope: Text,
    owner: MaybeText,
    kind: Text,
    key: Text,
    seq: Seq,
    at: Millis,
    value: Json.optional(),
    because: MaybeText,
    erased: Flag,
    pending: Doubt().optional(),
  }),
);

export const PendingMemory = once(() =>
  MemoryEntry().extend({ pending: Doubt(), replaces: MemoryEntry().nullable() }),
);

export const AgentVersion = once(() =>
  z.looseObject({
    name: Text,
    version: Seq,
    digest: Text,
    at: Millis,
    actor: Text,
    definition: z.looseObject({ name: Text, instructions: Text }),
  }),
);
export const AgentSummary = once(() =>
  z.looseObject({
    name: Text,
    version: Seq,
    digest: Text,
    at: Millis,
    description: MaybeText,
    model: MaybeText,
  }),
);

export const Hit = once(() =>
  z.looseObject({
    session: LogId,
    seq: Seq,
    at: Millis,
    type: Text,
    snippet: Text,
    mind: z.enum(["live", "rewound", "compacted"]),
  }),
);

const Fault = once(() => z.looseObject({ session: LogId, seq: Count, problem: Text }));
export const VerifyReport = once(() =>
  z.looseObject({
    ok: Flag,
    sessions: Count,
    records: Count,
    contents: Count,
    problems: z.array(Fault()),
    firstBad: Fault().nullable(),
  }),
);

export const Anchor = once(() =>
  z.looseObject({
    format: Text,
    version: Count,
    workspace: Text,
    seq: Count,
    hash: Sha256,
    root: Sha256,
    at: Count,
    publicKey: Text.nullable(),
    signature: Text.nullable(),
  }),
);

const LineageNode = once(() =>
  z.looseObject({
    session: SessionId,
    depth: Count,
    parent: Place().nullable(),
    relation: z.enum(["fork", "child", "successor", "split"]).nullable(),
    status: Text,
    name: MaybeText,
    objective: MaybeText,
    headSeq: Count,
    openedAt: Millis,
    activeAt: Millis,
    merged: z.array(z.looseObject({ from: Text, toSeq: Count, seq: Count })),
  }),
);
export const Lineage = once(() =>
  z.looseObject({ session: SessionId, nodes: z.array(LineageNode()), left: Count }),
);
/** The families of a project's sessions. */
export const ProjectLineage = once(() =>
  z.looseObject({ project: ProjectId, nodes: z.array(LineageNode()), left: Count }),
);

export const TicketRow = once(() =>
  z.looseObject({
    ticket: Text,
    title: Text,
    status: Text,
    session: SessionId.nullable(),
  }),
);

export const ProjectSummary = once(() =>
  z.looseObject({
    project: ProjectId,
    objective: MaybeText,
    name: MaybeText,
    status: z.enum(projectStatuses),
    outcome: z.enum(projectOutcomes).nullable(),
    openedAt: Millis,
    activeAt: Millis,
    sessions: Count,
    items: Count,
    notes: Count,
    tickets: z.looseObject({ all: Count, open: Count }),
    head: z.looseObject({ seq: Seq, hash: Sha256 }),
  }),
);
const projectStanding = {
  cost: z.looseObject({ nanoUsd: Count, unconfirmedNanoUsd: z.number(), unpriced: Count }),
  active: z.looseObject({ running: Count, suspended: Count }),
};
/** A project in the list of all. */
export const ProjectRow = once(() => ProjectSummary().extend(projectStanding));
const ConflictSide = once(() => z.looseObject({ kind: Text, key: Text, value: Text }));
/** Two items that may contradict each other. */
export const PossibleConflict = once(() =>
  z.looseObject({ subject: Text, items: z.tuple([ConflictSide(), ConflictSide()]) }),
);
/** A project with what it knows. */
export const ProjectView = once(() =>
  ProjectSummary()
    .omit({ sessions: true, items: true, notes: true })
    .extend({
      ...projectStanding,
      instructions: MaybeText,
      constraints: z.array(Text),
      sessions: z.array(SessionId),
      latest: z.array(SessionRow()),
      holds: z.array(Text),
      items: z.array(
        z.looseObject({
          kind: Text,
          key: Text,
          status: MaybeText,
          seq: Seq,
          at: Millis,
          actor: Text,
          origin: Place().nullable(),
          value: Json,
          because: MaybeText,
          erased: Flag,
        }),
      ),
      conflicts: z.array(PossibleConflict()),
      journal: z.array(
        z.looseObject({ seq: Seq, at: Millis, actor: Text, session: MaybeText, text: MaybeText }),
      ),
    }),
);
export const ProjectBudget = once(() =>
  z.looseObject({
    project: ProjectId,
    limits: z.looseObject({ usd: z.number().optional(), tokens: Count.optional() }).nullable(),
    allotted: z.looseObject({ tokens: Count, nanoUsd: Count }),
  }),
);
export const ProjectBudgetResult = once(() => ProjectBudget().extend({ resumed: z.array(SessionId) }));
const ProjectTicket = once(() =>
  z.looseObject({
    ticket: Text,
    title: MaybeText,
    text: Text,
    after: z.array(Text),
    agent: MaybeText,
    budget: z.looseObject({}).nullable(),
    labels: z.record(z.string(), Text),
    accept: z.array(z.looseObject({ kind: Text, name: Text })),
    seq: Seq,
    at: Millis,
    proposedBy: SessionId.nullable(),
  }),
);
/** The plan of a project. */
export const ProjectPlan = once(() =>
  z.looseObject({
    project: ProjectId,
    name: Text,
    rule: z.enum(planRules),
    agent: MaybeText,
    agents: z.array(Text),
    tickets: z.array(
      ProjectTicket().extend({
        status: z.enum(plannedStatuses),
        why: MaybeText,
        session: SessionId.nullable(),
        attempt: Count,
      }),
    ),
    proposed: z.array(ProjectTicket()),
    seq: Seq,
  }),
);
export const PolicyEntry = once(() =>
  z.looseObject({
    name: Text,
    policy: z.looseObject({ do: Text }).nullable(),
    at: Millis.nullable(),
    actor: MaybeText,
    everything: Flag,
  }),
);

export const Template = once(() =>
  z.looseObject({
    name: Text,
    spec: z.looseObject({ kind: Text }).nullable(),
    open: z.looseObject({}).nullable(),
  }),
);

export const HookEntry = once(() =>
  z.looseObject({
    name: Text,
    url: MaybeText,
    events: z.array(Text),
    session: MaybeText,
    agent: MaybeText,
    labels: z.record(z.string(), z.string()),
    secret: Text,
    setSeq: z.int(),
    setAt: Millis,
    setBy: Text,
    delivered: z.int(),
    abandoned: z.int(),
    deliveredAt: Millis.nullable(),
    position: Text,
    lastError: MaybeText,
    failures: z.int().nullable(),
    nextTryAt: Millis.nullable(),
  }),
);

export const TokenEntry = once(() =>
  z.looseObject({
    id: Text,
    name: MaybeText,
    scopes: z.array(Text),
    principal: Text,
    status: z.enum(["valid", "expired", "revoked"]),
    issuedAt: Millis,
    issuedBy: Text,
    expiresAt: Millis.nullable(),
    revokedAt: Millis.nullable(),
    revokedBy: MaybeText,
    session: MaybeText,
    requestsPerSecond: Count.nullable(),
  }),
);
