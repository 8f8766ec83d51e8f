/** What waits to be remembered: its origin, why it is doubtful, and the decision on it. */
import { doubtText } from "../../../core/text/doubt-text.ts";
import { useState, type ReactNode } from "react";
import { useRefusal } from "../../scopes.ts";
import { count, plural } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { Form, Labeled } from "../../ui/form.tsx";
import { Ago } from "../../ui/moment.tsx";
import { SessionName } from "../../ui/session-name.tsx";
import { showToast } from "../../ui/toast.tsx";
import { brief } from "../../ui/visible.ts";
import { refresh, useReading } from "../../query-cache.ts";
import { engine } from "../../server.ts";
import { Scope, Value } from "./entry.tsx";

type Page = Awaited<ReturnType<typeof engine.pendingMemory>>;
type Pending = Page["proposals"][number];

/** Nothing while nothing waits. */
export function Queue(): ReactNode {
  const { value } = useReading("memory/pending", () => engine.pendingMemory({ limit: 50 }));
  if (value === undefined || value.total === 0) return null;
  const { proposals, total, full } = value;
  const left = total - proposals.length;
  return (
    <section aria-labelledby="memory-queue" className="memory-queue">
      <h2 id="memory-queue">Waiting for approval</h2>
      <p className="soft small" role="status">
        {plural(total, "entry", "entries")} that may come from outside content. New sessions do not carry them
        yet.
      </p>
      {full ? (
        <p className="places-note">The queue is full. Nothing more is proposed until some are decided.</p>
      ) : null}
      <ul>
        {proposals.map((one) => (
          <PendingRow key={one.seq} one={one} />
        ))}
      </ul>
      {left > 0 ? <p className="faint small">{count(left)} more follow once these are decided.</p> : null}
    </section>
  );
}

function PendingRow({ one }: { readonly one: Pending }): ReactNode {
  const [asking, setAsking] = useState<"approve" | "reject" | null>(null);
  const refusal = useRefusal("engine.approveMemory");
  const { scope, owner, kind, key, value, because, erased, origin, pending, replaces, at } = one;
  const named = brief(key, 60);
  return (
    <li tabIndex={-1} className="places-row">
      <div className="spread">
        <p className="row wrap">
          <b className="said">{brief(key, 120)}</b>
          <span className="mark">{kind}</span>
          <Scope scope={scope} owner={owner} />
        </p>
        {erased ? <p className="faint">Content erased: it can only be rejected.</p> : <Value value={value} />}
        {because === null ? null : <p className="soft said">Because {brief(because, 400)}</p>}
        {replaces === null ? null : (
          <details>
            <summary className="soft">Replaces the current value</summary>
            {replaces.erased ? <p className="faint">Content erased.</p> : <Value value={replaces.value} />}
          </details>
        )}
        <p className="faint small places-when">
          <Ago at={at} />
          <span className="said">may come from {brief(doubtText(pending), 120)}</span>
          {origin === null ? null : (
            <span>
              from <SessionName id={origin.session} to={pending.seq ?? origin.seq} />
            </span>
          )}
        </p>
      </div>
      <div className="row">
        <Button
          size="small"
          kind="main"
          act={() => setAsking("approve")}
          refusal={refusal}
          disabled={erased}
          aria-label={`Approve ${named}`}
        >
          Approve
        </Button>
        <Button size="small" act={() => setAsking("reject")} refusal={refusal} aria-label={`Reject ${named}`}>
          Reject
        </Button>
      </div>
      {asking === null ? null : <Decide one={one} does={asking} close={() => setAsking(null)} />}
    </li>
  );
}

interface DecideProps {
  readonly one: Pending;
  readonly does: "approve" | "reject";
  readonly close: () => void;
}

function Decide({ one, does, close }: DecideProps): ReactNode {
  const [because, setBecause] = useState("");
  const named = brief(one.key, 60);
  const isApproval = does === "approve";
  const send = async (): Promise<void> => {
    const why = because.trim() === "" ? {} : { because: because.trim() };
    await (isApproval ? engine.approveMemory(one.seq, why) : engine.rejectMemory(one.seq, why));
    refresh("memory");
    showToast(`${named} ${isApproval ? "approved" : "rejected"}.`);
    close();
  };
  return (
    <Form
      title={`${isApproval ? "Approve" : "Reject"} ${named}?`}
      does={isApproval ? "Approve" : "Reject"}
      isBad={!isApproval}
      send={send}
      close={close}
    >
      <p className="soft">
        {isApproval
          ? "New sessions carry it from now on. The log names you."
          : "It is not proposed again. The item in its session stays."}
      </p>
      <Labeled name="Reason" hint="optional">
        <input
          className="field"
          autoFocus
          maxLength={2000}
          value={because}
          onChange={({ target }) => setBecause(target.value)}
        />
      </Labeled>
    </Form>
  );
}
