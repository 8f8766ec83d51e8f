/** Verifies one session or the whole store. */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { VerifyAllReport } from "../../runtime/govern/verify-all.ts";
import type { VerifyReport } from "../../runtime/govern/verify.ts";
import { checkAnchor, readAnchor } from "../open/anchor-file.ts";
import { ownPublicKey, trustedKeys } from "../open/keys.ts";
import { exact } from "../format/moment.ts";
import type { Screen } from "../command/screen.ts";
import { count, oneLine, plural } from "../format/text.ts";
import { verb, type VerbCall } from "../command/verb.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

const problemsShown = 20;

export const verify = verb({
  name: "verify",
  line: "Check that nothing in the log was lost or changed.",
  args: ["ID?"],
  options: {
    all: { type: "flag", short: "a", what: "every session, and the store itself; the default without an ID" },
    head: {
      type: "text",
      value: "SEQ:HASH",
      what: 'a head noted earlier ("skein show ID --json"): finds a missing tail, too',
    },
    anchor: {
      type: "text",
      value: "FILE",
      what: 'an anchor kept outside the store ("skein anchor --to FILE"), or git: finds a store rolled back',
    },
  },
  about: [
    "It hashes every record again and compares it with the chain, and every log with the heads that " +
      "workers listed: that reveals a cut tail. It only reads, and exits with 1 when something is " +
      "wrong.",
    "Only an anchor reveals a store that was rolled back as a whole, to an older copy of itself.",
  ],
  examples: [
    "skein verify --all  # everything",
    "skein verify --anchor heads.json  # also detects a store that was rolled back",
    "skein verify 4x8kz1  # one session, with what it shares with its parents",
    "skein verify 4x8kz1 --head 312:5d3f…  # also checks that this head is still in the log",
  ],
  async run({ args, options, out, engine, session }) {
    const head = options.head === undefined ? undefined : parseHead(options.head);
    if (args.ID !== undefined && options.all) {
      throw new SkeinError("invalid", "verify: specify an ID or --all, not both", {
        hint: "remove one of them",
      });
    }
    if (args.ID === undefined && head !== undefined) {
      throw new SkeinError("invalid", "verify: --head requires an ID", {
        hint: "usage: skein verify ID --head SEQ:HASH",
      });
    }
    if (args.ID !== undefined && options.anchor !== undefined) {
      throw new SkeinError("invalid", "verify: --anchor is not allowed with an ID", {
        hint: "usage: skein verify --anchor FILE",
      });
    }
    if (args.ID !== undefined) {
      const report = await (await session(args.ID)).verify(head === undefined ? {} : { head });
      await out.answer(report, () => verifyLines(report, out));
      return report.ok ? 0 : 1;
    }
    const report = await verifyAll(out, engine, options.anchor);
    await out.answer(report, () => [...verifyLines(report, out), headsLine(report)]);
    return report.ok ? 0 : 1;
  },
});

async function verifyAll(
  out: Screen,
  engine: VerbCall["engine"],
  from: string | undefined,
): Promise<VerifyAllReport> {
  const progress = out.progress();
  try {
    const opened = await engine();
    const anchor = from === undefined ? null : await readAnchor(from);
    if (anchor !== null) checkAnchor(internalsOf(opened).store, anchor);
    return await opened.verify({
      ...(anchor === null ? {} : { anchor: { seq: anchor.seq, hash: anchor.hash } }),
      progress: ({ records, sessions }) =>
        progress.show(`verified ${plural(records, "record")} of ${plural(sessions, "session")}`),
    });
  } finally {
    progress.end();
  }
}

function parseHead(text: string): { readonly seq: number; readonly hash: string } {
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq !== undefined && hash !== undefined && Number(seq) > 0) return { seq: Number(seq), hash };
  throw new SkeinError("invalid", `--head: expected SEQ:HASH, got ${quote(text)}`, {
    hint: 'a position, a colon and 64 hexadecimal digits, as in "head" of "skein show ID --json"',
  });
}

export function verifyLines(report: VerifyReport, out: Screen): string[] {
  const { ok, sessions, records, contents, erased, erasedBytes, blobs, problems } = report;
  const counted = [
    plural(sessions, "session"),
    plural(records, "record"),
    plural(contents, "content"),
    ...(erased === 0 ? [] : [`${count(erased)} erased (${plural(erasedBytes, "byte")})`]),
    ...(blobs === 0 ? [] : [plural(blobs, "blob")]),
  ].join(", ");
  if (ok) return [`${out.green("ok")}: ${counted}; every hash agrees`];
  const shown = problems.slice(0, problemsShown).map(({ session, seq, problem }) => {
    return `  ${session} at ${seq}: ${oneLine(problem)}`;
  });
  return [
    `${out.red("not ok")}: ${plural(problems.length, "problem")} in ${counted}`,
    ...shown,
    ...(problems.length > problemsShown
      ? [out.dim(`  and ${count(problems.length - problemsShown)} more`)]
      : []),
  ];
}

/** What the logs were checked against besides their own chains. */
function headsLine({ heads: { lists, logs, at, signedBy, signed } }: VerifyAllReport): string {
  if (lists === 0 || at === null) {
    return 'no heads were listed yet, so a cut tail is not found; workers list them, and "skein anchor"';
  }
  const trusted = trustedKeys(process.env);
  const own = ownPublicKey(process.env);
  const names = signedBy.map((key) =>
    key === own ? "your key" : (trusted.get(key) ?? `${key} (not trusted)`),
  );
  const by = names.length === 0 ? "not signed" : `signed by ${names.map(oneLine).join(", ")}`;
  const some = names.length > 0 && !signed ? ", some not signed" : "";
  return `checked against the heads of ${plural(logs, "log")}, listed last ${exact(at)}, ${by}${some}`;
}
