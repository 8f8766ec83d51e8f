/** Live entries: a streaming answer, and inputs being sent. */
import { useDeferredValue, type ReactNode } from "react";
import { useCell } from "../../signal.ts";
import { Said } from "../../ui/untrusted-text.tsx";
import { brief } from "../../ui/visible.ts";
import { Attachments } from "./attachment.tsx";
import type { Pending } from "./pending.ts";
import { Prose } from "./prose.tsx";
import { useScope } from "./scope.ts";

export function LiveEntry(): ReactNode {
  const { draft: live, state } = useScope();
  const draft = useDeferredValue(useCell(live));
  const { name = "default", version = 0 } = state.agent ?? {};
  const agent = version === 0 ? name : `${name}@${version}`;
  if (draft === null)
    return (
      <p className="live-waiting" role="status">
        <span className="dot" data-beats /> {brief(agent, 60)} is at work
      </p>
    );
  return (
    <div className="answer">
      <p className="spoken-who">
        <span>{brief(agent, 60)}</span>
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
          <span className="dot" data-beats /> calls {brief(tool, 60)}
        </p>
      ))}
    </div>
  );
}

export function PendingEntry({ pending }: { readonly pending: Pending }): ReactNode {
  return (
    <div className="spoken" data-waits>
      <p className="spoken-who">
        <span>You</span>
        <span className="mark">{pending.seq === null ? "on its way" : "waits"}</span>
      </p>
      {pending.text === "" ? null : <Said text={pending.text} chars={3_000} />}
      <Attachments of={pending.attached} />
    </div>
  );
}
