/** The page of a session: its header, status and one aspect, now or at an earlier position. */
import {
  memo,
  useCallback,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
  type ReactNode,
} from "react";
import type { RemoteSession } from "../../../client/connect.ts";
import { cell, useCell } from "../../signal.ts";
import { Link } from "../../link.tsx";
import { useFollow, type LiveUpdate } from "../../live.ts";
import { count } from "../../ui/amount.ts";
import { Empty, WhenRead } from "../../ui/load-error.tsx";
import { brief } from "../../ui/visible.ts";
import { refresh, useReading } from "../../query-cache.ts";
import { go, sessionPath, type Aspect } from "../../route.ts";
import { sessionOf } from "../../server.ts";
import { after } from "../../world.ts";
import { Family } from "../family/family.tsx";
import { Compare } from "../compare/compare.tsx";
import { Merge } from "../merge/merge.tsx";
import { Log } from "../log/log.tsx";
import { ContextView } from "../time/context-view.tsx";
import { PastBand } from "../time/past-band.tsx";
import { useStateAt } from "../time/state-at.ts";
import { Timeline } from "../time/timeline.tsx";
import { passDraft } from "./composer.tsx";
import { Transcript } from "./transcript.tsx";
import { withDelta } from "./draft.ts";
import { eventLog } from "./event-log.ts";
import { Head } from "./head.tsx";
import { Panel } from "./panel.tsx";
import { ScopeProvider, useScope, type StreamingAnswer, type Scope } from "./scope.ts";
import "./session.css";

interface SessionPageProps {
  readonly id: string;
  readonly aspect: Aspect;
  readonly params: URLSearchParams;
}

export function SessionPage({ id, aspect, params }: SessionPageProps): ReactNode {
  const found = useReading(`session/${id}/handle`, async () => {
    const session = await sessionOf(id);
    return { session, head: await session.head() };
  });
  if (
    found.value === undefined &&
    (found.error as { readonly code?: unknown } | undefined)?.code === "not-found"
  )
    return <Gone never />;
  return (
    <WhenRead of={found}>
      {({ session, head }) => <Opened session={session} headSeq={head.seq} aspect={aspect} params={params} />}
    </WhenRead>
  );
}

const gatherMs = 150;

/** Reads of a session are repeated a moment after events, however many. */
function useRereading(id: string): () => void {
  const waiting = useRef<(() => void) | null>(null);
  useEffect(() => () => waiting.current?.(), []);
  return useCallback(() => {
    waiting.current ??= after(gatherMs, () => {
      waiting.current = null;
      refresh(`session/${id}`);
    });
  }, [id]);
}

interface OpenedProps extends Omit<SessionPageProps, "id"> {
  readonly session: RemoteSession;
  readonly headSeq: number;
}

function Opened({ session, headSeq, aspect, params }: OpenedProps): ReactNode {
  const { id } = session;
  const log = useMemo(() => eventLog(session, headSeq), [session]);
  const draft = useMemo(() => cell<StreamingAnswer | null>(null), [session]);
  const reread = useRereading(id);
  // A handle that is read again knows the current length of the log.
  useEffect(() => log.reach(headSeq), [log, headSeq]);
  const hear = (update: LiveUpdate): void => {
    if ("delta" in update) {
      if (update.session === id) draft.set(withDelta(draft.get(), update.delta));
      return;
    }
    const { event } = update;
    if (event.session !== id)
      return void ((isOfTwo(aspect) || event.type.startsWith("session.")) && reread());
    if (["model.responded", "model.failed"].includes(event.type)) draft.set(null);
    if (event.type === "content.erased") log.drop();
    log.hear(event);
    reread();
    // The chat goes on there. A reader of the past, of another aspect, or of what ended before stays.
    const isSeam = event.type === "session.continued" && log.peek(event.seq - 1)?.type === "session.closed";
    if (!isSeam || aspect !== "transcript" || params.has("at")) return;
    const { to } = event.body as { readonly to: string };
    passDraft(id, to);
    go(sessionPath(to), { replace: true });
  };
  const [isGone, setGone] = useState(false);
  useFollow(isGone ? undefined : id, hear, reread);
  const leave = useCallback(() => setGone(true), []);
  if (isGone) return <Gone />;
  return <Placed given={{ session, log, draft, reread }} gone={leave} aspect={aspect} params={params} />;
}

