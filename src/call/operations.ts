/**
 * The one table of operations. The server's routes, the client's methods, /openapi.json and its page are all
 * made from it; what is not here cannot be done over HTTP, and local.ts says why.
 */
import type { z } from "zod";
import { engineOperations } from "./engine-operations.ts";
import type { Operation } from "./operation.ts";
import { sessionChanges } from "./session-operations.ts";
import { sessionReads } from "./session-reads.ts";

export const operations = { ...engineOperations, ...sessionReads, ...sessionChanges };

/** `engine.open`, `session.fork`: whose call it is, and the library's word for it. */
export type OperationId = keyof typeof operations;
/** What is given to an operation, as it was checked. */
export type ParamsOf<K extends OperationId> = z.infer<(typeof operations)[K]["params"]>;

export const operationIds = Object.keys(operations) as OperationId[];

export const operationOf = (id: OperationId): Operation => operations[id];
