/** Requests to `/ag-ui`: each is authorized before its body is read. */
import { isSessionId } from "../../core/ids.ts";
import { allows, type TokenScope } from "../../core/workspace/access-token.ts";
import { makeProblem } from "../../protocol/problem.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { MountRequest } from "../../server/http/mount.ts";
import { ProblemError } from "../../server/http/problem.ts";
import { framed, streamFrames } from "../stream-frames.ts";
import { readRunInput } from "./input.ts";
import { eventFrame, streamRun, targetOf } from "./stream.ts";
import { openThread, takeRun } from "./thread.ts";

/** Answers one request of the client. An error before the stream is JSON with a status. */
export async function answerRun(given: MountRequest): Promise<void> {
  try {
    await run(given);
  } catch (error) {
    const problem = given.problemOf(error);
    if (given.response.headersSent) {
      given.response.end();
      return;
    }
    const { detail: message, code, hint } = problem;
    const body = { message, code, ...(hint === undefined ? {} : { hint }) };
    given.send(problem.status, body, given.problemHeaders(problem));
  }
}

async function run(given: MountRequest): Promise<void> {
  const { method = "GET" } = given.request;
  const target = targetOf(given.path);
  if (method !== "POST")
    throw new ProblemError(makeProblem("wrong-method", `${method} is not allowed here: POST a run`));
  const byId = target !== null && isSessionId(target);
  const caller = await given.authorize({ scope: "write", ...(byId ? { session: target } : {}) });
  const need = (scope: TokenScope, what: string): void => {
    if (allows(caller.scopes, scope)) return;
    throw new ProblemError(makeProblem("forbidden", `${what} needs a token with the scope ${scope}`));
  };
  need("read", "a run");
  const input = readRunInput(await given.readJson());
  const engine = internalsOf(caller.engine).forRequest({ need });
  const session = byId ? await engine.session(target) : await openThread(engine, input, target);
  const plan = await takeRun(engine, session, input, {
    approve: () => need("operate", "allowing a call"),
    settle: () => need("settle", "the result of a tool"),
  });
  const { threadId, runId } = input;
  const errorText = (error: unknown): { message: string; code: string } => {
    const { detail, code } = given.problemOf(error);
    return { message: detail, code };
  };
  await streamFrames(given, caller, (signal) =>
    framed(streamRun(engine, session, plan, { threadId, runId, signal, errorText }), eventFrame),
  );
}
