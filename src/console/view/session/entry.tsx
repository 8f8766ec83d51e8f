/** One entry of the transcript. */
import { shortId } from "../../../core/text/short-id.ts";
import { memo, type ReactNode } from "react";
import type { EventOf } from "../../../core/event.ts";
import { money, plural, tokens } from "../../ui/amount.ts";
import { actorWords, toneOfEvent } from "../../ui/event-summary.ts";
import { Ago, span } from "../../ui/moment.tsx";
import { Json, Said } from "../../ui/untrusted-text.tsx";
import { SessionName } from "../../ui/session-name.tsx";
import { speakerName } from "../../ui/speaker.ts";
import { brief } from "../../ui/visible.ts";
import { useReading } from "../../query-cache.ts";
import { engine } from "../../server.ts";
import { Attachments, attachedIn } from "./attachment.tsx";
import { CallEntry, Gap } from "./call.tsx";
import type { SessionEvent } from "../../../core/event.ts";
import { Prose } from "./prose.tsx";
import {
  blocksTextOf,
  isOf,
  noteDetail,
  type Input,
  type SessionTranscriptEntry,
} from "../../../core/transcript.ts";

interface EntryProps {
  readonly entry: SessionTranscriptEntry;
  /** Of an answer: the previous speaker was another. */
  readonly isFirst: boolean;
  readonly isOpen: boolean;
  readonly toggle: (entry: SessionTranscriptEntry) => void;
}

export const EntryOf = memo(function EntryOf({ entry, isFirst, isOpen, toggle }: EntryProps): ReactNode {
  switch (entry.kind) {
    case "input":
      return <InputEntry input={entry.input} />;
    case "answer":
      return (
        <AnswerEntry answer={entry.answer} isFirst={isFirst} isOpen={isOpen} toggle={() => toggle(entry)} />
      );
    case "call":
      return <CallEntry call={entry.call} isOpen={isOpen} toggle={() => toggle(entry)} />;
    case "note":
      return <NoteEntry event={entry.event} text={entry.text} isOpen={isOpen} toggle={() => toggle(entry)} />;
    case "lost": {
      const events = entry.range[1] - entry.range[0] + 1;
      return (
        <button type="button" className="lost" aria-expanded={entry.isOpen} onClick={() => toggle(entry)}>
          <span className="call-turn" aria-hidden="true" />
          {plural(events, "event")} {events === 1 ? "was" : "were"} rewound
        </button>
      );
    }
  }
});

/** My identity at the server, once it is known. */
export const useMe = () => useReading("me", () => engine.me()).value;

function InputWho({ input }: { readonly input: Input }): ReactNode {
  const me = useMe();
  if (isOf(input, "message.received"))
    return (
      <>
        Message from <SessionName id={input.body.from} />
        {input.body.topic === undefined ? null : ` on ${brief(input.body.topic, 60)}`}
      </>
    );
  const { from } = input.body as { readonly from?: string };
  if (from === "trigger") return "Trigger";
  if (from === "system") return "System";
  return input.actor === me?.actor ? "You" : actorWords(input.actor);
}

export function InputEntry({
  input,
  waits = null,
}: {
  readonly input: Input;
  readonly waits?: string | null;
}): ReactNode {
  const blocks = input.content?.blocks;
  const text = blocksTextOf(blocks, "text");
  const steers = (input.body as { readonly mode?: string }).mode === "steer";
  return (
    <div className="spoken" data-waits={waits !== null || undefined}>
      <p className="spoken-who">
        <span>
          <InputWho input={input} />
        </span>
        {steers ? <span className="faint">steering</span> : null}
        {waits === null ? null : <span className="mark">{waits}</span>}
        <span className="faint small">
          <Ago at={input.at} />
        </span>
      </p>
      {input.erased ? <Gap what="Message" /> : null}
      {text === "" ? null : <Said text={text} chars={3_000} />}
      <Attachments of={attachedIn(blocks)} />
    </div>
  );
}

interface AnswerProps {
  readonly answer: EventOf<"model.responded">;
  readonly isFirst: boolean;
  readonly isOpen: boolean;
  readonly toggle: () => void;
}

