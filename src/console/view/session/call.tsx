/** A tool call: a line that expands, with the approval in place if it waits for one. */
import { useState, type ReactNode } from "react";
import { useRefusal, useScopeRefusal } from "../../scopes.ts";
import { plural } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { span } from "../../ui/moment.tsx";
import { Json, Said } from "../../ui/untrusted-text.tsx";
import { brief } from "../../ui/visible.ts";
import { Attachments, attachedIn } from "./attachment.tsx";
import type { EventLog } from "./event-log.ts";
import { runWithoutWorker } from "./pending.ts";
import { useScope } from "./scope.ts";
import { isOf, phaseOf, type CallHistory, type Phase } from "../../../core/transcript.ts";

const phases: Readonly<Record<Phase, readonly [word: string, tone: string | undefined]>> = {
  asked: ["waiting for approval", "warn"],
  waiting: ["queued", undefined],
  running: ["running", "busy"],
  denied: ["denied", "warn"],
  ok: ["ok", "good"],
  error: ["error", "bad"],
  unknown: ["outcome unknown", "bad"],
  skipped: ["skipped", undefined],
};

const effects: Readonly<Record<string, string>> = {
  read: "Read-only",
  idempotent: "Safe to retry",
  unsafe: "Not safe to retry",
  session: "Changes this session's log",
};

interface CallProps {
  readonly call: CallHistory;
  readonly isOpen: boolean;
  readonly toggle: () => void;
}

export function CallEntry({ call, isOpen, toggle }: CallProps): ReactNode {
  const { at, state } = useScope();
  const { request, settled, started } = call;
  const phase = phaseOf(call);
  // Its runner is dead, and no other has resumed it yet.
  const isLeft = phase === "running" && state.lease === null && (started?.seq ?? Infinity) <= state.seq;
  const [word, tone] = isLeft ? (["interrupted", "warn"] as const) : phases[phase];
  const waits = at === null && state.calls.some((one) => one.seq === request.seq && one.phase === "asked");
  const ms = settled?.body.ms ?? (settled && started ? settled.at - started.at : undefined);
  return (
    <div className="call" data-tone={tone} data-waits={waits || undefined}>
      <button type="button" className="call-line" aria-expanded={isOpen || waits} onClick={toggle}>
        <span className="call-turn" aria-hidden="true" />
        <span className="call-tool">{brief(request.body.tool, 60)}</span>
        <span className="call-input cut">{inputWords(request.content?.input)}</span>
        {ms === undefined || ms < 1 ? null : <span className="faint small number">{span(ms)}</span>}
        <span className="mark" data-tone={tone}>
          {phase === "running" && !isLeft ? <span className="dot" data-beats /> : null}
          {word}
        </span>
      </button>
      {isOpen || waits ? <CallDetail call={call} phase={phase} isWhole={waits} /> : null}
      {waits ? <Answering call={call} /> : null}
      {at === null && phase === "unknown" ? <Settling call={call} /> : null}
    </div>
  );
}

/** Arguments on one line, for any size. */
function inputWords(input: unknown): string {
  if (typeof input === "string") return brief(input, 160);
  if (typeof input !== "object" || input === null) return "";
  const pairs = Object.entries(input)
    .slice(0, 4)
    .map(([key, value]) => `${key}: ${typeof value === "string" ? value.slice(0, 200) : shortJson(value)}`);
  return brief(pairs.join("  "), 200);
}

function shortJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.length}]`;
  return typeof value === "object" && value !== null ? "{…}" : String(value);
}

interface CallDetailProps {
  readonly call: CallHistory;
  readonly phase: Phase;
  /** A person decides by what is shown, so nothing is truncated. */
  readonly isWhole: boolean;
}

function CallDetail({ call, phase, isWhole }: CallDetailProps): ReactNode {
  const { request, approved, denied, settled, late } = call;
  const reason = approved?.content?.reason ?? denied?.content?.reason;
  return (
    <div className="call-detail">
      {request.erased ? (
        <Gap what="Arguments" />
      ) : (
        <Json value={request.content?.input} chars={isWhole ? Infinity : 4_000} />
      )}
      {reason === undefined ? null : (
        <p className="small soft">
          {denied === undefined ? "Allowed: " : "Denied: "}
          {brief(reason, 400)}
        </p>
      )}
      {settled === undefined ? null : <Outcome settled={settled} phase={phase} />}
      {late === undefined ? null : (
        <>
          <p className="call-title">Late result, not used</p>
          <Json value={late.content?.output} chars={4_000} />
        </>
      )}
      <p className="faint small">
        {effects[request.body.effect]} · {settled === undefined ? "event" : "events"} {request.seq}
        {settled === undefined ? "" : `–${settled.seq}`}
      </p>
    </div>
  );
}

type SettledState = NonNullable<CallHistory["settled"]>;

function Outcome({ settled, phase }: { readonly settled: SettledState; readonly phase: Phase }): ReactNode {
  const titles: Partial<Record<Phase, string>> = {
    error: "Error",
    unknown: "Outcome unknown",
  };
  return (
    <>
      <p className="call-title">{titles[phase] ?? "Result"}</p>
      {settled.erased ? <Gap what="Result" /> : null}
      {settled.content === undefined ? null : <Output value={settled.content.output} />}
      <Attachments of={attachedIn(settled.content?.blocks)} />
    </>
  );
}

function Output({ value }: { readonly value: unknown }): ReactNode {
  if (value === "" || value === undefined) return <p className="faint small">No output.</p>;
  return typeof value === "string" ? (
    <Said as="pre" text={value} chars={4_000} />
  ) : (
    <Json value={value} chars={4_000} />
  );
}

export const Gap = ({ what }: { readonly what: string }): ReactNode => (
  <p className="gap">{what} erased. The log keeps its hash and length.</p>
);

function Answering({ call }: { readonly call: CallHistory }): ReactNode {
  const { session, reread } = useScope();
  const [reason, setReason] = useState("");
  const mayAllow = useScopeRefusal("operate");
  const { tool } = call.request.body;
  const command = call.request.content?.command;
  const answer = async (allow: boolean, remember?: "session" | "always"): Promise<void> => {
    const why = reason.trim() === "" ? {} : { reason: reason.trim() };
    const kept = remember === undefined ? {} : { remember };
    await session.answer({ allow, calls: [call.request.body.call], ...why, ...kept });
    reread();
    await runWithoutWorker(session);
  };
  return (
    <div className="call-answer">
      {command === undefined ? null : (
        <>
          <Said as="pre" className="call-command" text={command.text} chars={Infinity} />
          <p className="small soft call-where">Runs in {brief(command.directory, 200)}</p>
        </>
      )}
      <Button kind="main" data-answer="" refusal={mayAllow} act={() => answer(true)}>
        Allow once
      </Button>
      <Button refusal={mayAllow} act={() => answer(true, "session")}>
        Allow {brief(tool, 40)} for this session
      </Button>
      {command === undefined ? null : (
        <Button refusal={mayAllow} act={() => answer(true, "always")}>
          Always allow this command
        </Button>
      )}
      <Button kind="bad" refusal={useRefusal("session.answer")} act={() => answer(false)}>
        Deny
      </Button>
      <input
        className="field"
        aria-label="Reason (optional)"
        placeholder="Reason (optional)"
        value={reason}
        onChange={({ target }) => setReason(target.value)}
      />
    </div>
  );
}

/**
 * Calls that were interrupted together: the session is suspended for the first, and all are answered at once.
 */
function unknownAfter(log: EventLog, fromSeq: number, toSeq: number): number {
  let found = 0;
  for (let seq = fromSeq + 1; seq <= toSeq; seq++) {
    const event = log.at(seq);
    if (isOf(event, "tool.settled") && event.body.status === "unknown") found += 1;
  }
  return found;
}

/** A call of unknown outcome, for which the session is suspended. */
function Settling({ call }: { readonly call: CallHistory }): ReactNode {
  const { session, state, log, reread } = useScope();
  const [text, setText] = useState("");
  const refusal = useRefusal("session.answer");
  const { why, status } = state;
  if (status !== "suspended" || why?.by !== "unknown") return null;
  const suspended = log.at(why.seq);
  const on = isOf(suspended, "session.suspended") ? suspended.body.on : undefined;
  if (on !== undefined && !on.includes(call.request.seq)) return null;
  const others = unknownAfter(log, why.seq, state.seq);
  const tell = async (what: string): Promise<void> => {
    const { body, content } = call.request;
    const input = inputWords(content?.input);
    const said =
      `The call of ${body.tool}${input === "" ? "" : ` (${input})`} ${what}. ${text.trim()}`.trim();
    // This allows or denies no call, so the write scope is enough.
    await session.answer({ allow: false, calls: [], text: said });
    reread();
    await runWithoutWorker(session);
  };
  return (
    <div className="call-answer">
      <span>Did it take effect?</span>
      <Button kind="main" data-answer="" refusal={refusal} act={() => tell("did happen")}>
        Mark as done
      </Button>
      <Button refusal={refusal} act={() => tell("did not happen")}>
        Mark as not done
      </Button>
      <input
        className="field"
        aria-label="Note for the model (optional)"
        placeholder="Note for the model (optional)"
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      {others === 0 ? null : (
        <p className="small soft">
          {plural(others, "more call")} with an unknown outcome: describe {others === 1 ? "it" : "them"} in
          this field.
        </p>
      )}
    </div>
  );
}
