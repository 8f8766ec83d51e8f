/** The tables of this folder, by call. */
import type { OperationId } from "../../call/operations.ts";
import type { AnyPresentation } from "../command/presentation.ts";
import type { Verb } from "../command/verb.ts";
import { accessActions, accessPlain } from "./access.ts";
import { agentActions, agentPlain } from "./agents.ts";
import { answerPlain } from "./answer.ts";
import { branchPlain } from "./branch.ts";
import { checkPlain } from "./checks.ts";
import { contextPlain } from "./context.ts";
import { dependPlain } from "./depend.ts";
import { erasePlain } from "./erase.ts";
import { memoryActions, memoryPlain } from "./memory.ts";
import { memoryQueuePlain } from "./memory-queue.ts";
import { mergePlain } from "./merge.ts";
import { projectPlanPlain } from "./project-plan.ts";
import { projectPlain } from "./projects.ts";
import { policyActions, policyPlain } from "./policy.ts";
import { replayPlain } from "./replay.ts";
import { sessionPlain } from "./session.ts";
import { storePlain } from "./store.ts";

export const presentations: ReadonlyMap<OperationId, AnyPresentation> = new Map([
  ...accessPlain,
  ...agentPlain,
  ...branchPlain,
  ...checkPlain,
  ...contextPlain,
  ...dependPlain,
  ...memoryPlain,
  ...memoryQueuePlain,
  ...policyPlain,
  ...projectPlain,
  ...projectPlanPlain,
  ...sessionPlain,
  ...storePlain,
  answerPlain,
  erasePlain,
  mergePlain,
  replayPlain,
]);

/** Actions that no call stands for alone. */
export const actions: readonly Verb[] = [
  ...accessActions,
  ...agentActions,
  ...memoryActions,
  ...policyActions,
];
