/** Generated lives of model calls that end in every way a call can end, with forks and successors. */
import { addSpend, noSpend, type Spend } from "../../../src/core/budget/money.ts";
import type { Drive } from "../../../src/runtime/turn/drive.ts";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import fc from "fast-check";

const sha = "0".repeat(64);

/** One call, opened and ended in one of the ways a call can end. */
export async function callModel(drive: Drive, session: Session, way: number, size: number): Promise<void> {
  const priced = way % 5 !== 4;
  const reserve = { tokens: 1_000 + size, ...(priced ? { nanoUsd: 5_000_000 + size } : {}) };
  const usage = { inputTokens: 100 + size, outputTokens: size };
  const costNanoUsd = priced ? 1_000 * size : null;
  const change = (command: Parameters<Drive["change"]>[0]) => drive.change(command);
  const request = { model: `acme/m${way % 2}`, reserve };
  switch (way % 8) {
    case 0:
    case 1:
      await drive.request(request);
      await drive.respond({ finish: "stop", usage, costNanoUsd, blocks: [{ type: "text", text: "ok" }] });
      return;
    case 2:
      await drive.request(request);
      return drive.fail({
        error: "interrupted",
        usage: { ...usage, estimated: true },
        costNanoUsd,
        partial: "half",
      });
    case 3:
      await drive.request(request);
      return drive.fail({
        error: "interrupted",
        usage,
        costNanoUsd,
        unconfirmed: priced ? { tokens: 9, nanoUsd: 90 } : { tokens: 9 },
      });
    case 4:
      await drive.request(request);
      return drive.fail({ error: "crashed" });
    case 5:
      await drive.request(request);
      return drive.fail({ error: "auth", costNanoUsd: 0 });
    case 6: {
      const { seq } = await drive.request(request);
      await session.interrupt();
      await drive.change({ do: "end", outcome: "interrupted" });
      const late = { do: "fail", model: request.model, requestSeq: seq, error: "interrupted" } as const;
      await change({ ...late, retryable: false, usage, costNanoUsd });
      await session.append("again");
      await drive.begin();
      return;
    }
    default: {
      const base = { renderer: 1, context: sha, parts: 1, inputs: [], outputTokensMax: 10, settings: {} };
      const toSeq = (await drive.state()).mind.toSeq;
      await change({
        do: "request",
        model: "acme/small",
        reserved: reserve,
        ...base,
        nowMs: 0,
        compactTo: toSeq,
      });
      await change({
        do: "handoff",
        text: "so far",
        digest: sha,
        toSeq,
        tokens: 1,
        model: "acme/small",
        usage,
        costNanoUsd,
      });
    }
  }
}

/** How each call goes, and its size; 20 and above open the next session. */
export const moves = fc.array(fc.tuple(fc.nat(23), fc.nat(500)), { minLength: 1, maxLength: 10 });

export async function live(engine: Engine, ways: readonly (readonly [number, number])[]): Promise<Session[]> {
  const first = await engine.open({ objective: "one", labels: { team: "web", "2026": "yes" } });
  const sessions = [first];
  let session = first;
  for (const [way, size] of ways) {
    if (way >= 20) {
      const parent = session;
      session =
        way % 2 === 0
          ? await parent.fork({ name: "fork" })
          : await engine.open({ objective: "next", from: parent.id });
      sessions.push(session);
      continue;
    }
    await session.append("go");
    await using drive = await session.drive();
    await drive.begin();
    await callModel(drive, session, way, size);
    if (way === 16) await drive.request({ model: "acme/m0", reserve: { tokens: 7, nanoUsd: 7 } });
    if ((await drive.state()).standing.reserved === null) await drive.end();
    else return sessions;
  }
  return sessions;
}

export const total = (rows: readonly Spend[]): Spend =>
  rows.map(({ ...row }) => row).reduce<Spend>(addSpend, noSpend);