type PageInput = Pick<Scope, "session" | "log" | "draft" | "reread">;

/** The state at the position in the URL. While another one loads, the last one stays. */
function Placed({
  given,
  gone,
  aspect,
  params,
}: { readonly given: PageInput; readonly gone: () => void } & Omit<SessionPageProps, "id">): ReactNode {
  const { session } = given;
  const headSeq = useCell(given.log.headSeq);
  const named = /^\d+$/.test(params.get("at") ?? "") ? Number(params.get("at")) : null;
  const isNowhere = named !== null && (named < 1 || named > headSeq);
  const inAddress = isNowhere ? null : named;
  const { at, state: shown, isBehind, isDrawn, travel } = useStateAt(session, inAddress);
  const isGone = (shown.error as { readonly code?: unknown } | undefined)?.code === "not-found";
  useEffect(() => {
    if (isGone) gone();
  }, [isGone, gone]);
  if (isNowhere) return <Nowhere id={session.id} named={params.get("at") ?? ""} headSeq={headSeq} />;
  return (
    <WhenRead of={shown}>
      {(state) => (
        <Shown
          scope={{ ...given, id: session.id, at, state, isBehind, isDrawn, travel }}
          aspect={aspect}
          params={params}
        />
      )}
    </WhenRead>
  );
}

interface ShownProps extends Omit<SessionPageProps, "id"> {
  readonly scope: Scope;
}

/** While a slider is dragged the aspect, the most expensive part, updates when there is time. */
function Shown({ scope, aspect, params }: ShownProps): ReactNode {
  const later = useDeferredValue(scope.isDrawn ? scope : null);
  return (
    <ScopeProvider value={scope}>
      <div className="session" data-past={scope.at !== null || undefined}>
        <PastBand />
        <Head />
        <Tabs aspect={aspect} />
        <div className="session-aspect">
          <ScopeProvider value={(scope.isDrawn ? later : null) ?? scope}>
            <ShownAspect aspect={aspect} params={params} />
          </ScopeProvider>
        </div>
        {isOfTwo(aspect) ? null : <Timeline />}
      </div>
    </ScopeProvider>
  );
}

const ShownAspect = memo(function ShownAspect({ aspect, params }: Omit<ShownProps, "scope">): ReactNode {
  return aspectOf(aspect, params);
});

/** These also show another session of the family. */
const isOfTwo = (aspect: Aspect): boolean => aspect === "compare" || aspect === "merge";

/** Unless `never`, it existed when the page was opened. */
function Gone({ never = false }: { readonly never?: boolean }): ReactNode {
  return (
    <Empty title={never ? "Session not found" : "This session was deleted"}>
      <p>
        {never
          ? "It was deleted, lives in another store, or never existed."
          : "Its forks keep the history they shared with it."}
      </p>
      <Link to="/">All sessions</Link>
    </Empty>
  );
}

interface NowhereProps {
  readonly id: string;
  readonly named: string;
  readonly headSeq: number;
}

/** The URL names a position that the log does not have. */
function Nowhere({ id, named, headSeq }: NowhereProps): ReactNode {
  return (
    <Empty title={`Position ${brief(named, 20)} does not exist`}>
      <p>This log has positions 1 to {count(headSeq)}.</p>
      <Link to={sessionPath(id)}>Back to now</Link>
    </Empty>
  );
}

function aspectOf(aspect: Aspect, params: URLSearchParams): ReactNode {
  switch (aspect) {
    case "transcript":
      return (
        <div className="session-split">
          <Transcript />
          <Panel />
        </div>
      );
    case "log":
      return <Log params={params} />;
    case "family":
      return <Family />;
    case "compare":
      return <Compare params={params} />;
    case "merge":
      return <Merge params={params} />;
    case "context":
      return <ContextView />;
  }
}

const tabs = [
  ["transcript", "Transcript"],
  ["context", "Context"],
  ["log", "Log"],
  ["family", "Family"],
] as const;

function Tabs({ aspect }: { readonly aspect: Aspect }): ReactNode {
  const { id, at } = useScope();
  const shown = isOfTwo(aspect) ? "family" : aspect;
  return (
    <nav className="tabs" aria-label="Session views">
      {tabs.map(([name, title]) => (
        <Link
          key={name}
          to={sessionPath(id, name, { at })}
          aria-current={shown === name ? "page" : undefined}
        >
          {title}
        </Link>
      ))}
    </nav>
  );
}
