/**
 * The tour: what Skein does, step by step, on a temporary store. Every line of output is real, and so are the
 * killed process and the one that finds what it left.
 */
import { shortId } from "../../core/text/short-id.ts";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { killWriter, readBack, type KillReport, type SurvivalReport } from "../open/tour-kill.ts";
import { count, plural } from "../format/text.ts";
import { verb, type VerbCall } from "../command/verb.ts";

export const tour = verb({
  name: "tour",
  line: "See what Skein does: open, append, fork, rewind, kill, resume, run a turn, verify.",
  args: [],
  options: {},
  examples: ["skein tour  # a few seconds; it leaves nothing behind"],
  async run(call) {
    const folder = mkdtempSync(join(tmpdir(), "skein-tour-"));
    const stopped = call.untilStopped();
    try {
      const results = await walk(call, join(folder, "skein.db"), stopped);
      if (call.out.json) await call.out.emit(results);
      return results.ok ? 0 : 1;
    } catch (error) {
      if (stopped.aborted) return 130;
      throw error;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
});

/** Long enough to see that something happened, short enough not to wait for it. */
const pauseMs = 40;

interface Guide {
  /** Begins a step: a heading, and its subject. */
  step(title: string): Promise<void>;
  /** Runs a command and shows it with its output. Returns the answer as programs get it. */
  run(words: readonly string[]): Promise<string>;
  say(text: string): Promise<void>;
}

async function walk(call: VerbCall, store: string, stopped: AbortSignal) {
  const guide = makeGuide(call, store, stopped);
  await guide.say(
    "Skein keeps the work of an AI agent in a log on disk. In the next seconds a session is opened,",
  );
  await guide.say("forked, rewound, killed and resumed, in a temporary store that is deleted at the end.");

  await guide.step("Open a session: one piece of work, one log");
  const id = idIn(await guide.run(["open", "--objective", "November payroll", "--agent", "payroll"]));
  const name = shortId(id);

  await guide.step("Tell it something, and record what it must not forget");
  await guide.run(["append", name, "Compute the run with the rates of October."]);
  await guide.run(["record", name, "fact", "base-rate", "4.1"]);
  await guide.run(["record", name, "decision", "round-half-up", "yes", "--because", "the contract says so"]);
  await guide.run(["save", name, "rates-known"]);

  await guide.step("Fork it: the same past, another question; nothing is copied");
  const fork = shortId(idIn(await guide.run(["fork", name, "--objective", "What if the base rate rises?"])));
  await guide.run(["record", fork, "fact", "base-rate", "4.6"]);

  await guide.step("Make a mistake, and rewind: the mind goes back, the log keeps everything");
  await guide.run(["append", name, "The base rate is 41."]);
  await guide.run(["record", name, "fact", "base-rate", "41"]);
  await guide.run(["rewind", name, "--to", "rates-known", "--reason", "a slip of the comma"]);
  await guide.run(["log", name, "--from", "3"]);

  await guide.step("Kill it: another process appends as fast as the disk lets it, and gets SIGKILL");
  const killed = await killWriter(store, id, stopped);
  await sayKilled(guide, name, killed);

  await guide.step("Resume: a new process reads what is there");
  const survived = await readBack(store, id, killed);
  await saySurvived(guide, killed, survived);
  await guide.run(["append", name, "Continue where you were."]);

  await turnByModel(guide, store);

  await guide.step("Prove it: every record is hashed again and held against the chain");
  await guide.run(["verify", "--all"]);

  await guide.step("Find it again; what was rewound away says so");
  await guide.run(["search", "base", "rate"]);
  await guide.run(["ps"]);

  await sayNext(guide);
  const { acknowledged, acknowledgedMs } = killed;
  const { found, missing, unanswered } = survived;
  return {
    ok: missing === 0 && found >= acknowledged.length,
    acknowledged: acknowledged.length,
    acknowledgedMs,
    found,
    missing,
    unanswered,
  };
}

/** A turn by the offline model; its tool calls are real. */
async function turnByModel(guide: Guide, store: string): Promise<void> {
  const folder = join(dirname(store), "files");
  mkdirSync(folder);
  writeFileSync(join(folder, "rates.json"), '{ "base-rate": 4.1 }\n');
  await guide.step("Let a model work: here the offline one, which needs no key; its tool calls are real");
  const bound = ["--model", "offline/offline", "--bind", `directory:${folder}`];
  const name = shortId(idIn(await guide.run(["open", "Read the rates", ...bound])));
  await guide.run(["ask", name, "read rates.json and then remember base-rate is 4.1"]);
  await guide.run(["ask", name, "what is base-rate?"]);
}

const idIn = (text: string): string => /ses_[0-9a-z]{26}/.exec(text)?.[0] ?? "";

function makeGuide(call: VerbCall, store: string, stopped: AbortSignal): Guide {
  const { out, perform } = call;
  let number = 0;
  const line = async (text: string) => {
    if (!out.json) await out.line(text.trimEnd());
  };
  return {
    async step(title) {
      stopped.throwIfAborted();
      if (out.columns !== null) await pause(pauseMs * 2);
      await line("");
      await line(out.bold(`${++number}. ${title}`));
    },
    async run(words) {
      if (out.columns !== null) await pause(pauseMs);
      await line(`   ${out.green("$")} skein ${words.map(shellWord).join(" ")}`);
      const columns = Math.min(out.columns ?? 110, 110) - 3;
      const { code, stdout, stderr } = await perform(["--store", store, ...words], { columns });
      // The tools' effects come first, as they happened.
      const notes = words[0] === "ask" ? stderr : "";
      for (const text of `${notes}${stdout}`.trimEnd().split("\n")) await line(`   ${out.dim(text)}`);
      if (code !== 0) throw new Error(`tour: "skein ${words.join(" ")}" failed: ${stderr}`);
      return stdout;
    },
    say: (text) => line(text),
  };
}

const shellWord = (word: string): string => (/^[\w.,:=/-]+$/.test(word) ? word : `"${word}"`);

async function sayKilled(guide: Guide, name: string, killed: KillReport): Promise<void> {
  const { acknowledged, acknowledgedMs } = killed;
  const appends = plural(acknowledged.length, "append");
  await guide.say(
    `   It ran "skein append ${name} --lines" and was killed in the middle, without a warning.`,
  );
  await guide.say(`   ${appends} had been acknowledged by then, in ${count(acknowledgedMs)} ms.`);
}

async function saySurvived(
  guide: Guide,
  { acknowledged }: KillReport,
  survived: SurvivalReport,
): Promise<void> {
  const { found, missing, unanswered } = survived;
  const share = `${count(found)} of ${count(acknowledged.length)} acknowledged appends`;
  const verdict = missing === 0 ? "Nothing is lost." : `${count(missing)} ARE LOST.`;
  await guide.say(`   ${share} are there, each in its place. ${verdict}`);
  if (unanswered === 0) return;
  const more = unanswered === 1 ? "One more was" : `${count(unanswered)} more were`;
  await guide.say(`   ${more} written when it died, whole; only the answer did not get out.`);
}

async function sayNext(guide: Guide): Promise<void> {
  const skein = import.meta.url.endsWith(".ts") ? "bin/skein" : "skein";
  await guide.say("");
  await guide.say("That was all real. Now with a store of your own, ./skein.db:");
  await guide.say(`   ${skein} open "My first session"      open one`);
  await guide.say(
    `   ${skein} chat                         talk with a new one; without a key the offline model answers`,
  );
  await guide.say(
    `   ${skein} ps                           list it; from here on a unique id suffix is enough`,
  );
  await guide.say(
    `   ${skein} log ID -f                    follow it, while you append from another terminal`,
  );
  await guide.say(`   ${skein} help                         all the verbs`);
}
