import { openEngine } from "../src/index.ts";
import { SkeinSession } from "../src/adapter/openai-agents/openai-agents.ts";
import { rmSync } from "node:fs";
rmSync("/tmp/prof/a.db", { force: true }); rmSync("/tmp/prof/a.db-wal", { force: true });
await using engine = await openEngine({ store: "/tmp/prof/a.db" });
const session = new SkeinSession(engine, { sessionId: "bench" });
const plain = await engine.open({ objective: "bench" });
const other = await engine.open({ objective: "bench" });
const text = "word ".repeat(200);
const item = (n: number) => ({ type: "message" as const, role: "user" as const, content: `${n} ${text}` });
const med = (l: number[]) => l.toSorted((a, b) => a - b)[l.length >> 1]!.toFixed(3);
const t = async (f: () => Promise<unknown>) => { const s = performance.now(); await f(); return performance.now() - s; };
for (const mode of ["as bench", "no reads", "swapped"]) {
  const ours: number[] = [], pl: number[] = [], pl2: number[] = [];
  for (let n = -100; n < 400; n++) {
    const rec = { type: "x.bench.record", body: { append: 1 }, content: { value: [item(n)] } } as const;
    let a = 0, b = 0, c = 0;
    const doOurs = async () => { a = await t(() => session.addItems([item(n)])); };
    const doPlain = async () => { b = await t(() => plain.append([rec], { key: `b:${mode}${n}`, verbatim: true })); };
    const doPlain2 = async () => { c = await t(() => other.append([rec], { verbatim: true })); };
    if (mode === "swapped") { await doPlain(); await doOurs(); await doPlain2(); }
    else {
      await doOurs();
      if (mode === "as bench") { const [row] = (await engine.sessions({ labels: { adapter: "openai" } })).rows; await Array.fromAsync((await engine.session(row!.session)).events({ reverse: true, limit: 1 })); }
      await doPlain(); await doPlain2();
    }
    if (n >= 0) { ours.push(a); pl.push(b); pl2.push(c); }
  }
  console.log(mode, "ours", med(ours), "keyed", med(pl), "plain", med(pl2));
}
