/** Rewinding: at once, with an undo, or through a dialog that shows what is left out and offers options. */
import { useState, type ReactNode } from "react";
import { useCell } from "../../signal.ts";
import { count, plural } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { brief } from "../../ui/untrusted-text.tsx";
import { showToast, showError } from "../../ui/toast.tsx";
import { WhenRead } from "../../ui/load-error.tsx";
import { refresh, useReading } from "../../query-cache.ts";
import type { RemoteSession } from "../../../client/connect.ts";
import { useScope } from "../session/scope.ts";
import { countAfter, marksKey } from "./reading.ts";

interface RewindDialogProps {
  readonly seq: number;
  readonly close: () => void;
}

const countedMax = 500;
const itemsShown = 8;

/** Rewinds, reports it, and shows the result. The undo rewinds to the previous position. */
export function useRewind(seq: number): (how?: Parameters<RemoteSession["rewind"]>[1]) => Promise<void> {
  const { id, session, travel, reread } = useScope();
  const show = (): void => {
    refresh(marksKey(id));
    reread();
    travel(null);
  };
  return async (how) => {
    const { seq: rewoundSeq, files } = await session.rewind(seq, how);
    const beforeSeq = rewoundSeq - 1;
    const restored = files === undefined ? "" : ` ${plural(files.restored.length, "file")} restored.`;
    const undo = async (): Promise<void> => {
      await session.rewind(beforeSeq, { reason: `undoes the rewind to ${seq}` });
      showToast(`Rewind undone: back at ${count(beforeSeq)}.`);
      show();
    };
    // An undo would not restore requeued inputs and files.
    const isPlain = how?.requeue !== true && how?.files !== true;
    showToast(
      `Rewound to ${count(seq)}.${restored}`,
      isPlain ? { name: "Undo", act: () => void undo().catch(showError) } : undefined,
    );
    show();
  };
}

export function RewindDialog({ seq, close }: RewindDialogProps): ReactNode {
  const { state, log } = useScope();
  const headSeq = useCell(log.headSeq);
  const rewindTo = useRewind(seq);
  const [requeue, setRequeue] = useState(false);
  const [files, setFiles] = useState(false);
  const [reason, setReason] = useState("");
  const writes = state.bindings.some(({ kind, mode }) => kind === "directory" && mode === "write");
  const rewind = async (): Promise<void> => {
    const why = reason.trim() === "" ? {} : { reason: reason.trim() };
    await rewindTo({ ...why, ...(requeue ? { requeue } : {}), ...(files ? { files } : {}) });
    close();
  };
  return (
    <Dialog title={`Rewind to ${count(seq)}`} close={close}>
      <p className="soft">
        The session continues from position {count(seq)}. Later events stay in the log, and you can return to
        them. Costs and sent messages remain.
      </p>
      <LeftOut seq={seq} headSeq={headSeq} />
      <label className="row">
        <input type="checkbox" checked={requeue} onChange={(event) => setRequeue(event.target.checked)} />
        Requeue the inputs since then
      </label>
      {writes ? (
        <label className="row">
          <input type="checkbox" checked={files} onChange={(event) => setFiles(event.target.checked)} />
          Restore files
        </label>
      ) : null}
      <label className="labeled">
        <span>Reason (optional)</span>
        <input
          className="field"
          value={reason}
          maxLength={2_000}
          onChange={(e) => setReason(e.target.value)}
        />
      </label>
      <div className="dialog-actions">
        <Button act={close}>Cancel</Button>
        <Button kind="bad" act={rewind} data-first>
          Rewind to {count(seq)}
        </Button>
      </div>
    </Dialog>
  );
}

const upTo = (value: number, one: string): string =>
  value >= countedMax ? `${count(countedMax)} ${one}s or more` : plural(value, one);

function LeftOut({ seq, headSeq }: { readonly seq: number; readonly headSeq: number }): ReactNode {
  const { id, session } = useScope();
  const reading = useReading(`session/${id}/rewind/${seq}`, async () => {
    const [turns, inputs, changed] = await Promise.all([
      countAfter(session, seq, ["turn.started"], countedMax),
      countAfter(session, seq, ["input.received", "message.received"], countedMax),
      session.diff(seq, undefined, { only: ["items"] }),
    ]);
    return { turns, inputs, items: changed.items ?? [] };
  });
  return (
    <WhenRead of={reading}>
      {({ turns, inputs, items }) => (
        <div className="sheet sheet-pad stack">
          <h2>Rewound</h2>
          <p className="number">
            {plural(headSeq - seq, "event")}: {upTo(turns, "turn")}, {upTo(inputs, "input")}
          </p>
          {items.length === 0 ? <p className="soft">Items do not change.</p> : null}
          <ul className="stack time-items">
            {items.slice(0, itemsShown).map((item) => (
              <li key={`${item.kind}/${item.key}`} className="said">
                {itemWords(item)}
              </li>
            ))}
          </ul>
          {items.length > itemsShown ? (
            <p className="soft">And {count(items.length - itemsShown)} more items</p>
          ) : null}
        </div>
      )}
    </WhenRead>
  );
}

type ItemChange = NonNullable<Awaited<ReturnType<RemoteSession["diff"]>>["items"]>[number];

const valueWords = (item: ItemChange["from"]): string =>
  item === null ? "" : item.erased ? "erased" : brief(JSON.stringify(item.value) ?? "", 80);

/** The effect of the rewind on an item: the difference from there to now, reversed. */
function itemWords({ change, kind, key, from, to }: ItemChange): string {
  const name = `${kind} ${brief(key, 80)}`;
  if (change === "added") return `Removes ${name}: ${valueWords(to)}`;
  if (change === "removed") return `Restores ${name}: ${valueWords(from)}`;
  return `Changes ${name} from ${valueWords(to)} to ${valueWords(from)}`;
}
