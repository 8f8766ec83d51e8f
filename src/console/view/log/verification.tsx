/** Verifies the log: hashes it again, record by record, and compares the chain. */
import { useEffect, useState, type ReactNode } from "react";
import type { RemoteSession } from "../../../client/connect.ts";
import { useCell } from "../../signal.ts";
import { count, plural } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { Link } from "../../link.tsx";
import { visible } from "../../ui/untrusted-text.tsx";
import { showError } from "../../ui/toast.tsx";
import { sessionPath } from "../../route.ts";
import { useScope } from "../session/scope.ts";

type Report = Awaited<ReturnType<RemoteSession["verify"]>>;

interface VerifyState {
  readonly report: Report;
  readonly headSeq: number;
}

/** Shorter logs hash quickly: these are verified automatically. */
const autoMax = 2_000;

export function VerifyState(): ReactNode {
  const { session, log } = useScope();
  const headSeq = useCell(log.headSeq);
  const [verified, setVerified] = useState<VerifyState | null>(null);
  const [isBusy, setBusy] = useState(false);
  const verify = async (): Promise<void> => {
    setBusy(true);
    try {
      const upTo = log.headSeq.get();
      setVerified({ report: await session.verify(), headSeq: upTo });
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    if (log.headSeq.get() <= autoMax) verify().catch(showError);
  }, [session]);
  return (
    <div className="row log-verified" role="status">
      {isBusy ? <span className="soft">Hashing {plural(headSeq, "record")}…</span> : null}
      {isBusy || verified === null ? null : <Outcome {...verified} isOld={headSeq > verified.headSeq} />}
      <Button size="small" kind="quiet" disabled={isBusy} act={verify}>
        {verified === null ? "Verify" : "Verify again"}
      </Button>
    </div>
  );
}

function Outcome({ report, headSeq, isOld }: VerifyState & { readonly isOld: boolean }): ReactNode {
  const { id } = useScope();
  const { firstBad } = report;
  if (firstBad !== null) {
    return (
      <span className="trouble small">
        Record <Link to={sessionPath(id, "log", { seq: firstBad.seq })}>{count(firstBad.seq)}</Link> was
        altered: {visible(firstBad.problem)}. Restore the store from a backup, or inspect it with{" "}
        <code>skein verify</code>.
      </span>
    );
  }
  const erased = report.erased === 0 ? "" : `, ${plural(report.erased, "content")} erased`;
  return (
    <span className="mark" data-tone="good">
      verified{isOld ? ` up to ${count(headSeq)}` : ""}: {plural(report.records, "record")}, chain intact
      {erased}
    </span>
  );
}
