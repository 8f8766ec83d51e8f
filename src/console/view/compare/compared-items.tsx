/** The items of two branches: values side by side. */
import { useState, type ReactNode } from "react";
import { plural } from "../../ui/amount.ts";
import { brief } from "../../ui/visible.ts";
import type { CompareSide } from "./compare.tsx";
import type { Comparison, StepView, DiffItem } from "./difference.ts";
import { Marked } from "./marked-text.tsx";
import { valueText } from "./words.ts";

interface ComparedItemsProps {
  readonly items: readonly Comparison[];
  readonly left: CompareSide;
  readonly right: CompareSide;
}

const shownAtFirst = 60;

export function ComparedItems({ items, left, right }: ComparedItemsProps): ReactNode {
  const [shown, setShown] = useState(shownAtFirst);
  return (
    <section aria-label="Items" className="compare-part">
      <h2>
        Items{" "}
        <span className="soft">{items.length === 0 ? "the same" : plural(items.length, "difference")}</span>
      </h2>
      {items.slice(0, shown).map((item) => (
        <article key={`${item.kind}/${item.key}`} className="compare-item">
          <h3>
            <span className="mark">{item.kind}</span>{" "}
            <bdi className="compare-key">{brief(item.key, 120)}</bdi>
            <Before item={item} />
          </h3>
          <div className="compare-sides">
            <Cell
              item={item.left}
              against={item.right}
              change={item.leftChange}
              base={item.base}
              side={left}
            />
            <Cell
              item={item.right}
              against={item.left}
              change={item.rightChange}
              base={item.base}
              side={right}
            />
          </div>
        </article>
      ))}
      {items.length > shown ? (
        <button type="button" className="button" onClick={() => setShown(shown * 4)}>
          Show {plural(items.length - shown, "more item")}
        </button>
      ) : null}
    </section>
  );
}

/** The common value before, if both have changed it. */
function Before({ item: { base, leftChange, rightChange } }: { readonly item: Comparison }): ReactNode {
  if (base === null || leftChange === null || rightChange === null) return null;
  return (
    <span className="compare-before">
      before: <bdi>{base.erased ? "erased" : brief(valueText(base.value), 120)}</bdi>
    </span>
  );
}

const tones = { added: "good", changed: "warn", retracted: "bad" } as const;

interface CellProps {
  readonly item: DiffItem | null;
  readonly against: DiffItem | null;
  readonly change: StepView;
  readonly base: DiffItem | null;
  readonly side: CompareSide;
}

function Cell({ item, against, change, base, side }: CellProps): ReactNode {
  const label = change ?? (base === null ? "absent" : "unchanged");
  return (
    <div className="compare-cell" data-quiet={change === null || undefined}>
      <div className="row wrap">
        <span className="compare-whose cut small soft" dir="auto">
          {side.title}
        </span>
        <span className="mark" data-tone={change === null ? undefined : tones[change]}>
          {label}
        </span>
        {item === null || item.status === null ? null : <span className="mark">{item.status}</span>}
      </div>
      {item === null ? null : <ItemValue item={item} against={against} />}
    </div>
  );
}

function ItemValue({ item, against }: Pick<CellProps, "against"> & { readonly item: DiffItem }): ReactNode {
  if (item.erased) return <p className="faint">Content erased.</p>;
  const isComparable = against !== null && !against.erased;
  return (
    <>
      <Marked text={valueText(item.value)} against={isComparable ? valueText(against.value) : null} />
      {item.because === null ? null : (
        <p className="small soft said">
          because <bdi>{brief(item.because, 600)}</bdi>
        </p>
      )}
    </>
  );
}
