/**
 * What a person should look at in memory: entries that say the same, and entries on one subject that say
 * different things. It compares words alone, and decides nothing.
 */
import type { MemoryName } from "./name.ts";
import { wordsOf } from "./words.ts";

export interface ReviewedEntry extends MemoryName {
  readonly seq: number;
  readonly value: unknown;
  readonly status?: string;
}

/** Entries that say the same for the same readers, or that contradict each other for some session. */
interface MemoryFinding {
  readonly finding: "duplicate" | "contradiction";
  /** The subject, in the words of the newest of them. */
  readonly about: string;
  /** Their positions in the workspace's log, the newest first. */
  readonly entries: readonly number[];
}

/** Entries that are compared on one subject: the newest. */
const subjectEntriesMax = 50;
/** Characters that are read of a value. */
const readCharsMax = 2_000;
/** A text of this many words under two keys counts as a duplicate. */
const sameTextWordsMin = 4;
const subjectWordsMax = 4;

interface Claim {
  readonly entry: ReviewedEntry;
  readonly about: string;
  readonly said: EntryText;
}

interface EntryText {
  readonly text: string;
  readonly words: ReadonlySet<string>;
  readonly numbers: string;
  readonly isDenied: boolean;
}

/** Contradictions first, then by their newest entry; the same whatever the order of the entries. */
export function reviewEntries(entries: Iterable<ReviewedEntry>): MemoryFinding[] {
  const subjects = new Map<string, Claim[]>();
  const texts = new Map<string, Claim[]>();
  for (const entry of entries) {
    if (entry.status === "rejected" || entry.kind === "task" || entry.value === null) continue;
    for (const [subject, claim] of claimsOf(entry)) push(subjects, subject, claim);
    const said = saidIn(textOf(entry.value));
    if (said.words.size >= sameTextWordsMin)
      push(texts, `${readersOf(entry)}\n${entry.kind}\n${said.text}`, { entry, about: entry.key, said });
  }
  const found = new Map<string, MemoryFinding>();
  const add = (finding: MemoryFinding["finding"], claims: readonly Claim[]): void => {
    const newest = claims[0];
    if (newest === undefined || claims.length < 2) return;
    const seqs = claims.map(({ entry }) => entry.seq);
    const id = `${finding} ${seqs.join()}`;
    const before = found.get(id);
    // Found by two subjects: one of them, whatever came first.
    const about = before !== undefined && before.about < newest.about ? before.about : newest.about;
    found.set(id, { finding, about, entries: seqs });
  };
  for (const claims of subjects.values()) {
    const newest = newestOf(claims);
    add(
      "contradiction",
      newest.filter((one) => newest.some((other) => contradicts(one, other))),
    );
    for (const same of alike(newest)) add("duplicate", same);
  }
  for (const claims of texts.values()) add("duplicate", newestOf(claims));
  const last = ({ entries: seqs }: MemoryFinding): number => seqs[0] ?? 0;
  return [...found.values()].toSorted(
    (a, b) =>
      Number(b.finding === "contradiction") - Number(a.finding === "contradiction") ||
      last(b) - last(a) ||
      (a.entries.join() < b.entries.join() ? -1 : 1),
  );
}

function push(groups: Map<string, Claim[]>, id: string, claim: Claim): void {
  const group = groups.get(id);
  if (group === undefined) groups.set(id, [claim]);
  else group.push(claim);
}

const newestOf = (claims: readonly Claim[]): Claim[] =>
  claims.toSorted((a, b) => b.entry.seq - a.entry.seq).slice(0, subjectEntriesMax);

const readersOf = ({ scope, owner }: MemoryName): string => `${scope} ${owner ?? ""}`;

/** Claims that say the same for the same readers, each group once. */
function alike(claims: readonly Claim[]): Claim[][] {
  const groups = new Map<string, Claim[]>();
  for (const claim of claims) {
    const { text, isDenied } = claim.said;
    push(groups, `${readersOf(claim.entry)}\n${isDenied}\n${text}`, claim);
  }
  return [...groups.values()];
}

