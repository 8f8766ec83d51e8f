/**
 * Given, when, then: a session made of events, a command on it, and the events and the state that come of
 * it.
 */
import type { Command } from "../../src/core/command.ts";
import { fold } from "../../src/core/fold.ts";
import assert from "node:assert/strict";
import { bodyHashOf, contentHashOf, genesisHash, link, type StoredRecord } from "../../src/core/chain.ts";
import type { BodyOf, ContentOf, SessionEventType } from "../../src/core/catalog.ts";
import { decide } from "../../src/core/decide.ts";
import type { Decision, DraftEvent, Refusal } from "../../src/core/decision.ts";
import { readEvent } from "../../src/core/event.ts";
import { makeSessionId, makeWorkspaceId, type SessionId } from "../../src/core/ids.ts";
import { emptyState, type State } from "../../src/core/state.ts";
import { digest } from "./digest.ts";

const random = new Uint8Array(10);
export const sessionId = makeSessionId({ nowMs: 1_700_000_000_000, random });
export const workspaceId = makeWorkspaceId({ nowMs: 1_700_000_000_000, random });
export const facts = { actor: "system", digest, program: "9.9.9" };

/** A log in memory, with the state at each of its positions. Position 0 is the empty state. */
export interface Given {
  readonly session: SessionId;
  readonly records: readonly StoredRecord[];
  readonly states: readonly State[];
  readonly state: State;
  /** The session goes on with this event, whether or not it would be decided. */
  and<T extends SessionEventType>(type: T, body: BodyOf<T>, content?: ContentOf<T>): Given;
  /** Any drafts at all. */
  write(...drafts: readonly DraftEvent[]): Given;
  decide(command: Command): Decision;
  /** What the command brings about; fails if it is refused. */
  brings(command: Command): readonly DraftEvent[];
  /** The session goes on with what the command brings about. */
  when(command: Command): Given;
  /** The refusal; fails if there is none. */
  refusal(command: Command): Refusal;
  /** Another session that goes on from here, without its first record. */
  branch(session: SessionId): Given;
}

const openedAt = 1_700_000_000_000;

/** A session that was just opened. */
export const given = (objective = "Fix login"): Given =>
  empty(sessionId).when({ do: "open", workspace: workspaceId, objective });

export const empty = (session: SessionId): Given => make(session, [], [emptyState]);

function make(session: SessionId, records: readonly StoredRecord[], states: readonly State[]): Given {
  const state = states.at(-1)!;
  const write = (...drafts: readonly DraftEvent[]): Given => {
    const grownRecords = [...records];
    const grownStates = [...states];
    for (const draft of drafts) {
      const record = seal(session, draft, grownRecords.at(-1));
      grownRecords.push(record);
      grownStates.push(foldOne(grownStates, record));
    }
    return make(session, grownRecords, grownStates);
  };
  const brings = (command: Command): readonly DraftEvent[] => {
    const decision = decide(state, command, facts);
    assert.ok(decision.ok, decision.ok ? "" : `${command.do}: ${decision.refusal.message}`);
    return decision.drafts;
  };
  return {
    session,
    records,
    states,
    state,
    write,
    and: (type, body, content) => write(content === undefined ? { type, body } : { type, body, content }),
    decide: (command) => decide(state, command, facts),
    brings,
    when: (command) => write(...brings(command)),
    refusal(command) {
      const decision = decide(state, command, facts);
      assert.ok(!decision.ok, `${command.do} was accepted`);
      return decision.refusal;
    },
    branch: (child) => make(child, records, states),
  };
}

/**
 * A state as plain values. Maps hide their entries from comparison, so states are compared in this form
 * only.
 */
export const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** The state after one more record, with minds recalled from the states before. */
export const foldOne = (states: readonly State[], record: StoredRecord): State =>
  fold(states.at(-1)!, readEvent(record, false), (seq) => states[seq]!.mind);

/** A stored record as a store would make it: one millisecond and one salt each. */
export function seal(session: SessionId, draft: DraftEvent, before: StoredRecord | undefined): StoredRecord {
  const seq = (before?.seq ?? 0) + 1;
  const body = JSON.stringify(draft.body);
  const content = draft.content === undefined ? null : JSON.stringify(draft.content);
  const salt = content === null ? null : digest("", `salt ${session} ${seq}`).slice(0, 32);
  const fields = {
    session,
    seq,
    at: openedAt + seq,
    type: draft.type,
    v: 1,
    actor: "system",
    turn: draft.turn ?? null,
    cause: draft.cause ?? null,
    key: null,
    body,
    contentHash: content === null || salt === null ? null : contentHashOf(digest, salt, content),
    contentBytes: content === null ? null : Buffer.byteLength(content),
  };
  const hash = link(digest, before?.hash ?? genesisHash, fields, bodyHashOf(digest, body));
  return { ...fields, hash, salt, content };
}
