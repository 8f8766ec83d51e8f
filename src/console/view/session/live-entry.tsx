/** Live entries: a streaming answer, and inputs being sent. */
import { useDeferredValue, useEffect, useState, type ReactNode } from "react";
import { useCell } from "../../signal.ts";
import { span } from "../../ui/moment.tsx";
import { speakerName } from "../../ui/speaker.ts";
import { Said } from "../../ui/untrusted-text.tsx";
import { brief } from "../../ui/visible.ts";
import { every, now } from "../../world.ts";
import { Attachments } from "./attachment.tsx";
import type { PendingMessage } from "./pending.ts";
import { Prose } from "./prose.tsx";
import { useScope } from "./scope.ts";

export function LiveEntry(): ReactNode {
  const { draft: live, state } = useScope();
  const draft = useDeferredValue(useCell(live));
  const { agent, model } = state;
  const name = speakerName(agent === null ? null : `${agent.name}@${agent.version}`, model);
  if (draft === null)
    return (
      <p className="live-waiting" role="status">
        <span className="dot" data-beats /> {name} is working
        <Elapsed />
      </p>
    );
  return (
    <div className="answer">
      <p className="spoken-who">
        <span>{name}</span>
        <span className="mark" data-tone="busy">
          <span className="dot" data-beats /> writing
        </span>
      </p>
      {draft.text === "" && draft.reasoning !== "" ? (
        <div className="reasoning">
          <Prose text={draft.reasoning} isLive />
        </div>
      ) : null}
      {draft.text === "" ? null : <Prose text={draft.text} isLive />}
      {draft.tools.map((tool, place) => (
        <p key={place} className="live-waiting">
          <span className="dot" data-beats /> calling {brief(tool, 60)}
        </p>
      ))}
    </div>
  );
}

/** The time since the turn began, from a second on. */
function Elapsed(): ReactNode {
  const { log, state } = useScope();
  const [nowMs, setNow] = useState(now);
  useEffect(() => every(1_000, () => setNow(now())), []);
  useCell(log.version);
  const begun = state.turn === null ? undefined : log.peek(state.turn.startedSeq);
  const ms = begun === undefined ? 0 : nowMs - begun.at;
  return ms < 1_000 ? null : <span aria-hidden="true"> · {span(ms)}</span>;
}

export function PendingEntry({ pending }: { readonly pending: PendingMessage }): ReactNode {
  return (
    <div className="spoken" data-waits>
      <p className="spoken-who">
        <span>You</span>
        <span className="mark">{pending.seq === null ? "sending" : "queued"}</span>
      </p>
      {pending.text === "" ? null : <Said text={pending.text} chars={3_000} />}
      <Attachments of={pending.attached} />
    </div>
  );
}
