/** One session as a row of the table; as a card on a phone. */
import { shortId } from "../../../core/text/short-id.ts";
import { memo, type ReactNode } from "react";
import { Link } from "../../link.tsx";
import { spendText } from "../../../core/text/money.ts";
import { money } from "../../ui/amount.ts";
import { Icon } from "../../ui/icon.tsx";
import { Menu, type Choice } from "../../ui/menu.tsx";
import { Ago, Due } from "../../ui/moment.tsx";
import { brief } from "../../ui/visible.ts";
import { Status, Zone } from "../../ui/status.tsx";
import { sessionPath } from "../../route.ts";
import { titleOf, type SessionListRow } from "./filter.ts";
import { standingOf } from "./standing.ts";

interface RowProps {
  readonly row: SessionListRow;
  /** Among all rows, from 0. */
  readonly place: number;
  readonly top: number;
  readonly height: number;
  readonly isChosen: boolean;
  readonly isSelected: boolean;
  readonly choices: (row: SessionListRow) => readonly Choice[];
  /** With the range from the last one, or alone. */
  readonly select: (session: string, isRange: boolean) => void;
}

export const rowId = (session: string): string => `row-${session}`;

/** From a box in it to the table itself, where the keys work. */
export const focusGrid = (within: HTMLElement): void =>
  within.closest<HTMLElement>("[role=grid]")?.focus({ preventScroll: true });

export const SessionRow = memo(function SessionRow(props: RowProps): ReactNode {
  const { row, place, top, height, isChosen, isSelected, choices, select } = props;
  const title = brief(titleOf(row), 120);
  return (
    <div
      role="row"
      id={rowId(row.session)}
      aria-rowindex={place + 2}
      aria-selected={isSelected}
      className="sessions-row"
      data-chosen={isChosen || undefined}
      data-over={["closed", "archived", "moved"].includes(row.status) || undefined}
      style={{ height, transform: `translateY(${top}px)` }}
    >
      <span role="gridcell" className="sessions-select">
        <input
          type="checkbox"
          checked={isSelected}
          tabIndex={-1}
          aria-label={`Select ${title || row.session}`}
          onChange={({ currentTarget, nativeEvent }) => {
            select(row.session, (nativeEvent as MouseEvent).shiftKey);
            focusGrid(currentTarget);
          }}
        />
      </span>
      <span role="gridcell" className="sessions-status">
        <Status status={row.status} />
      </span>
      <Name row={row} title={title} />
      <Facts row={row} />
      <span role="gridcell" className="sessions-menu">
        <Menu label={`Actions for ${title || row.session}`} kind="quiet" choices={choices(row)}>
          <Icon name="more" />
        </Menu>
      </span>
    </div>
  );
});

function Name({ row, title }: { readonly row: SessionListRow; readonly title: string }): ReactNode {
  const beneath = row.name ? brief(row.objective ?? "", 240) : "";
  return (
    <span role="gridcell" className="sessions-name">
      <span className="sessions-title">
        <Link to={sessionPath(row.session)} className="sessions-link" dir="auto">
          {title || <span className="faint">No name: {shortId(row.session)}</span>}
        </Link>
        {row.labels["sample"] === "yes" ? <span className="mark">sample</span> : null}
        {row.copy === true ? <span className="mark">copy</span> : null}
        {row.parent === null ? null : (
          <span
            className="sessions-fork"
            title={`Fork of ${row.parent.session} at position ${row.parent.seq}`}
          >
            fork
          </span>
        )}
      </span>
      {beneath === "" ? null : (
        <span className="sessions-objective" dir="auto">
          {beneath}
        </span>
      )}
    </span>
  );
}

function Facts({ row }: { readonly row: SessionListRow }): ReactNode {
  const { agent, model, priority, zone, activeAt } = row;
  return (
    <>
      <span role="gridcell" className="sessions-agent" title={brief(agent ?? "", 80)}>
        {brief(agent ?? "", 80)}
      </span>
      <span role="gridcell" className="sessions-model" title={brief(model ?? "", 120)}>
        {brief(shortModel(model ?? ""), 80)}
      </span>
      <span role="gridcell" className="sessions-zone">
        <Zone zone={zone} />
      </span>
      <span role="gridcell" className="sessions-cost number" title={spendText(row)}>
        <Cost row={row} />
      </span>
      <span role="gridcell" className="sessions-priority number" data-usual={priority === 5 || undefined}>
        {priority}
      </span>
      <Standing row={row} />
      <span role="gridcell" className="sessions-active">
        <Ago at={activeAt} />
      </span>
    </>
  );
}

/** Short, for a narrow column; the title has the full text. */
function Cost({ row }: { readonly row: SessionListRow }): ReactNode {
  const { nanoUsd, unpriced, unconfirmedNanoUsd } = row;
  const bound = unconfirmedNanoUsd > 0 ? `+ up to ${money(unconfirmedNanoUsd)}` : "";
  if (nanoUsd === 0 && unpriced === 0 && bound === "") return <span className="faint">$0</span>;
  const known = nanoUsd === 0 && unpriced > 0 ? "unknown" : money(nanoUsd);
  const rest = [bound, nanoUsd > 0 && unpriced > 0 ? "+ unknown" : ""].filter((text) => text !== "");
  return (
    <>
      {known}
      {rest.length > 0 && <small className="sessions-bound"> {rest.join(" ")}</small>}
    </>
  );
}

/** The title has the provider. */
const shortModel = (model: string): string => model.slice(model.indexOf("/") + 1);

function Standing({ row }: { readonly row: SessionListRow }): ReactNode {
  const words = standingOf(row);
  if (words === null) return <span role="gridcell" className="sessions-standing" />;
  const text = brief(words.text, 80);
  return (
    <span
      role="gridcell"
      className="sessions-standing"
      data-tone={words.tone}
      title={brief(row.runBy ?? text, 80)}
    >
      {text}
      {words.at === undefined ? null : (
        <>
          {" "}
          <Due at={words.at} />
        </>
      )}
    </span>
  );
}
