/** The status of the session, if it prevents writing, and the button that helps. */
import type { ReactNode } from "react";
import { shortId } from "../../../core/text/short-id.ts";
import { Link } from "../../link.tsx";
import { sessionPath } from "../../route.ts";
import { useScopeRefusal } from "../../scopes.ts";
import { plural } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { Due } from "../../ui/moment.tsx";
import { brief } from "../../ui/visible.ts";
import { useMe } from "./entry.tsx";
import { runWithoutWorker } from "./pending.ts";
import { useScope } from "./scope.ts";

/** Whether messages can be written now. */
export function useWriting(): "open" | "shut" {
  const { state } = useScope();
  const me = useMe();
  const isOver = ["closed", "archived", "moved"].includes(state.status);
  return isOver || state.newer !== null || !mayWrite(me) ? "shut" : "open";
}

export const mayWrite = (me: { readonly scopes: readonly string[] } | undefined): boolean =>
  me === undefined || me.scopes.includes("write") || me.scopes.includes("admin");

export function Standing(): ReactNode {
  const { state, session, reread } = useScope();
  const me = useMe();
  const doing = (work: () => Promise<unknown>) => async (): Promise<void> => {
    await work();
    reread();
  };
  const activate = doing(() => session.activate().then(() => runWithoutWorker(session)));
  const { status, newer, why } = state;
  const mayOperate = useScopeRefusal("operate");
  if (newer !== null) return <Band>Read-only: a newer version of Skein wrote to this session.</Band>;
  if (!mayWrite(me)) return <Band>Read-only login.</Band>;
  if (status === "moved") return <Band>Moved to another store. Fork it to continue here.</Band>;
  if (state.next !== null)
    return (
      <Band>
        <span className="spread">
          This session went on as <Link to={sessionPath(state.next)}>{shortId(state.next)}</Link>.
        </span>
      </Band>
    );
  if (status === "closed" || status === "archived")
    return (
      <Band>
        Session {status}.<Button act={doing(() => session.reopen())}>Reopen</Button>
      </Band>
    );
  if (status === "sleeping")
    return (
      <Band tone="rest">
        <Sleeping />
        <Button act={activate}>Activate</Button>
      </Band>
    );
  if (status !== "suspended") return null;
  if (why?.by === "approval") return <Asked />;
  return (
    <Band tone="warn">
      <span className="spread">
        Suspended ({why?.by ?? "person"})
        {why?.reason === null || why === null ? "" : `: ${brief(why.reason, 200)}`}. {wayOnOf(why?.by)}
      </span>
      <Button {...(why?.by === "imported" ? { refusal: mayOperate } : {})} act={activate}>
        Activate
      </Button>
    </Band>
  );
}

function wayOnOf(by: string | undefined): string {
  if (by === "budget") return "Raise the budget, then activate the session.";
  if (by === "unknown")
    return "Answer above whether the call took effect; otherwise the model has to find out.";
  if (by === "imported") return "Review its bindings, rules and queued messages before you activate it.";
  return "Messages are queued until you activate it.";
}

function Sleeping(): ReactNode {
  const { log, state } = useScope();
  const slept = state.why === null ? undefined : log.at(state.why.seq);
  const until = (slept?.body as { readonly untilMs?: number } | undefined)?.untilMs;
  if (until === undefined)
    return <span className="spread">Sleeping until a trigger or a message wakes it.</span>;
  return (
    <span className="spread">
      Sleeping, wakes <Due at={until} />.
    </span>
  );
}

/** Calls that wait for approval; they may be far up. */
function Asked(): ReactNode {
  const { state, session, reread } = useScope();
  const asked = state.calls.filter(({ phase }) => phase === "asked");
  const refusal = useScopeRefusal("operate");
  if (asked.length < 2) return null;
  const answer = async (allow: boolean): Promise<void> => {
    await session.answer({ allow, calls: asked.map(({ call }) => call) });
    reread();
    await runWithoutWorker(session);
  };
  return (
    <Band tone="warn">
      <span className="spread">{plural(asked.length, "call")} waiting for approval.</span>
      <Button refusal={refusal} act={() => answer(true)}>
        Allow all
      </Button>
      <Button kind="bad" act={() => answer(false)}>
        Deny all
      </Button>
    </Band>
  );
}

function Band({ tone, children }: { readonly tone?: string; readonly children: ReactNode }): ReactNode {
  return (
    <div className="standing" data-tone={tone} role="status">
      {children}
    </div>
  );
}