const finishes: Readonly<Record<string, string>> = {
  length: "Output limit reached.",
  refusal: "Refused by the model.",
  "content-filter": "Blocked by the provider's content filter.",
  other: "Stopped for an unspecified reason.",
};

function AnswerEntry({ answer, isFirst, isOpen, toggle }: AnswerProps): ReactNode {
  const { body, content, actor, erased, at } = answer;
  const text = blocksTextOf(content?.blocks, "text");
  const reasoning = blocksTextOf(content?.blocks, "reasoning");
  const finish = finishes[body.finish];
  return (
    <div className="answer">
      {isFirst ? (
        <p className="spoken-who">
          <span>{agentName(actor, body.model)}</span>
          <span className="faint small">
            <Ago at={at} />
          </span>
        </p>
      ) : null}
      {erased ? <Gap what="Answer" /> : null}
      {reasoning === "" ? null : <Reasoning text={reasoning} ms={body.ms} isOpen={isOpen} toggle={toggle} />}
      {text === "" ? null : <Prose text={text} />}
      <Attachments of={attachedIn(content?.blocks)} />
      {finish === undefined ? null : <p className="answer-finish">{finish}</p>}
      <p className="answer-cost faint small number">{costWords(body)}</p>
    </div>
  );
}

const agentName = (actor: string, model: string): string =>
  speakerName(actor.startsWith("agent:") ? actor.slice("agent:".length) : null, model);

function costWords({ model, usage, costNanoUsd, ms }: EventOf<"model.responded">["body"]): string {
  const said = [model, `${tokens(usage.inputTokens)} in, ${tokens(usage.outputTokens)} out`];
  if (costNanoUsd !== null && costNanoUsd > 0) said.push(money(costNanoUsd));
  if (ms !== undefined) said.push(span(ms));
  return said.join(" · ");
}

interface ReasoningProps {
  readonly text: string;
  readonly ms?: number | undefined;
  readonly isOpen: boolean;
  readonly toggle: () => void;
}

function Reasoning({ text, isOpen, toggle }: ReasoningProps): ReactNode {
  return (
    <div className="reasoning">
      <button type="button" className="lost" aria-expanded={isOpen} onClick={toggle}>
        <span className="call-turn" aria-hidden="true" />
        Reasoning
      </button>
      {isOpen ? <Prose text={text} /> : null}
    </div>
  );
}

interface NoteProps {
  readonly event: SessionEvent;
  readonly text: string;
  readonly isOpen: boolean;
  readonly toggle: () => void;
}

/** The other session of a note. */
function otherOf(event: SessionEvent): string | null {
  if (isOf(event, "session.forked")) return event.body.parent;
  if (isOf(event, "session.merged")) return event.body.from;
  if (isOf(event, "message.sent", "message.refused")) return event.body.to;
  return isOf(event, "trigger.fired") ? (event.body.opened ?? null) : null;
}

const noteChars = 280;

function NoteEntry({ event, text, isOpen, toggle }: NoteProps): ReactNode {
  const detail = noteDetail(event);
  const other = otherOf(event);
  const line = (
    <>
      <span className="note-text" dir="auto">
        {brief(text, noteChars)}
      </span>
      <span className="faint small">
        <Ago at={event.at} />
      </span>
    </>
  );
  return (
    <div className="note" data-tone={toneOfEvent(event) ?? undefined}>
      {detail === null ? (
        <p className="note-line">{line}</p>
      ) : (
        <button type="button" className="note-line" aria-expanded={isOpen} onClick={toggle}>
          <span className="call-turn" aria-hidden="true" />
          {line}
        </button>
      )}
      {isOf(event, "model.failed") && event.content?.partial !== undefined ? (
        <div className="answer">
          <Prose text={event.content.partial} />
          <p className="answer-finish">Interrupted</p>
        </div>
      ) : null}
      {other === null ? null : (
        <p className="small note-other">
          <SessionName id={other} /> <span className="faint">{shortId(other)}</span>
        </p>
      )}
      {isOpen && detail !== null ? (
        <div className="note-detail">
          {typeof detail === "string" ? <Prose text={detail} /> : <Json value={detail} chars={4_000} />}
        </div>
      ) : null}
    </div>
  );
}