/** One says other than the other, and a session may carry both. */
function contradicts(a: Claim, b: Claim): boolean {
  if (a.entry === b.entry || a.said.text === "" || b.said.text === "") return false;
  if (a.entry.scope === b.entry.scope && a.entry.owner !== b.entry.owner) return false;
  if (a.said.isDenied !== b.said.isDenied) return true;
  if (a.said.text === b.said.text) return false;
  if (a.said.numbers !== "" && b.said.numbers !== "" && a.said.numbers !== b.said.numbers) return true;
  // "SQLite" and "SQLite with WAL": one says more, not something else.
  return !isWithin(a.said.words, b.said.words) && !isWithin(b.said.words, a.said.words);
}

const isWithin = (few: ReadonlySet<string>, many: ReadonlySet<string>): boolean =>
  [...few].every((one) => many.has(one));

/** By subject: that of the key, and that of a value such as "the database is SQLite". */
function claimsOf(entry: ReviewedEntry): ReadonlyMap<string, Claim> {
  const claims = new Map<string, Claim>();
  const text = textOf(entry.value);
  const byKey = subjectOf(entry.key);
  if (byKey !== null) claims.set(byKey, { entry, about: entry.key, said: saidIn(text) });
  const stated = statementIn(text);
  if (stated !== null) claims.set(stated.id, { entry, about: stated.subject, said: saidIn(stated.object) });
  return claims;
}

function textOf(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.slice(0, readCharsMax);
}

const separators = [" is ", " are ", " uses ", ": ", " = "];

/** A line that says what something is. */
function statementIn(text: string): { readonly id: string; subject: string; object: string } | null {
  const line = text.trim();
  if (line.length > 300 || line.includes("\n")) return null;
  const small = line.toLowerCase();
  const cuts = separators
    .map((separator) => ({ at: small.indexOf(separator), separator }))
    .filter(({ at }) => at > 0)
    .toSorted((a, b) => a.at - b.at);
  const [cut] = cuts;
  if (cut === undefined) return null;
  const subject = line.slice(0, cut.at).trim();
  const id = subjectOf(subject);
  const object = line.slice(cut.at + cut.separator.length).trim();
  return id === null || object === "" ? null : { id, subject, object };
}

/** Words that name no subject. */
const vague = new Set("note fact item info memo value setting choice decision rule remark point".split(" "));
const synonyms: Readonly<Record<string, string>> = {
  db: "database",
  repo: "repository",
  env: "environment",
  lang: "language",
  config: "configuration",
  conf: "configuration",
  auth: "authentication",
  prod: "production",
  dev: "development",
  pm: "manager",
};
/** Their stems, since the words of a text are stems. */
const meant = new Map(Object.entries(synonyms).map(([short, long]) => [short, wordsOf(long)[0] ?? long]));

/** Its words in any order; null when it names nothing. */
function subjectOf(text: string): string | null {
  const words = wordsOf(text)
    .map((word) => meant.get(word) ?? word)
    .filter((word) => !vague.has(word) && !isNumber(word));
  const subject = [...new Set(words)].toSorted();
  return subject.length === 0 || subject.length > subjectWordsMax ? null : subject.join(" ");
}

const isNumber = (word: string): boolean => Number.isFinite(Number(word));

const denials = new Set("not no never none nothing without cannot isn don doesn nicht kein nie".split(" "));

function saidIn(text: string): EntryText {
  const small = text.toLowerCase();
  const words = wordsOf(text);
  return {
    text: words.length === 0 ? small.trim() : words.join(" "),
    words: new Set(words),
    numbers: (small.match(/\d+/g) ?? []).join(" "),
    isDenied: (small.match(/[a-z]+/g) ?? []).some((word) => denials.has(word)),
  };
}
