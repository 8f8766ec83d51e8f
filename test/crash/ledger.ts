/**
 * The ledger of a crash test: what the processes on one store said before they were killed. Their lines:
 *
 *   ready                                the program is loaded and waits for its order
 *   opened                               the store is open
 *   try <mark> <verb> <parts> <session>  about to write so many records; `-` when there is no session yet
 *   again <mark>                         the same write with the same key, by another writer
 *   ok <mark> <session> <seq> <headSeq>  acknowledged at these positions; headSeq 0: it was there already
 *   no <mark> <code> [message, hint]     refused or failed
 *   saw <session> <seq> <hash>           this record was read
 *   next <session> <seq> <hash>          this record was given to somebody who follows the session
 *   gone <session>                       a session that was followed was deleted
 *   verified <records>                   the whole store was verified while others wrote to it
 *   unsound [problems]                   and it did not hold
 *   closed                               the work is done and the store is closed
 *   failed <code> [message, hint]        the store could not be opened, read or closed
 *   broke "stack"                        anything else that was thrown
 */

export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
}

/** A write, and what its writer heard of it. */
export interface Entry {
  readonly mark: string;
  readonly verb: string;
  readonly parts: number;
  /** Where it was to go; `-` when it was to open a session. */
  readonly session: string;
  /** Set once it was acknowledged. */
  placed: { readonly session: string; readonly seq: number; readonly headSeq: number } | null;
  refusal: Refusal | null;
  /** Whether another writer tried it again after the first had died without an answer. */
  again: boolean;
}

export interface Sighting {
  readonly session: string;
  readonly seq: number;
  readonly hash: string;
}

export class Ledger {
  readonly entries = new Map<string, Entry>();
  readonly sightings: Sighting[] = [];
  /** What should not have been said, and processes that ended by themselves. */
  readonly problems: string[] = [];
  /** Processes that could not open, read or close the store, as they are bound to on a disk that fails. */
  readonly failures: string[] = [];
  /** How far each follower came in each session. */
  readonly #followed = new Map<string, number>();

  /** Takes a line that a process said; its name is for the messages. */
  note(speaker: string, line: string): void {
    const [word = "", ...rest] = line.split(" ");
    switch (word) {
      case "ready":
      case "opened":
      case "closed":
      case "verified":
        return;
      case "try":
        return this.#begin(rest);
      case "again":
        return this.#again(rest[0] ?? "");
      case "ok":
        return this.#acknowledge(rest);
      case "no":
        return this.#refuse(rest);
      case "saw":
        return this.#saw(rest);
      case "next":
        return this.#next(speaker, rest);
      case "gone":
        return void this.#followed.delete(`${speaker} ${rest[0] ?? ""}`);
      case "failed":
        return void this.failures.push(`${speaker}: ${line}`);
      default:
        this.problems.push(`${speaker}: ${line.slice(0, 2_000)}`);
    }
  }

  /** Keyed writes that nobody heard an answer to. */
  unanswered(): Entry[] {
    return [...this.entries.values()].filter(
      ({ verb, placed, refusal }) => verb === "keyed" && placed === null && refusal === null,
    );
  }

  #begin([mark = "", verb = "", parts = "", session = ""]: readonly string[]): void {
    const entry = { mark, verb, parts: Number(parts), session, placed: null, refusal: null, again: false };
    if (this.entries.has(mark)) this.problems.push(`the mark ${mark} was used twice`);
    this.entries.set(mark, entry);
  }

  #again(mark: string): void {
    this.#entry(mark).again = true;
  }

  #acknowledge([mark = "", session = "", seq = "", headSeq = ""]: readonly string[]): void {
    const entry = this.#entry(mark);
    if (entry.placed !== null) this.problems.push(`${mark} was acknowledged twice`);
    entry.placed = { session, seq: Number(seq), headSeq: Number(headSeq) };
  }

  #refuse([mark = "", code = "", ...reason]: readonly string[]): void {
    const [message, hint] = JSON.parse(reason.join(" ")) as [string, string | null];
    this.#entry(mark).refusal = { code, message, hint };
  }

  #saw([session = "", seq = "", hash = ""]: readonly string[]): void {
    this.sightings.push({ session, seq: Number(seq), hash });
  }

  /** Whoever follows is given each position once and in order. */
  #next(speaker: string, said: readonly string[]): void {
    const [session = "", seq = ""] = said;
    const name = `${speaker} ${session}`;
    const before = this.#followed.get(name) ?? 0;
    if (Number(seq) !== before + 1)
      this.problems.push(`${name}: after ${before} the follower was given ${seq}`);
    this.#followed.set(name, Number(seq));
    this.#saw(said);
  }

  #entry(mark: string): Entry {
    const entry = this.entries.get(mark);
    if (entry !== undefined) return entry;
    this.problems.push(`nobody began ${mark}`);
    return { mark, verb: "", parts: 0, session: "-", placed: null, refusal: null, again: false };
  }
}
