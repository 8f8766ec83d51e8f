/** Changes without a conflict: only the other session made them. */
import { useState, type ReactNode } from "react";
import { plural } from "../../ui/amount.ts";
import { Said } from "../../ui/untrusted-text.tsx";
import { brief } from "../../ui/visible.ts";
import type { MergePlan } from "./conflict-answer.ts";
import { valueText } from "../compare/words.ts";

const shownAtFirst = 60;

export function Incoming({ plan }: { readonly plan: MergePlan }): ReactNode {
  const [shown, setShown] = useState(shownAtFirst);
  const { taken, same, left } = plan;
  return (
    <section className="compare-part" aria-label="Incoming changes">
      <h2>
        Incoming changes{" "}
        <span className="soft">{taken.length === 0 ? "none" : plural(taken.length, "item")}</span>
      </h2>
      {taken.length === 0 ? null : (
        <ul className="merge-taken">
          {taken.slice(0, shown).map((write) => (
            <Taken key={`${write.kind}/${write.key}`} write={write} />
          ))}
        </ul>
      )}
      {taken.length > shown ? (
        <button type="button" className="button" onClick={() => setShown(shown * 4)}>
          Show {plural(taken.length - shown, "more item")}
        </button>
      ) : null}
      {same.length === 0 ? null : <Named title="Same change on both sides" names={same} />}
      {left.length === 0 ? null : <Named title="Erased in the other session, not merged" names={left} />}
    </section>
  );
}

function Taken({ write }: { readonly write: MergePlan["taken"][number] }): ReactNode {
  return (
    <li>
      <div className="merge-taken-name">
        <span className="mark">{write.kind}</span> <bdi className="compare-key">{brief(write.key, 120)}</bdi>
      </div>
      {write.write === "retract" ? (
        <p>
          <span className="mark" data-tone="bad">
            retracted
          </span>
        </p>
      ) : (
        <div>
          <Said text={valueText(write.value)} chars={600} className="family-value" />
          {"was" in write ? (
            <p className="small soft said">
              was <bdi>{brief(valueText(write.was), 400)}</bdi>
            </p>
          ) : null}
          {write.because === undefined ? null : (
            <p className="small soft said">
              because <bdi>{brief(write.because, 400)}</bdi>
            </p>
          )}
        </div>
      )}
      {write.write === "record" && write.status !== undefined ? (
        <span className="mark">{write.status}</span>
      ) : (
        <span />
      )}
    </li>
  );
}

function Named({ title, names }: { readonly title: string; readonly names: readonly string[] }): ReactNode {
  return (
    <p className="soft small said">
      {title}: <bdi>{brief(names.join(", "), 600)}</bdi>
    </p>
  );
}
