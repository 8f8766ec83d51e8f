/**
 * The campaign of kills of messages:
 * `npm run crash:messages -- --messages 10000 --sessions 20 [--seed N] [--minutes 10]`. Prints a line every
 * few seconds and a report at the end; ends with 1 when there was any problem.
 */
import { parseArgs } from "node:util";
import { killMessages, type MessageKillReport } from "./message-kill.ts";
import { freshSeed } from "./random.ts";

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "10000" },
    sessions: { type: "string", default: "20" },
    seed: { type: "string" },
    minutes: { type: "string", default: "10" },
  },
});
const messages = wholeNumber("messages", values.messages);
const sessions = wholeNumber("sessions", values.sessions);
const minutes = wholeNumber("minutes", values.minutes);
const seed = values.seed === undefined ? freshSeed() : wholeNumber("seed", values.seed);

console.log(
  `${messages} messages between ${sessions} sessions of two stores; kills for ${minutes} minutes; seed ${seed}`,
);
const report = await killMessages({
  messages,
  sessions,
  seed,
  forMs: minutes * 60_000,
  progress: (now) => console.log(lineOf(now)),
});
console.log(summaryOf(report));
if (report.problems.length > 0 || report.kills + report.points === 0) process.exitCode = 1;

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text);
  console.error(`--${name} is a whole number, not ${JSON.stringify(text)}`);
  process.exit(2);
}

function lineOf({ ms, kills, points, sent, relayed, problems }: MessageKillReport): string {
  const seconds = (ms / 1_000).toFixed(0).padStart(5);
  return `${seconds} s  ${sent} sent, ${relayed} relayed, ${kills + points} kills, ${problems.length} problems`;
}

function summaryOf(report: MessageKillReport): string {
  const rows: readonly (readonly [string, string | number])[] = [
    ["seconds", (report.ms / 1_000).toFixed(0)],
    ["messages sent, as their senders heard", report.sent],
    ["messages received", report.received],
    ["of these between the two stores", report.away],
    ["of these delivered by a relay", report.relayed],
    ["turns that took them up", report.turns],
    ["kills at random moments", report.kills],
    ["kills at named points", report.points],
    ["lost", report.lost],
    ["twice", report.twice],
    ["pairs out of order", report.disordered],
    ["problems", report.problems.length],
    ["seed", report.seed],
  ];
  const lines = rows.map(([name, value]) => `${name.padEnd(50)}${value}`);
  const problems = report.problems.slice(0, 50).map((text) => `problem: ${text}`);
  return ["", ...lines, ...problems].join("\n");
}
