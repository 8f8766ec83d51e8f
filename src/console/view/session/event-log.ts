/**
 * The log of one session in the console: pages of events, read on demand, with live events added at the end.
 * It holds a bounded number of pages.
 */
import type { RemoteSession } from "../../../client/connect.ts";
import { cell, type Cell } from "../../signal.ts";
import { showError } from "../../ui/toast.tsx";
import type { SessionEvent } from "../../../core/event.ts";

const pageEvents = 200;
const pagesMax = 60;
const readingMax = 2;
const wantedMax = 4;

export interface EventLog {
  /** The last position. */
  readonly headSeq: Cell<number>;
  /** Goes up after each read or live event. */
  readonly version: Cell<number>;
  /** The event, if loaded; otherwise it is read, and the version changes when it arrives. */
  at(seq: number): SessionEvent | undefined;
  /** The event, if loaded. */
  peek(seq: number): SessionEvent | undefined;
  /** Resolves once these are loaded. */
  read(fromSeq: number, toSeq: number): Promise<readonly SessionEvent[]>;
  /** Adds a live event. */
  hear(event: SessionEvent): void;
  /** The log is this long now; missing events are read on demand. */
  reach(headSeq: number): void;
  /** Contents may be gone, as after an erasure: everything is read again. */
  drop(): void;
}

export function eventLog(session: RemoteSession, headSeq: number): EventLog {
  const head = cell(headSeq);
  const version = cell(0);
  const pages = new Map<number, readonly SessionEvent[]>();
  const reading = new Map<number, Promise<void>>();
  const changed = (): void => version.set(version.get() + 1);
  const pageOf = (seq: number): number => Math.floor((seq - 1) / pageEvents);

  function keep(page: number, events: readonly SessionEvent[]): void {
    pages.delete(page);
    pages.set(page, events);
    for (const old of pages.keys()) {
      if (pages.size <= pagesMax) break;
      pages.delete(old);
    }
    changed();
  }

  async function readPage(page: number): Promise<void> {
    const [fromSeq, toSeq] = [page * pageEvents + 1, (page + 1) * pageEvents];
    const events: SessionEvent[] = [];
    for await (const event of session.events({ fromSeq, toSeq })) events.push(event);
    // Events that arrived meanwhile are newer than the read.
    const live = pages.get(page) ?? [];
    keep(page, [...events, ...live.slice(events.length)]);
  }

  function need(page: number): Promise<void> {
    const known = reading.get(page);
    if (known !== undefined) return known;
    const made = readPage(page).finally(() => reading.delete(page));
    reading.set(page, made);
    return made;
  }

  /**
   * Fast scrolling leaves pages before they are read: the newest request goes first, the oldest is dropped.
   */
  const wanted: number[] = [];
  function want(page: number): void {
    if (reading.has(page)) return;
    if (wanted.includes(page)) wanted.splice(wanted.indexOf(page), 1);
    wanted.push(page);
    if (wanted.length > wantedMax) wanted.shift();
    readWanted();
  }

  function readWanted(): void {
    if (reading.size >= readingMax) return;
    const page = wanted.pop();
    if (page !== undefined) need(page).catch(showError).finally(readWanted);
  }

  const peek = (seq: number): SessionEvent | undefined => pages.get(pageOf(seq))?.[(seq - 1) % pageEvents];

  function isWhole(page: number): boolean {
    const events = pages.get(page);
    if (events === undefined) return false;
    return events.length >= Math.min(pageEvents, head.get() - page * pageEvents);
  }

  return {
    headSeq: head,
    version,
    at(seq) {
      if (seq < 1 || seq > head.get()) return undefined;
      const found = peek(seq);
      if (found === undefined) want(pageOf(seq));
      return found;
    },
    peek,
    async read(fromSeq, toSeq) {
      const last = Math.min(toSeq, head.get());
      for (let page = pageOf(fromSeq); page <= pageOf(last); page++) if (!isWhole(page)) await need(page);
      const found: SessionEvent[] = [];
      for (let seq = fromSeq; seq <= last; seq++) {
        const event = peek(seq);
        if (event !== undefined) found.push(event);
      }
      return found;
    },
    hear(event) {
      const page = pageOf(event.seq);
      const events = pages.get(page) ?? [];
      if (events.length === (event.seq - 1) % pageEvents) keep(page, [...events, event]);
      if (event.seq > head.get()) head.set(event.seq);
      changed();
    },
    reach(seq) {
      if (seq > head.get()) head.set(seq);
    },
    drop() {
      pages.clear();
      changed();
    },
  };
}
