/**
 * The table of calls, from which the library's checks, HTTP routes, client methods, OpenAPI, plain verbs, the
 * palette and docs/calls.md are derived. local.ts lists the calls that need the engine in the same process.
 */
import type { z } from "zod";
import { engineAccess } from "./engine-access.ts";
import { engineMemory } from "./engine-memory.ts";
import { engineProjectCare } from "./engine-project-care.ts";
import { engineProjects } from "./engine-projects.ts";
import { engineSessions } from "./engine-sessions.ts";
import { engineStore } from "./engine-store.ts";
import { engineTranscripts } from "./engine-transcripts.ts";
import { engineWorkspace } from "./engine-workspace.ts";
import type { Operation } from "./operation.ts";
import { sessionBranches } from "./session-branch.ts";
import { sessionChecks } from "./session-checks.ts";
import { sessionInput } from "./session-input.ts";
import { sessionKnowledge } from "./session-knowledge.ts";
import { sessionLifecycle } from "./session-lifecycle.ts";
import { sessionStanding } from "./session-standing.ts";
import { sessionReads } from "./session-reads.ts";

export const operations = {
  ...engineSessions,
  ...engineWorkspace,
  ...engineMemory,
  ...engineProjects,
  ...engineProjectCare,
  ...engineAccess,
  ...engineStore,
  ...engineTranscripts,
  ...sessionReads,
  ...sessionInput,
  ...sessionKnowledge,
  ...sessionBranches,
  ...sessionLifecycle,
  ...sessionStanding,
  ...sessionChecks,
};

/** `engine.open`, `session.fork`: the handle, and the library's name. */
export type OperationId = keyof typeof operations;
/** The validated parameters of an operation. */
export type ParamsOf<K extends OperationId> = z.infer<(typeof operations)[K]["params"]>;

export const operationIds = Object.keys(operations) as OperationId[];

export const operationOf = (id: OperationId): Operation => operations[id];
